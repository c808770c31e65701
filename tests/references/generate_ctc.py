"""ctc.json: losses and gradients by the logits of CTC, from PyTorch and Keras 3, float64; losses of 20 training steps."""

import os

os.environ.update(KERAS_BACKEND="torch", TF_CPP_MIN_LOG_LEVEL="3")

import keras
import numpy as np
import torch
from torch.nn import functional as F

from reference_io import tensor, write

keras.backend.set_floatx("float64")
rng = np.random.default_rng(23)
STEPS, BATCH, CLASSES = 7, 4, 5

logits = rng.normal(size=(STEPS, BATCH, CLASSES))
# The third example says a label twice, the last has nothing to say.
targets = np.array([[1, 2, 3], [4, 1, 0], [2, 2, 0], [0, 0, 0]])
steps, counts = np.array([7, 5, 6, 7]), np.array([3, 2, 2, 0])


def torch_case(blank, reduction, zero_infinity, input_lengths, shift=0):
    x = torch.tensor(logits, requires_grad=True)
    labels = torch.from_numpy(targets + shift)
    loss = F.ctc_loss(
        F.log_softmax(x, -1),
        labels,
        torch.from_numpy(input_lengths),
        torch.from_numpy(counts),
        blank=blank,
        reduction=reduction,
        zero_infinity=zero_infinity,
    )
    loss.sum().backward()
    return {
        "options": {"blank": blank, "reduction": reduction, "zero_infinity": zero_infinity},
        "targets": tensor(labels.numpy()),
        "input_lengths": tensor(input_lengths),
        "value": tensor(loss.detach().numpy()),
        "gradient": tensor(x.grad.numpy()),
    }


def keras_case():
    x = torch.tensor(logits.transpose(1, 0, 2).copy(), requires_grad=True)
    loss = keras.losses.CTC()(targets, x)
    loss.backward()
    return {"value": float(loss.detach()), "gradient": tensor(x.grad.numpy())}


def curve():
    """Adam on logits x w, w (3, CLASSES)."""
    x, w = torch.tensor(rng.normal(size=(STEPS, BATCH, 3))), torch.tensor(rng.normal(size=(3, CLASSES)), requires_grad=True)
    start = tensor(w.detach().numpy())
    optimizer = torch.optim.Adam([w], lr=0.1)
    losses = []
    for _ in range(20):
        optimizer.zero_grad()
        loss = F.ctc_loss(
            F.log_softmax(x @ w, -1), torch.from_numpy(targets), torch.from_numpy(steps), torch.from_numpy(counts)
        )
        losses.append(loss.item())
        loss.backward()
        optimizer.step()
    return {"x": tensor(x.numpy()), "w": start, "losses": losses}


if __name__ == "__main__":
    few = np.array([7, 5, 2, 7])  # two labels alike need three steps
    cases = [torch_case(0, reduction, False, steps) for reduction in ("mean", "sum", "none")]
    cases.append(torch_case(4, "none", False, steps, shift=-1))
    cases.append(torch_case(0, "mean", True, few))
    document = {
        "torch": cases,
        "keras": keras_case(),
        "logits": tensor(logits),
        "target_lengths": tensor(counts),
        "labels": tensor(targets),
        "curve": curve(),
    }
    write("ctc.json", document)
