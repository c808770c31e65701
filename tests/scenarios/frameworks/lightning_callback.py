# symptom: slower-later
# cause: train.callback
import os
import sys
import time

import torch
from torch import nn

torch.set_num_threads(2)
torch.manual_seed(0)


def small(features=64, width=256):
    return nn.Sequential(nn.Linear(features, width), nn.ReLU(), nn.Linear(width, width), nn.ReLU(), nn.Linear(width, 10))



import lightning as L
from torch.utils.data import DataLoader, TensorDataset


class Net(L.LightningModule):
    def __init__(self):
        super().__init__()
        self.net = small()

    def training_step(self, batch, index):
        x, y = batch
        return nn.functional.cross_entropy(self.net(x), y)

    def configure_optimizers(self):
        return torch.optim.Adam(self.parameters())


class Histogram(L.Callback):
    def on_train_epoch_end(self, trainer, module):
        if trainer.current_epoch >= 3:
            for _ in range(60):
                torch.randn(3_000_00).sort()


data = DataLoader(TensorDataset(torch.randn(6000, 64), torch.randint(0, 10, (6000,))), 32)
L.Trainer(max_epochs=7, accelerator="cpu", logger=False, enable_checkpointing=False, enable_model_summary=False,
          callbacks=[Histogram()]).fit(Net(), data)
