# symptom: slow-overall
# cause: train.validation
"""Training and validation in one loop over two phases, as in PyTorch's tutorial on transfer learning."""
import torch
from torch import nn
from torch.utils.data import DataLoader, TensorDataset


def rows(n):
    return TensorDataset(torch.randn(n, 64), torch.randint(0, 6, (n,)))


loaders = {"train": DataLoader(rows(1500), 32, shuffle=True), "val": DataLoader(rows(20000), 32)}
model = nn.Sequential(nn.Linear(64, 512), nn.ReLU(), nn.Linear(512, 512), nn.ReLU(), nn.Linear(512, 6))
optimizer = torch.optim.SGD(model.parameters(), 1e-2, momentum=0.9)
criterion = nn.CrossEntropyLoss()


def train_model(epochs):
    for epoch in range(epochs):
        print(f"Epoch {epoch}/{epochs - 1}")
        for phase in ["train", "val"]:
            model.train(phase == "train")
            total = 0.0
            for inputs, labels in loaders[phase]:
                optimizer.zero_grad()
                with torch.set_grad_enabled(phase == "train"):
                    loss = criterion(model(inputs), labels)
                    if phase == "train":
                        loss.backward()
                        optimizer.step()
                total += loss.item()
            print(f"{phase} loss: {total / len(loaders[phase]):.4f}")  # not flushed: into a pipe it comes late


train_model(5)
