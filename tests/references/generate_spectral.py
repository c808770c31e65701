"""SpectralNormalization of Keras around several layers: two training calls, then inference, in float64 -> spectral.json.

Run: bench/.venv/bin/python tests/references/generate_spectral.py
"""

import os

os.environ.update(KERAS_BACKEND="tensorflow", TF_CPP_MIN_LOG_LEVEL="3", CUDA_VISIBLE_DEVICES="-1")

import keras
import numpy as np
import tensorflow as tf
from keras import layers

from reference_io import tensor, write

keras.backend.set_floatx("float64")
rng = np.random.default_rng(41)


def case(name, inner, iterations, x):
    layer = layers.SpectralNormalization(inner, power_iterations=iterations)
    layer(x)
    for weight in layer.weights:
        weight.assign(rng.normal(0, 0.5, weight.shape))
    weights = [tensor(w.numpy()) for w in inner.weights] + [tensor(layer.vector_u.numpy())]
    calls = []
    for training in (True, True, False):
        with tf.GradientTape() as tape:
            y = layer(x, training=training)
            dy = rng.normal(size=y.shape)
            total = tf.reduce_sum(y * dy)
        gradient = tf.convert_to_tensor(tape.gradient(total, inner.trainable_weights[0].value))
        calls.append(
            {
                "training": training,
                "y": tensor(y),
                "dy": tensor(dy),
                "kernel": tensor(inner.trainable_weights[0].numpy()),
                "vector_u": tensor(layer.vector_u.numpy()),
                "kernel_gradient": tensor(gradient),
            }
        )
    return {"layer": name, "power_iterations": iterations, "x": tensor(x), "weights": weights, "calls": calls}


write(
    "spectral.json",
    {
        "cases": [
            case("Dense", layers.Dense(3), 1, rng.normal(size=(4, 5))),
            case("Conv2D", layers.Conv2D(3, 2), 3, rng.normal(size=(2, 4, 4, 2))),
        ]
    },
)
