# symptom: slow-first
# cause: startup.import
"""A library that a worker loads with its first example."""
import time

import torch
from torch import nn
from torch.utils.data import DataLoader, Dataset


class Rows(Dataset):
    def __len__(self):
        return 1600

    def __getitem__(self, i):
        import pandas as pd
        import scipy.stats
        import transformers.models.auto.modeling_auto  # noqa: F401

        return torch.tensor(pd.Series([i, 1.0]).to_numpy() * scipy.stats.norm.pdf(0), dtype=torch.float32), float(i % 2)


if __name__ == "__main__":
    net = nn.Sequential(nn.Linear(2, 200), nn.ReLU(), nn.Linear(200, 1))
    opt = torch.optim.Adam(net.parameters())
    loader = DataLoader(Rows(), batch_size=40, num_workers=1, persistent_workers=True)
    for epoch in range(6):
        start = time.time()
        for x, y in loader:
            loss = (net(x)[:, 0] - y).pow(2).mean()
            opt.zero_grad()
            loss.backward()
            opt.step()
        print(f"epoch {epoch + 1}: {loss.item():.4f}, {time.time() - start:.2f} s", flush=True)
