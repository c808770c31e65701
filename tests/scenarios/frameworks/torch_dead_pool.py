# symptom: stuck
# cause: wait.worker
# also: wait.lock
# stall: 10s
"""A process of a multiprocessing pool crashes; the pool waits for its result for ever."""
import multiprocessing as mp
import os
import time

import torch
from torch import nn


def augment(job):
    i, epoch = job
    if epoch == 3 and i == 37:
        os._exit(1)
    return torch.full((32,), float(i % 5)).numpy()


if __name__ == "__main__":
    pool = mp.get_context("fork").Pool(2)
    net = nn.Linear(32, 1)
    opt = torch.optim.SGD(net.parameters(), 1e-3)
    for epoch in range(1, 7):
        start = time.time()
        for first in range(0, 100, 20):
            rows = pool.map(augment, [(i, epoch) for i in range(first, first + 20)])
            x = torch.stack([torch.from_numpy(row) for row in rows])
            for _ in range(150):
                loss = net(x).square().mean()
                opt.zero_grad()
                loss.backward()
                opt.step()
        print(f"Epoch [{epoch}/6], Loss: {loss.item():.4f}, Time: {time.time() - start:.2f}s", flush=True)
