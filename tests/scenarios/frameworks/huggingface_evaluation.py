# symptom: uneven
# cause: train.validation
"""The Trainer evaluates on a large set after every second epoch."""
import torch
from torch import nn
from transformers import Trainer, TrainingArguments
from transformers.modeling_outputs import SequenceClassifierOutput


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.body = nn.Sequential(nn.Embedding(2000, 96), nn.Flatten(), nn.Linear(96 * 32, 256), nn.ReLU(), nn.Linear(256, 4))

    def forward(self, input_ids=None, labels=None):
        logits = self.body(input_ids)
        return SequenceClassifierOutput(loss=nn.functional.cross_entropy(logits, labels), logits=logits)


def rows(n):
    ids = torch.randint(0, 2000, (n, 32))
    return [{"input_ids": a, "labels": b} for a, b in zip(ids, ids.sum(1) % 4)]


torch.manual_seed(1)
args = TrainingArguments("out", num_train_epochs=6, per_device_train_batch_size=32, per_device_eval_batch_size=8, logging_steps=30,
                         eval_strategy="steps", eval_steps=120, save_strategy="no", report_to=[], use_cpu=True)
Trainer(Net(), args, train_dataset=rows(1920), eval_dataset=rows(9000)).train()
