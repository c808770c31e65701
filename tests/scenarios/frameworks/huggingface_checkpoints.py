# symptom: uneven
# cause: disk.checkpoint
"""Large checkpoints after every second epoch, no progress bar, losses once an epoch."""
import os

import torch
from torch import nn
from transformers import Trainer, TrainingArguments
from transformers.modeling_outputs import SequenceClassifierOutput


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.table = nn.EmbeddingBag(300000, 64)
        self.out = nn.Linear(64, 2)

    def forward(self, input_ids=None, labels=None):
        logits = self.out(self.table(input_ids))
        return SequenceClassifierOutput(loss=nn.functional.cross_entropy(logits, labels), logits=logits)


class Durable(Trainer):
    def _save_checkpoint(self, *args, **kwargs):
        super()._save_checkpoint(*args, **kwargs)
        os.sync()


torch.manual_seed(1)
ids = torch.randint(0, 300000, (640, 16))
data = [{"input_ids": a, "labels": b} for a, b in zip(ids, ids.sum(1) % 2)]
args = TrainingArguments("out", num_train_epochs=8, per_device_train_batch_size=32, logging_strategy="epoch", save_strategy="steps",
                         save_steps=40, report_to="none", use_cpu=True, disable_tqdm=True)
Durable(Net(), args, train_dataset=data).train()
