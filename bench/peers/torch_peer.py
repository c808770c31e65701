"""PyTorch, eager or compiled: modules, fused Adam, slices of an epoch shuffled at once, channels-last convolutions."""

from measure import parse_arguments, print_result, run_epochs

arguments, workload = parse_arguments(["eager", "compile"])

import numpy as np
import torch
from torch import nn

from workloads import make_data

torch.set_num_threads(arguments.threads)


class Transformer(nn.Module):
    def __init__(self):
        super().__init__()
        layer = nn.TransformerEncoderLayer(128, 4, dim_feedforward=512, dropout=0.0, batch_first=True)
        self.encoder = nn.TransformerEncoder(layer, 2)
        self.out = nn.Linear(128, 10)

    def forward(self, x):
        return self.out(self.encoder(x).mean(1))


def build():
    if workload.name == "linreg":
        return nn.Linear(1, 1)
    if workload.name == "transformer":
        return Transformer()
    if workload.name == "cnn":
        body = [nn.Conv2d(1, 32, 3), nn.ReLU(), nn.Conv2d(32, 64, 3), nn.ReLU(), nn.MaxPool2d(2), nn.Flatten()]
        model = nn.Sequential(*body, nn.Linear(12 * 12 * 64, 128), nn.ReLU(), nn.Linear(128, 10))
        return model.to(memory_format=torch.channels_last)
    return nn.Sequential(nn.Linear(784, 128), nn.ReLU(), nn.Linear(128, 10))


class Trainer:
    def __init__(self):
        x, y = make_data(workload)
        self.x, self.y = torch.from_numpy(x), torch.from_numpy(y)
        if workload.name == "cnn":
            self.x = self.x.permute(0, 3, 1, 2)
        self.model = build()
        if workload.name == "linreg":
            self.loss = nn.MSELoss()
            self.optimizer = torch.optim.SGD(self.model.parameters(), lr=0.01)
        else:
            self.loss = nn.CrossEntropyLoss()
            self.optimizer = torch.optim.Adam(self.model.parameters(), lr=1e-3, fused=True)
        self.forward = lambda x, y: self.loss(self.model(x), y)
        if arguments.mode == "compile":
            # Dynamic shapes would slow the full batches down for the sake of the ragged one.
            self.forward = torch.compile(self.forward, dynamic=False)

    def epoch(self, order, after_first):
        order = torch.from_numpy(order)
        x, y = self.x[order], self.y[order]
        for start in range(0, workload.rows, workload.batch):
            stop = start + workload.batch
            self.optimizer.zero_grad()
            loss = self.forward(x[start:stop], y[start:stop])
            loss.backward()
            self.optimizer.step()
            loss.item()
            if after_first and start == 0:
                after_first()


watch = run_epochs(Trainer(), workload, arguments.epochs or workload.epochs, np.random.default_rng(2).permutation)
name = "torch" if arguments.mode == "eager" else "torch-compile"
print_result(watch, workload, arguments.threads, name, torch.__version__)
