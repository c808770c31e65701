# symptom: slowing
# cause: memory.leak
# also: memory.graph-growth, train.callback
import os
import sys
import time

import torch
from torch import nn

torch.set_num_threads(2)
torch.manual_seed(0)


def small(features=64, width=256):
    return nn.Sequential(nn.Linear(features, width), nn.ReLU(), nn.Linear(width, width), nn.ReLU(), nn.Linear(width, 10))



model, loss_of = small(), nn.CrossEntropyLoss()
optimizer = torch.optim.Adam(model.parameters())
outputs = []
for epoch in range(7):
    start = time.time()
    for step in range(60):
        x, y = torch.randn(128, 64), torch.randint(0, 10, (128,))
        out = model(x)
        optimizer.zero_grad()
        loss_of(out, y).backward()
        optimizer.step()
        outputs.append(model[:4](x).detach())
        score = torch.cat(outputs).std()
    print(f"[{epoch + 1}/7] score {score:.3f} ({time.time() - start:.1f}s)", flush=True)
