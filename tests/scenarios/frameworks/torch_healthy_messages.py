# symptom: healthy
# cause: none
import torch, torch.nn as nn
from tqdm.auto import tqdm
net = nn.Sequential(nn.Linear(64, 512), nn.ReLU(), nn.Linear(512, 1)); opt = torch.optim.Adam(net.parameters(), 1e-3)
for i in tqdm(range(3000)):
    x = torch.randn(64, 64); l = (net(x).squeeze() - x.sum(1)).pow(2).mean(); opt.zero_grad(); l.backward(); opt.step()
    if i % 500 == 0: tqdm.write(f"step {i} loss {l.item():.4f}")
print("final loss", l.item())
