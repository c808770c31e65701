# symptom: slower-later
# cause: compute.denormals
import os
import sys
import time

import torch
from torch import nn

torch.set_num_threads(2)
torch.manual_seed(0)


def small(features=64, width=256):
    return nn.Sequential(nn.Linear(features, width), nn.ReLU(), nn.Linear(width, width), nn.ReLU(), nn.Linear(width, 10))



rows = torch.full((4_000_000,), 1.0)
for epoch in range(8):
    start = time.time()
    if epoch == 4:
        rows = rows * 1e-41
    for step in range(60):
        out = torch.sqrt(rows) / 3
    print(f"Epoch {epoch + 1}/8 - {time.time() - start:.2f}s - loss {out.mean():.3g}", flush=True)
