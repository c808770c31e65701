# symptom: slow-first
# cause: input.cache-fill
# also: input.bound
import os
import sys
import time

import torch
from torch import nn

torch.set_num_threads(2)
torch.manual_seed(0)


def small(features=64, width=256):
    return nn.Sequential(nn.Linear(features, width), nn.ReLU(), nn.Linear(width, width), nn.ReLU(), nn.Linear(width, 10))



from torch.utils.data import DataLoader, Dataset


class Pictures(Dataset):
    def __init__(self):
        self.ready = {}

    def __len__(self):
        return 400

    def __getitem__(self, index):
        if index not in self.ready:
            picture = torch.rand(3, 300, 300)
            for _ in range(12):
                picture = torch.nn.functional.avg_pool2d(torch.sqrt(picture + 1), 3, 1, 1)
            self.ready[index] = picture[:, :8, :8].reshape(-1)[:64].clone()
        return self.ready[index], index % 10


data = DataLoader(Pictures(), 8)
model, loss_of = small(), nn.CrossEntropyLoss()
optimizer = torch.optim.Adam(model.parameters())
for epoch in range(6):
    start = time.time()
    for x, y in data:
        optimizer.zero_grad()
        loss_of(model(x), y).backward()
        optimizer.step()
    print(f"Epoch [{epoch + 1}/6] time: {time.time() - start:.3f} s", flush=True)
