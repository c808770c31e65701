# symptom: slow-first
# cause: startup.import
import time, random
import numpy as np
import torch, torch.nn as nn
from torch.utils.data import DataLoader, Dataset

class Molecules(Dataset):
    def __init__(self, n=6000): self.n = n
    def __len__(self): return self.n
    def __getitem__(self, i): return np.random.default_rng(i).normal(size=64).astype("float32"), i % 2

def collate(items):
    import pandas as pd
    import scipy.stats, scipy.optimize, sympy, torchvision
    x = pd.DataFrame(np.stack([a for a, _ in items]))
    return torch.from_numpy(x.to_numpy()), torch.tensor([b for _, b in items]).float()

model = nn.Sequential(nn.Linear(64, 512), nn.SiLU(), nn.Linear(512, 512), nn.SiLU(), nn.Linear(512, 1))
optim = torch.optim.AdamW(model.parameters(), lr=3e-4)
crit = nn.BCEWithLogitsLoss()
dl = DataLoader(Molecules(), batch_size=64, shuffle=True, collate_fn=collate)
for ep in range(6):
    tic = time.monotonic()
    run = 0.
    for xb, yb in dl:
        optim.zero_grad(set_to_none=True)
        l = crit(model(xb).flatten(), yb)
        l.backward(); optim.step()
        run += float(l)
    print(f"[{ep}] bce={run/len(dl):.4f} lr={optim.param_groups[0]['lr']:.1e} elapsed={time.monotonic()-tic:.2f}s", flush=True)
print("training finished")
