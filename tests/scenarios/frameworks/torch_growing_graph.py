# symptom: slowing
# cause: memory.graph-growth
# also: memory.leak
import os
import sys
import time

import torch
from torch import nn

torch.set_num_threads(2)
torch.manual_seed(0)


def small(features=64, width=256):
    return nn.Sequential(nn.Linear(features, width), nn.ReLU(), nn.Linear(width, width), nn.ReLU(), nn.Linear(width, 10))



model, loss_of = nn.GRUCell(16, 48), nn.MSELoss()
optimizer = torch.optim.SGD(model.parameters(), 1e-3)
state = torch.zeros(8, 48)
for epoch in range(7):
    start = time.time()
    for step in range(30):
        state = model(torch.randn(8, 16), state)
        loss = loss_of(state, torch.zeros_like(state))
        optimizer.zero_grad()
        loss.backward(retain_graph=True)
        for p in model.parameters():
            p.grad.zero_()
    for _ in range(300):
        torch.randn(256, 256) @ torch.randn(256, 256)
    print(f"Epoch {epoch + 1}/7 finished in {time.time() - start:.2f} seconds", flush=True)
