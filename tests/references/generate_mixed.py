"""Training curves of Keras 3 under mixed_bfloat16: a dense network and a convolutional one, with their first weights,
their data, and the losses of each step under mixed_bfloat16 and under float32 -> mixed.json.

Run: bench/.venv/bin/python tests/references/generate_mixed.py
"""

import os

os.environ.update(KERAS_BACKEND="tensorflow", TF_CPP_MIN_LOG_LEVEL="3", CUDA_VISIBLE_DEVICES="-1")

import keras
import numpy as np

from reference_io import tensor, write

STEPS = 20


def dense():
    return keras.Sequential(
        [
            keras.Input((12,)),
            keras.layers.Dense(16, activation="relu"),
            keras.layers.LayerNormalization(),
            keras.layers.Dense(16, activation="gelu"),
            keras.layers.Dense(3, dtype="float32"),
        ]
    )


def convolutional():
    return keras.Sequential(
        [
            keras.Input((8, 8, 2)),
            keras.layers.Conv2D(8, 3, padding="same", activation="relu"),
            keras.layers.MaxPooling2D(),
            keras.layers.Conv2D(8, 3, strides=2),
            keras.layers.BatchNormalization(),
            keras.layers.Activation("relu"),
            keras.layers.Flatten(),
            keras.layers.Dense(3, dtype="float32"),
        ]
    )


def curve(make, weights, x, y):
    model = make()
    if weights is not None:
        model.set_weights(weights)
    model.compile(keras.optimizers.Adam(0.01), keras.losses.SparseCategoricalCrossentropy(from_logits=True))
    start = model.get_weights()
    losses = []
    for _ in range(STEPS):
        model.reset_metrics()
        losses.append(float(model.train_on_batch(x, y)))
    return start, losses


def case(name, make, shape):
    rng = np.random.default_rng(5)
    x = rng.normal(size=(24, *shape)).astype(np.float32)
    y = rng.integers(0, 3, size=24).astype(np.int64)
    keras.utils.set_random_seed(3)
    keras.config.set_dtype_policy("float32")
    start, plain = curve(make, None, x, y)
    keras.config.set_dtype_policy("mixed_bfloat16")
    _, mixed = curve(make, start, x, y)
    return {
        "name": name,
        "x": tensor(x),
        "y": tensor(y),
        "weights": [tensor(w) for w in start],
        "float32": plain,
        "mixed_bfloat16": mixed,
    }


write("mixed.json", {"curves": [case("dense", dense, (12,)), case("convolutional", convolutional, (8, 8, 2))]})
