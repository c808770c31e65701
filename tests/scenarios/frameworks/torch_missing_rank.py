# symptom: stuck
# cause: wait.peer
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



import torch.distributed as dist
import torch.multiprocessing as mp


def train(rank, port):
    os.environ.update(MASTER_ADDR="127.0.0.1", MASTER_PORT=str(port))
    dist.init_process_group("gloo", rank=rank, world_size=2)
    torch.set_num_threads(1)
    model = small()
    for epoch in range(5):
        start = time.time()
        for step in range(40 if rank == 0 or epoch < 2 else 39):
            loss = model(torch.randn(64, 64)).square().mean()
            loss.backward()
            for p in model.parameters():
                dist.all_reduce(p.grad)
        if rank == 0:
            print(f"Epoch {epoch + 1}/5 time {time.time() - start:.2f}s", flush=True)
        elif epoch == 2:
            time.sleep(1e6)


if __name__ == "__main__":
    import socket

    with socket.socket() as s:
        s.bind(("127.0.0.1", 0))
        port = s.getsockname()[1]
    mp.spawn(train, args=(port,), nprocs=2)
