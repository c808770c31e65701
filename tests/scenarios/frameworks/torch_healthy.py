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



from torch.utils.data import DataLoader, TensorDataset

data = DataLoader(TensorDataset(torch.randn(20000, 64), torch.randint(0, 10, (20000,))), 32, shuffle=True)
model, loss_of = small(), nn.CrossEntropyLoss()
optimizer = torch.optim.Adam(model.parameters())
for epoch in range(6):
    start = time.time()
    for x, y in data:
        optimizer.zero_grad()
        loss = loss_of(model(x), y)
        loss.backward()
        optimizer.step()
    print(f"epoch {epoch + 1} loss {loss.item():.3f} took {time.time() - start:.2f}s", flush=True)
    torch.save(model.state_dict(), "last.pt")
