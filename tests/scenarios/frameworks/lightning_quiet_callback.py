# symptom: slower-later
# cause: train.callback
"""Lightning on a pipe prints its progress at the end only; a callback begins to cost time in the fourth epoch."""
import lightning as L
import torch
from torch import nn
from torch.utils.data import DataLoader, TensorDataset


class Net(L.LightningModule):
    def __init__(self):
        super().__init__()
        self.net = nn.Sequential(nn.Linear(30, 300), nn.ReLU(), nn.Linear(300, 300), nn.ReLU(), nn.Linear(300, 1))

    def training_step(self, batch, _):
        loss = nn.functional.mse_loss(self.net(batch[0]), batch[1])
        self.log("train_loss", loss, prog_bar=True)
        return loss

    def configure_optimizers(self):
        return torch.optim.Adam(self.parameters(), 1e-3)


class Bootstrap(L.Callback):
    def on_train_epoch_end(self, trainer, module):
        if trainer.current_epoch >= 3:
            values = [float(i % 91) for i in range(3000)]
            for k in range(3000):
                sorted(values, key=lambda v: (v * k) % 17)


x = torch.randn(8000, 30)
data = DataLoader(TensorDataset(x, x.sum(1, keepdim=True)), batch_size=40)
L.Trainer(max_epochs=7, accelerator="cpu", logger=False, enable_checkpointing=False, callbacks=[Bootstrap()]).fit(Net(), data)
