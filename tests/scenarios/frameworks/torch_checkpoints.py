# symptom: uneven
# cause: disk.checkpoint
import os
import sys
import time

import torch
from torch import nn

torch.set_num_threads(2)
torch.manual_seed(0)


def small(features=64, width=256):
    return nn.Sequential(nn.Linear(features, width), nn.ReLU(), nn.Linear(width, width), nn.ReLU(), nn.Linear(width, 10))



model, loss_of = small(64, 2200), nn.CrossEntropyLoss()
optimizer = torch.optim.Adam(model.parameters())
for epoch in range(8):
    start = time.time()
    for step in range(4):
        optimizer.zero_grad()
        loss_of(model(torch.randn(16, 64)), torch.randint(0, 10, (16,))).backward()
        optimizer.step()
    if epoch % 3 == 2:
        for copy in range(8):
            torch.save({"model": model.state_dict(), "optimizer": optimizer.state_dict()}, f"copy{copy}.pt")
    print(f"Epoch {epoch + 1}/8 {time.time() - start:.2f}s", flush=True)
