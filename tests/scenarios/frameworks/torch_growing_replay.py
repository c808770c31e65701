# symptom: slowing
# cause: compute.more-work
"""A replay buffer that grows: memory grows with it, but it is the work that takes the time."""
import time

import torch
from torch import nn

net = nn.Sequential(nn.Conv2d(3, 16, 3, padding=1), nn.ReLU(), nn.Conv2d(16, 16, 3, padding=1), nn.ReLU(), nn.AdaptiveAvgPool2d(1),
                    nn.Flatten(), nn.Linear(16, 10))
opt = torch.optim.SGD(net.parameters(), 0.01)
replay = []
for epoch in range(1, 8):
    start = time.time()
    replay += [torch.randn(16, 3, 32, 32) for _ in range(25)]
    for x in replay:
        loss = nn.functional.cross_entropy(net(x), torch.randint(0, 10, (16,)))
        opt.zero_grad()
        loss.backward()
        opt.step()
    print(f"Epoch {epoch:>2}: loss = {loss.item():.3f}  ({len(replay)} batches, {time.time() - start:.2f} s)", flush=True)
