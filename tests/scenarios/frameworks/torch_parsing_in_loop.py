# symptom: slow-overall
# cause: input.bound
"""Compressed text that is parsed in the training loop itself; what is printed comes all at the end."""
import gzip
import random

import torch
from torch import nn

with gzip.open("rows.csv.gz", "wt") as rows:
    for _ in range(8000):
        rows.write(",".join(f"{random.gauss(0, 1):.5f}" for _ in range(41)) + "\n")

net = nn.Linear(40, 1)
optimizer = torch.optim.SGD(net.parameters(), 1e-3)
for epoch in range(6):
    batch = []
    with gzip.open("rows.csv.gz", "rt") as rows:
        for line in rows:
            batch.append([float(value) for value in line.split(",")])
            if len(batch) == 100:
                values = torch.tensor(batch)
                loss = (net(values[:, :40]).squeeze(1) - values[:, 40]).pow(2).mean()
                optimizer.zero_grad()
                loss.backward()
                optimizer.step()
                batch = []
    print("epoch", epoch, "loss", round(loss.item(), 4))
