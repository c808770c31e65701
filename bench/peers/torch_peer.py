"""PyTorch, eager or compiled: modules, fused Adam, slices of an epoch shuffled at once, channels-last convolutions."""

from measure import parse_arguments, print_result, run_epochs

arguments, workload = parse_arguments(["eager", "compile"])

import numpy as np
import torch
from torch import nn

from workloads import BLOCKS, make_data

torch.set_num_threads(arguments.threads)


class Transformer(nn.Module):
    def __init__(self):
        super().__init__()
        layer = nn.TransformerEncoderLayer(128, 4, dim_feedforward=512, dropout=0.0, batch_first=True)
        self.encoder = nn.TransformerEncoder(layer, 2)
        self.out = nn.Linear(128, 10)

    def forward(self, x):
        return self.out(self.encoder(x).mean(1))


def conv(inputs, outputs, size, stride=1):
    # "same" of Keras pads an even image by one pixel after it alone; one on both sides is the same work.
    return nn.Conv2d(inputs, outputs, size, stride, padding=size // 2, bias=False)


class Block(nn.Module):
    def __init__(self, inputs, outputs, stride):
        super().__init__()
        self.first = nn.Sequential(conv(inputs, outputs, 3, stride), nn.BatchNorm2d(outputs), nn.ReLU(inplace=True))
        self.second = nn.Sequential(conv(outputs, outputs, 3), nn.BatchNorm2d(outputs))
        aside = nn.Sequential(conv(inputs, outputs, 1, stride), nn.BatchNorm2d(outputs))
        self.aside = aside if stride > 1 else nn.Identity()

    def forward(self, x):
        return torch.relu(self.second(self.first(x)) + self.aside(x))


def resnet():
    parts = [conv(3, 16, 3), nn.BatchNorm2d(16), nn.ReLU(inplace=True)]
    width = 16
    for filters, stride in BLOCKS:
        parts.append(Block(width, filters, stride))
        width = filters
    return nn.Sequential(*parts, nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.Linear(width, 10))


class Recurrent(nn.Module):
    def __init__(self):
        super().__init__()
        self.lstm = nn.LSTM(128, 256, num_layers=2, batch_first=True)
        self.out = nn.Linear(256, 10)

    def forward(self, x):
        return self.out(self.lstm(x)[0][:, -1])


def build():
    if workload.name == "linreg":
        return nn.Linear(1, 1)
    if workload.name == "resnet":
        return resnet().to(memory_format=torch.channels_last)
    if workload.model == "transformer":
        return Transformer()
    if workload.name == "lstm":
        return Recurrent()
    if workload.model == "cnn":
        body = [nn.Conv2d(1, 32, 3), nn.ReLU(), nn.Conv2d(32, 64, 3), nn.ReLU(), nn.MaxPool2d(2), nn.Flatten()]
        model = nn.Sequential(*body, nn.Linear(12 * 12 * 64, 128), nn.ReLU(), nn.Linear(128, 10))
        return model.to(memory_format=torch.channels_last)
    return nn.Sequential(nn.Linear(784, 128), nn.ReLU(), nn.Linear(128, 10))


class Trainer:
    def __init__(self):
        x, y = make_data(workload)
        self.x, self.y = torch.from_numpy(x), torch.from_numpy(y)
        if workload.model in ("cnn", "resnet"):
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
            loss = self.forward(workload.cut(x, start), y[start:stop])
            loss.backward()
            self.optimizer.step()
            loss.item()
            if after_first and start == 0:
                after_first()

    def classes(self, x):
        with torch.no_grad():
            return self.model(torch.from_numpy(x).permute(0, 3, 1, 2)).argmax(1).numpy()


watch = run_epochs(Trainer(), workload, arguments.epochs or workload.epochs, np.random.default_rng(2).permutation)
name = "torch" if arguments.mode == "eager" else "torch-compile"
print_result(watch, workload, arguments.threads, name, torch.__version__)
