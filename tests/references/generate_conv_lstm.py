"""conv_lstm.json: ConvLSTM1D, 2D and 3D of Keras in float64, with outputs, states and gradients."""

import os

os.environ["KERAS_BACKEND"] = "tensorflow"
os.environ["TF_CPP_MIN_LOG_LEVEL"] = "3"

import keras
import numpy as np
import tensorflow as tf
from keras import layers

from reference_io import tensor, write

keras.backend.set_floatx("float64")
rng = np.random.default_rng(23)


def normal(*shape):
    return rng.normal(size=shape)


def described(name, options):
    """The layer as our models describe it."""
    return {"class_name": name, "config": {**options, "dtype": "float64"}}


def case(described, layer, x, mask=None, states=None):
    """Outputs and gradients of sum(y * dy) + sum(states ** 2) by x and the weights."""
    layer(x)
    for weight in layer.weights:
        weight.assign(rng.normal(0, 0.4, weight.shape))
    x = tf.constant(x)
    given = {} if states is None else {"initial_state": [tf.constant(s) for s in states]}
    with tf.GradientTape() as tape:
        tape.watch(x)
        result = layer(x, mask=None if mask is None else tf.constant(mask), **given)
        y, *final = result if isinstance(result, (list, tuple)) else [result]
        dy = tf.constant(normal(*y.shape))
        total = tf.reduce_sum(y * dy) + sum(tf.reduce_sum(tf.square(s)) for s in final)
    gradients = tape.gradient(total, [x, *[w.value for w in layer.trainable_weights]])
    return {
        "layer": described,
        "weights": [tensor(w.numpy()) for w in layer.trainable_weights],
        "x": tensor(x),
        "mask": None if mask is None else tensor(mask),
        "states": [] if states is None else [tensor(s) for s in states],
        "dy": tensor(dy),
        "y": tensor(y),
        "final": [tensor(s) for s in final],
        "gradients": [tensor(tf.convert_to_tensor(g)) for g in gradients],
    }


def one_way(name, options, x, **more):
    return case(described(name, options), getattr(layers, name)(**options), x, **more)


def both_ways(name, options, x, **more):
    layer = layers.Bidirectional(getattr(layers, name)(**options), merge_mode="concat")
    return case({"class_name": "Bidirectional", "config": {"layer": described(name, options)}}, layer, x, **more)


mask = np.array([[1, 1, 0], [1, 0, 1]], bool)
same = {"filters": 2, "kernel_size": [3, 2], "padding": "same"}
write(
    "conv_lstm.json",
    {
        "cases": [
            one_way("ConvLSTM1D", {"filters": 3, "kernel_size": [3]}, normal(2, 3, 6, 2)),
            one_way("ConvLSTM1D", {"filters": 2, "kernel_size": [2], "strides": [2], "padding": "same", "return_sequences": True, "return_state": True}, normal(2, 3, 5, 2)),
            one_way("ConvLSTM2D", {"filters": 2, "kernel_size": [3, 2], "return_state": True}, normal(2, 3, 5, 4, 3)),
            one_way("ConvLSTM2D", {**same, "return_sequences": True}, normal(2, 3, 4, 4, 2), mask=mask),
            one_way("ConvLSTM2D", {**same, "return_state": True, "go_backwards": True}, normal(2, 3, 3, 3, 1), states=[normal(2, 3, 3, 2), normal(2, 3, 3, 2)]),
            one_way("ConvLSTM2D", {**same, "use_bias": False, "activation": "softsign", "recurrent_activation": "hard_sigmoid"}, normal(2, 2, 3, 4, 2)),
            one_way("ConvLSTM2D", {"filters": 2, "kernel_size": [2, 2], "dilation_rate": [2, 1], "return_sequences": True}, normal(1, 3, 4, 3, 2)),
            one_way("ConvLSTM3D", {"filters": 2, "kernel_size": [2, 1, 2], "padding": "same"}, normal(1, 2, 3, 2, 3, 2)),
            both_ways("ConvLSTM2D", {**same, "return_sequences": True}, normal(2, 3, 3, 3, 2), mask=mask),
        ]
    },
)
