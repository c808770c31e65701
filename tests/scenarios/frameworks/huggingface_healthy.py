# symptom: healthy
# cause: none
import os
import sys
import time

import torch
from torch import nn

torch.set_num_threads(2)
torch.manual_seed(0)


def small(features=64, width=256):
    return nn.Sequential(nn.Linear(features, width), nn.ReLU(), nn.Linear(width, width), nn.ReLU(), nn.Linear(width, 10))



from transformers import BertConfig, BertForSequenceClassification, Trainer, TrainingArguments


class Rows(torch.utils.data.Dataset):
    def __len__(self):
        return 480

    def __getitem__(self, index):
        return {"input_ids": torch.randint(0, 100, (24,)), "labels": index % 2}


config = BertConfig(vocab_size=100, hidden_size=64, num_hidden_layers=2, num_attention_heads=2, intermediate_size=128)
arguments = TrainingArguments("out", num_train_epochs=5, per_device_train_batch_size=8, logging_steps=20, save_strategy="no",
                              report_to=[], use_cpu=True)
Trainer(model=BertForSequenceClassification(config), args=arguments, train_dataset=Rows()).train()
