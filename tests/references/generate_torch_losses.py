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


signs = np.sign(rng.normal(size=(ROWS, CLASSES)))
others, thirds = rng.normal(size=(ROWS, CLASSES)), rng.normal(size=(ROWS, CLASSES))
counts = rng.poisson(2.0, (ROWS, CLASSES)).astype(np.float64)
variances = rng.uniform(0.1, 2.0, (ROWS, CLASSES))
variances[0, 0] = 1e-9  # below the least

# function, tensors, options; all reductions where there are any
PAIRS = [
    ("cosine_similarity", [logits, others], {"dim": 1}),
    ("pairwise_distance", [logits, others], {"p": 1.0}),
    ("pairwise_distance", [logits, others], {"p": 3.0, "keepdim": True}),
    ("triplet_margin_loss", [logits, others, thirds], {}),
    ("triplet_margin_loss", [logits, others, thirds], {"margin": 2.0, "p": 1.0, "swap": True}),
    ("margin_ranking_loss", [logits, others, signs], {"margin": 0.3}),
    ("cosine_embedding_loss", [logits, others, signs[:, 0].copy()], {"margin": 0.1}),
    ("hinge_embedding_loss", [logits, signs], {"margin": 0.8}),
    ("soft_margin_loss", [logits, signs], {}),
    ("multilabel_soft_margin_loss", [logits, bits], {"weight": weight}),
    ("poisson_nll_loss", [logits, counts], {"full": True}),
    ("poisson_nll_loss", [np.exp(logits), counts], {"log_input": False}),
    ("gaussian_nll_loss", [logits, others, variances], {}),
    ("gaussian_nll_loss", [logits, others, variances[:, :1].copy()], {"full": True, "eps": 0.01}),
]


def pair_case(name, tensors, options, reduction):
    """The gradients are by all tensors but the target."""
    given = {key: torch.from_numpy(value) if isinstance(value, np.ndarray) else value for key, value in options.items()}
    if reduction:
        given["reduction"] = reduction
    target = {"gaussian_nll_loss": 1, "cosine_similarity": None, "pairwise_distance": None, "triplet_margin_loss": None}
    skipped = target.get(name, len(tensors) - 1)
    by = [i for i in range(len(tensors)) if i != skipped]
    variables = [torch.tensor(x, requires_grad=i in by) for i, x in enumerate(tensors)]
    value = getattr(F, name)(*variables, **given)
    value.sum().backward()
    return {
        "loss": name,
        "options": {key: tensor(value) if isinstance(value, np.ndarray) else value for key, value in options.items()},
        "reduction": reduction,
        "tensors": [tensor(x) for x in tensors],
        "value": tensor(value.detach().numpy()),
        "by": by,
        "gradients": [tensor(variables[i].grad.numpy()) for i in by],
    }


def pair_cases():
    for one in PAIRS:
        if one[0] in ("cosine_similarity", "pairwise_distance"):
            yield pair_case(*one, None)
        else:
            yield from (pair_case(*one, reduction) for reduction in REDUCTIONS)


if __name__ == "__main__":
    losses = [case(*one, reduction) for one in CASES for reduction in REDUCTIONS]
    write("torch_losses.json", {"losses": losses, "pairs": list(pair_cases())})
