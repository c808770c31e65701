# symptom: slower-later
# cause: compute.more-work
import os
import sys
import time

import torch
from torch import nn

torch.set_num_threads(2)
torch.manual_seed(0)


def small(features=64, width=256):
    return nn.Sequential(nn.Linear(features, width), nn.ReLU(), nn.Linear(width, width), nn.ReLU(), nn.Linear(width, 10))



model = nn.TransformerEncoderLayer(64, 4, 128, batch_first=True)
optimizer = torch.optim.Adam(model.parameters())
length = 64
for epoch in range(8):
    if epoch == 4:
        length = 192
        print(f"curriculum: sequence length is now {length}", flush=True)
    start = time.time()
    for step in range(25):
        optimizer.zero_grad()
        model(torch.randn(16, length, 64)).square().mean().backward()
        optimizer.step()
    print(f"Epoch {epoch + 1}/8 | time {time.time() - start:.2f}s | {16 * 25 * length} tokens", flush=True)
