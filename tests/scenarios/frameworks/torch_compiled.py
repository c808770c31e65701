# symptom: slow-first
# cause: startup.graph
import os
import sys
import time

import torch
from torch import nn

torch.set_num_threads(2)
torch.manual_seed(0)


def small(features=64, width=256):
    return nn.Sequential(nn.Linear(features, width), nn.ReLU(), nn.Linear(width, width), nn.ReLU(), nn.Linear(width, 10))



model, loss_of = torch.compile(small()), nn.CrossEntropyLoss()
optimizer = torch.optim.SGD(model.parameters(), 0.1)
for epoch in range(5):
    start = time.time()
    for step in range(100):
        optimizer.zero_grad()
        loss_of(model(torch.randn(64, 64)), torch.randint(0, 10, (64,))).backward()
        optimizer.step()
    print(f"Epoch {epoch + 1}/5 took {time.time() - start:.2f} s", flush=True)
