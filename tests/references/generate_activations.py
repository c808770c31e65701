"""Activations and their gradients from Keras 3 and PyTorch in float64 -> activations.json.

Run: bench/.venv/bin/python tests/references/generate_activations.py
"""

import os

os.environ.update(KERAS_BACKEND="tensorflow", TF_CPP_MIN_LOG_LEVEL="3", CUDA_VISIBLE_DEVICES="-1")

import keras
import numpy as np
import tensorflow as tf
import torch
from torch.nn import functional as F

from reference_io import tensor, write

keras.config.set_floatx("float64")
rng = np.random.default_rng(23)
x = np.round(2 * rng.normal(size=(5, 8)), 3)

# Names by which layers take them. Not sparsemax: Keras' does not sum to 1.
NAMES = """linear relu relu6 leaky_relu elu selu gelu silu softplus softsign sigmoid hard_sigmoid tanh exponential mish softmax
log_softmax log_sigmoid hard_silu hard_tanh celu glu hard_shrink soft_shrink tanh_shrink squareplus sparse_plus sparse_sigmoid""".split()
WITH_OPTIONS = {
    "celu": {"alpha": 0.4},
    "glu": {"axis": -1},
    "hard_shrink": {"threshold": 1.2},
    "soft_shrink": {"threshold": 1.2},
    "squareplus": {"b": 0.3},
    "threshold": {"threshold": 0.7, "default_value": -3.0},
}
TORCH = {
    "celu": (F.celu, {"alpha": 0.4}),
    "hard_tanh": (F.hardtanh, {"min_val": -0.5, "max_val": 1.5}),
    "hard_shrink": (F.hardshrink, {"lambd": 1.2}),
    "soft_shrink": (F.softshrink, {"lambd": 1.2}),
    "threshold": (F.threshold, {"threshold": 0.7, "value": -3.0}),
    "glu": (F.glu, {"dim": 0}),
}
# Classes of torch.nn and their arguments.
MODULES = [
    *((name, []) for name in "ReLU ReLU6 Tanh Sigmoid SELU SiLU Mish Softsign LogSigmoid Hardsigmoid Hardswish Tanhshrink".split()),
    *((name, []) for name in "LeakyReLU ELU CELU GELU Softplus Hardtanh Hardshrink Softshrink GLU PReLU".split()),
    ("LeakyReLU", [0.3]),
    ("ELU", [0.4]),
    ("CELU", [0.4]),
    ("Softplus", [2.0]),
    ("Hardtanh", [-0.5, 1.5]),
    ("Hardshrink", [1.2]),
    ("Softshrink", [1.2]),
    ("Threshold", [0.7, -3.0]),
    ("GLU", [0]),
    ("Softmax", [0]),
    ("Softmax", [1]),
    ("LogSoftmax", [1]),
    ("PReLU", [8, 0.4]),
]


def keras_case(name, options):
    variable, dy = tf.Variable(x), None
    with tf.GradientTape() as tape:
        y = getattr(keras.activations, name)(variable, **options)
        dy = tf.constant(rng.normal(size=y.shape))
        total = tf.reduce_sum(y * dy)
    return {"name": name, "options": options, "dy": tensor(dy), "y": tensor(y), "gradient": tensor(tape.gradient(total, variable))}


def torch_case(name, function, options):
    rows = x[:4]
    variable = torch.tensor(rows, requires_grad=True)
    y = function(variable, **options)
    dy = rng.normal(size=y.shape)
    (y * torch.from_numpy(dy)).sum().backward()
    return {"name": name, "options": options, "dy": tensor(dy), "y": tensor(y.detach().numpy()), "gradient": tensor(variable.grad.numpy())}


def module_case(name, arguments):
    module = getattr(torch.nn, name)(*arguments).double()
    return {"arguments": arguments} | torch_case(name, module, {})


write(
    "activations.json",
    {
        "x": tensor(x),
        "named": [keras_case(name, {}) for name in NAMES],
        "keras": [keras_case(name, options) for name, options in WITH_OPTIONS.items()],
        "torch": [torch_case(name, *one) for name, one in TORCH.items()],
        "modules": [module_case(*one) for one in MODULES],
    },
)
