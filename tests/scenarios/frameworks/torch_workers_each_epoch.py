# symptom: slow-overall
# cause: input.worker-start
# also: startup.import
import os
import sys
import time

import torch
from torch import nn

torch.set_num_threads(2)
torch.manual_seed(0)


def small(features=64, width=256):
    return nn.Sequential(nn.Linear(features, width), nn.ReLU(), nn.Linear(width, width), nn.ReLU(), nn.Linear(width, 10))



from torch.utils.data import DataLoader, TensorDataset

if __name__ == "__main__":
    rows = TensorDataset(torch.randn(600, 64), torch.randint(0, 10, (600,)))
    data = DataLoader(rows, 32, num_workers=2, multiprocessing_context="spawn")
    model, loss_of = small(), nn.CrossEntropyLoss()
    optimizer = torch.optim.SGD(model.parameters(), 0.1)
    for epoch in range(4):
        start = time.time()
        for x, y in data:
            optimizer.zero_grad()
            loss_of(model(x), y).backward()
            optimizer.step()
        print(f"| epoch {epoch + 1:3d} | time {time.time() - start:5.2f}s |", flush=True)
