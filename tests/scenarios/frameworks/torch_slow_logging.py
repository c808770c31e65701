# symptom: slow-overall
# cause: disk.logging
import os
import sys
import time

import torch
from torch import nn

torch.set_num_threads(2)
torch.manual_seed(0)


def small(features=64, width=256):
    return nn.Sequential(nn.Linear(features, width), nn.ReLU(), nn.Linear(width, width), nn.ReLU(), nn.Linear(width, 10))



import logging

logging.basicConfig(filename="train.log", level=logging.DEBUG)


class Synced(logging.FileHandler):
    def emit(self, record):
        super().emit(record)
        os.fsync(self.stream.fileno())


logging.getLogger().addHandler(Synced("steps.log"))
model, loss_of = small(), nn.CrossEntropyLoss()
optimizer = torch.optim.Adam(model.parameters())
for epoch in range(4):
    start = time.time()
    for step in range(150):
        optimizer.zero_grad()
        loss = loss_of(model(torch.randn(16, 64)), torch.randint(0, 10, (16,)))
        loss.backward()
        optimizer.step()
        for name, p in model.named_parameters():
            logging.debug("step %d %s %.4f", step, name, p.grad.norm().item())
    print(f"Epoch {epoch + 1}/4 done in {time.time() - start:.2f}s", flush=True)
