"""Loss values and their gradients from torch.nn.functional in float64 -> torch_losses.json.

Run: bench/.venv/bin/python tests/references/generate_torch_losses.py
"""

import numpy as np
import torch
from torch.nn import functional as F

from reference_io import tensor, write

rng = np.random.default_rng(11)
REDUCTIONS = ("mean", "sum", "none")
ROWS, CLASSES = 6, 4

logits = rng.normal(size=(ROWS, CLASSES))
labels = rng.integers(0, CLASSES, ROWS)
ignored = np.where(np.arange(ROWS) == 2, -100, labels)
image = rng.normal(size=(2, CLASSES, 3, CLASSES))
image_labels = rng.integers(0, CLASSES, (2, 3, CLASSES))
shares = rng.dirichlet(np.ones(CLASSES), ROWS)
weight = rng.uniform(0.2, 2.0, CLASSES)
bits = (rng.random((ROWS, CLASSES)) < 0.5).astype(np.float64)
sigmoids = 1 / (1 + np.exp(-logits))
log_shares = np.log(rng.dirichlet(np.ones(CLASSES), ROWS))

# function, input, target, options beside the reduction
CASES = [
    ("mse_loss", logits, shares, {}),
    ("l1_loss", logits, shares, {}),
    ("smooth_l1_loss", logits, shares, {"beta": 0.4}),
    ("huber_loss", logits, shares, {"delta": 0.4}),
    ("cross_entropy", logits, labels, {}),
    ("cross_entropy", logits, ignored, {}),
    ("cross_entropy", logits, labels, {"ignore_index": 1}),
    ("cross_entropy", logits, ignored, {"weight": weight}),
    ("cross_entropy", logits, ignored, {"label_smoothing": 0.1}),
    ("cross_entropy", logits, ignored, {"label_smoothing": 0.2, "weight": weight}),
    ("cross_entropy", logits, shares, {}),
    ("cross_entropy", logits, shares, {"label_smoothing": 0.1, "weight": weight}),
    ("cross_entropy", image, image_labels, {}),
    ("cross_entropy", image, image_labels, {"weight": weight, "label_smoothing": 0.1}),
    ("cross_entropy", logits[0], labels[0], {}),
    ("nll_loss", log_shares, labels, {}),
    ("nll_loss", log_shares, ignored, {"weight": weight}),
    ("nll_loss", image, image_labels, {}),
    ("binary_cross_entropy", sigmoids, bits, {}),
    ("binary_cross_entropy", sigmoids, bits, {"weight": weight}),
    ("binary_cross_entropy_with_logits", logits, bits, {}),
    ("binary_cross_entropy_with_logits", logits, shares, {"weight": weight, "pos_weight": weight[::-1].copy()}),
    ("kl_div", log_shares, shares, {}),
    ("kl_div", log_shares, log_shares[::-1].copy(), {"log_target": True}),
    ("smooth_l1_loss", logits, shares, {"beta": 0.0}),
    ("nll_loss", np.where(np.arange(CLASSES) == 3, -np.inf, log_shares), np.minimum(labels, 2), {}),
]


def case(name, x, y, options, reduction):
    variable = torch.tensor(x, requires_grad=True)
    given = {key: torch.from_numpy(value) if isinstance(value, np.ndarray) else value for key, value in options.items()}
    value = getattr(F, name)(variable, torch.as_tensor(y), reduction=reduction, **given)
    value.sum().backward()
    return {
        "loss": name,
        "options": {key: tensor(value) if isinstance(value, np.ndarray) else value for key, value in options.items()},
        "reduction": reduction,
        "input": tensor(x),
        "target": tensor(y),
        "value": tensor(value.detach().numpy()),
        "gradient": tensor(variable.grad.numpy()),
    }


if __name__ == "__main__":
    write("torch_losses.json", {"losses": [case(*one, reduction) for one in CASES for reduction in REDUCTIONS]})
