# symptom: stuck
# cause: wait.worker
# also: wait.lock
# stall: 8s
import os
import sys
import time

import torch
from torch import nn

torch.set_num_threads(2)
torch.manual_seed(0)


def small(features=64, width=256):
    return nn.Sequential(nn.Linear(features, width), nn.ReLU(), nn.Linear(width, width), nn.ReLU(), nn.Linear(width, 10))



import signal

from torch.utils.data import DataLoader, Dataset


class Rows(Dataset):
    def __len__(self):
        return 4000

    def __getitem__(self, index):
        if index == 2500:
            time.sleep(1e6)
        return torch.full((64,), 1.0), index % 10


if __name__ == "__main__":
    data = DataLoader(Rows(), 20, num_workers=2)
    model, loss_of = small(), nn.CrossEntropyLoss()
    optimizer = torch.optim.SGD(model.parameters(), 0.1)
    for epoch in range(3):
        for step, (x, y) in enumerate(data):
            optimizer.zero_grad()
            loss_of(model(x), y).backward()
            optimizer.step()
            if step % 10 == 0:
                print(f"epoch {epoch + 1} step {step}/{len(data)}", flush=True)
