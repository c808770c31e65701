# symptom: slower-later
# cause: compute.more-work
import time, torch, torch.nn as nn
torch.manual_seed(1)
body = nn.Sequential(*[m for _ in range(10) for m in (nn.Conv2d(24, 24, 3, padding=1), nn.ReLU())]); stem = nn.Conv2d(3, 24, 3, padding=1); head = nn.Linear(24, 4)
for p in [*body.parameters(), *stem.parameters()]: p.requires_grad = False
x = torch.randn(128, 3, 40, 40); y = torch.randint(0, 4, (128,))
opt = torch.optim.SGD([*stem.parameters(), *body.parameters(), *head.parameters()], 1e-2)
for epoch in range(1, 9):
    if epoch == 5:
        for p in [*body.parameters(), *stem.parameters()]: p.requires_grad = True
        print("Unfreezing backbone, trainable params:", sum(p.numel() for m in (stem, body, head) for p in m.parameters()))
    t0 = time.time()
    for i in range(0, 128, 16):
        l = nn.functional.cross_entropy(head(body(stem(x[i:i+16])).mean((2, 3))), y[i:i+16]); opt.zero_grad(); l.backward(); opt.step()
    print("Epoch {:d}/{:d}: loss={:.4f} ({:.2f} s)".format(epoch, 8, l.item(), time.time() - t0), flush=True)
