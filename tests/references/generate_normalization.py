"""normalization.json: Keras and PyTorch norm layers, forward, gradients and running statistics, in float64."""

import os

os.environ["KERAS_BACKEND"] = "tensorflow"
os.environ["TF_CPP_MIN_LOG_LEVEL"] = "3"

import keras
import numpy as np
import tensorflow as tf
import torch
from keras import layers

from reference_io import tensor, write

keras.backend.set_floatx("float64")
rng = np.random.default_rng(5)


STEPS = np.array([[True, True, True, False], [True, False, False, False]])


def randomised(layer, shape):
    layer.build((None, *shape[1:]))
    for weight in layer.trainable_weights:
        weight.assign(rng.normal(1, 0.5, weight.shape))
    return layer


def keras_case(name, layer, options, shape, steps=1):
    """Trains through `steps` batches: each with its output and gradients of sum(y * dy); then one in inference mode."""
    layer = randomised(layer, shape)
    start = [tensor(w.numpy()) for w in layer.weights]
    batches = []
    for _ in range(steps):
        x, dy = tf.constant(rng.normal(1, 2, shape)), tf.constant(rng.normal(size=shape))
        with tf.GradientTape() as tape:
            tape.watch(x)
            y = layer(x, training=True)
            total = tf.reduce_sum(y * dy)
        gradients = tape.gradient(total, [x, *[w.value for w in layer.trainable_weights]])
        batches.append({"x": tensor(x), "dy": tensor(dy), "y": tensor(y), "gradients": [tensor(g) for g in gradients]})
    x = rng.normal(1, 2, shape)
    return {
        "layer": name,
        "options": options,
        "start": start,
        "batches": batches,
        "end": [tensor(w.numpy()) for w in layer.weights],
        "inference": {"x": tensor(x), "y": tensor(layer(x, training=False))},
    }


def masked_case(name, layer, shape, mask):
    """A training batch of sequences some of whose steps do not count."""
    layer = randomised(layer, shape)
    start = [tensor(w.numpy()) for w in layer.weights]
    x = tf.constant(rng.normal(1, 2, shape))
    with tf.GradientTape() as tape:
        tape.watch(x)
        y = layer(x, mask=tf.constant(mask), **({"training": True} if name == "BatchNormalization" else {}))
        dy = tf.constant(rng.normal(size=y.shape))
        total = tf.reduce_sum(y * dy)
    gradients = tape.gradient(total, [x, *[w.value for w in layer.trainable_weights]])
    return {
        "layer": name,
        "start": start,
        "x": tensor(x),
        "mask": tensor(mask),
        "dy": tensor(dy),
        "y": tensor(y),
        "gradients": [tensor(tf.convert_to_tensor(g)) for g in gradients],
        "end": [tensor(w.numpy()) for w in layer.weights],
    }


def torch_case(name, module, options, shape, steps=1):
    module = module.double().train()
    with torch.no_grad():
        for parameter in module.parameters():
            parameter.copy_(torch.from_numpy(rng.normal(1, 0.5, parameter.shape)))
    start = [tensor(p.detach().numpy()) for p in module.parameters()]
    batches = []
    for _ in range(steps):
        x = torch.from_numpy(rng.normal(1, 2, shape)).requires_grad_()
        dy = torch.from_numpy(rng.normal(size=shape))
        module.zero_grad()
        y = module(x)
        (y * dy).sum().backward()
        gradients = [x.grad] + [p.grad for p in module.parameters()]
        batches.append(
            {
                "x": tensor(x.detach().numpy()),
                "dy": tensor(dy.numpy()),
                "y": tensor(y.detach().numpy()),
                "gradients": [tensor(g.numpy()) for g in gradients],
            }
        )
    module.eval()
    x = torch.from_numpy(rng.normal(1, 2, shape))
    return {
        "layer": name,
        "options": options,
        "start": start,
        "batches": batches,
        "end": [tensor(b.numpy()) for b in module.buffers()],
        "inference": {"x": tensor(x.numpy()), "y": tensor(module(x).detach().numpy())},
    }


write(
    "normalization.json",
    {
        "keras": [
            keras_case("BatchNormalization", layers.BatchNormalization(), {}, (6, 5), steps=3),
            keras_case("BatchNormalization", layers.BatchNormalization(momentum=0.5), {"momentum": 0.5}, (3, 4, 2, 3), steps=2),
            keras_case("BatchNormalization", layers.BatchNormalization(axis=1), {"axis": 1}, (3, 4, 2), steps=2),
            keras_case(
                "BatchNormalization", layers.BatchNormalization(scale=False, epsilon=1e-5), {"scale": False, "epsilon": 1e-5}, (7, 3)
            ),
            keras_case("LayerNormalization", layers.LayerNormalization(), {}, (4, 19)),
            keras_case("LayerNormalization", layers.LayerNormalization(axis=[1, 2]), {"axis": [1, 2]}, (2, 3, 5)),
            keras_case("LayerNormalization", layers.LayerNormalization(axis=1), {"axis": [1]}, (2, 3, 5)),
            keras_case("LayerNormalization", layers.LayerNormalization(center=False), {"center": False}, (2, 3, 5)),
            keras_case("GroupNormalization", layers.GroupNormalization(groups=2), {"groups": 2}, (2, 3, 4, 6)),
            keras_case("GroupNormalization", layers.GroupNormalization(groups=-1), {"groups": -1}, (2, 5, 3)),
            keras_case("RMSNormalization", layers.RMSNormalization(), {}, (3, 2, 9)),
        ],
        "torch": [
            torch_case("BatchNorm1d", torch.nn.BatchNorm1d(4), {"features": 4}, (5, 4), steps=2),
            torch_case("BatchNorm1d", torch.nn.BatchNorm1d(3), {"features": 3}, (2, 3, 6), steps=2),
            torch_case("BatchNorm2d", torch.nn.BatchNorm2d(3), {"features": 3}, (2, 3, 4, 2), steps=2),
            torch_case("LayerNorm", torch.nn.LayerNorm(7), {"features": 7}, (3, 2, 7)),
            torch_case("GroupNorm", torch.nn.GroupNorm(2, 6), {"groups": 2, "features": 6}, (2, 6, 3, 2)),
            torch_case("RMSNorm", torch.nn.RMSNorm(5, eps=1e-6), {"features": 5, "eps": 1e-6}, (4, 5)),
        ],
        "unit": [
            keras_case("UnitNormalization", layers.UnitNormalization(), {}, (3, 2, 9)),
            keras_case("UnitNormalization", layers.UnitNormalization(axis=[1, 2]), {"axis": [1, 2]}, (2, 3, 5)),
        ],
        "masked": [
            masked_case("BatchNormalization", layers.BatchNormalization(), (2, 4, 3), STEPS),
            masked_case("GlobalAveragePooling1D", layers.GlobalAveragePooling1D(), (2, 4, 3), STEPS),
        ],
    },
)
