# symptom: healthy
# cause: none
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
from tqdm import tqdm


class Rows(Dataset):
    def __len__(self):
        return 8000

    def __getitem__(self, index):
        return torch.full((64,), float(index % 7)), index % 10


if __name__ == "__main__":
    data = DataLoader(Rows(), 32, shuffle=True, num_workers=1, persistent_workers=True)
    model, loss_of = small(width=700), nn.CrossEntropyLoss()
    optimizer = torch.optim.Adam(model.parameters())
    for epoch in range(5):
        for x, y in tqdm(data, desc=f"Epoch {epoch + 1}/5"):
            optimizer.zero_grad()
            loss_of(model(x), y).backward()
            optimizer.step()
