"""keras_options.json: what Keras 3 does with activity_regularizer, class_weight and EinsumDense.

Run: bench/.venv/bin/python tests/references/generate_keras_options.py
"""

import os

os.environ.update(KERAS_BACKEND="tensorflow", TF_CPP_MIN_LOG_LEVEL="3", CUDA_VISIBLE_DEVICES="-1")

import keras
import numpy as np
import tensorflow as tf

from reference_io import number, tensor, write

keras.backend.set_floatx("float64")
L, R = keras.layers, keras.regularizers
rng = np.random.default_rng(23)


def normal(*shape):
    return rng.normal(size=shape)


def randomise(model):
    for variable in model.weights:
        variable.assign(normal(*variable.shape) * 0.5)
    return [tensor(w) for w in model.get_weights()]


def activity_models():
    """Layers with a penalty on what they give; examples, and how many outputs the last Dense has."""
    yield "dense", (4,), [L.Dense(5, activation="tanh", activity_regularizer=R.L1L2(0.1, 0.2))]
    yield "layer", (4,), [L.Dense(5), L.ActivityRegularization(0.1, 0.2)]
    yield "conv", (5, 2), [L.Conv1D(3, 2, activity_regularizer=R.L2(0.1)), L.Flatten()]
    yield "depthwise", (5, 2), [L.DepthwiseConv1D(2, activity_regularizer=R.L1(0.1)), L.Flatten()]
    yield "transposed", (3, 2), [L.Conv1DTranspose(2, 2, activity_regularizer=R.L1(0.1)), L.Flatten()]
    yield "separable", (5, 2), [L.SeparableConv1D(2, 2, activity_regularizer=R.L2(0.2)), L.Flatten()]
    yield "lstm", (3, 2), [L.LSTM(3, activity_regularizer=R.L2(0.3))]
    yield "both_ways", (3, 2), [L.Bidirectional(L.GRU(2, return_sequences=True, activity_regularizer=R.L1(0.3))), L.Flatten()]
    yield "einsum", (3, 2), [L.EinsumDense("abc,cd->abd", (3, 4), activity_regularizer=R.L2(0.1)), L.Flatten()]


def activity_case(name, example, layers):
    """Loss of the whole data and of five training steps on batches of different sizes."""
    model = keras.Sequential([keras.Input(example), *layers, L.Dense(1)])
    start = randomise(model)
    x, y = normal(6, *example), normal(6, 1)
    model.compile(optimizer=keras.optimizers.SGD(0.05), loss="mse")
    whole = number(np.float64(model.evaluate(x, y, batch_size=6, verbose=0)))
    rows = [6, 4, 6, 2, 6]
    losses = [number(np.float64(model.train_on_batch(x[:n], y[:n]))) for n in rows]
    return {
        "model": name,
        "weights": start,
        "x": tensor(x),
        "y": tensor(y),
        "evaluate": whole,
        "rows": rows,
        "losses": losses,
    }


def class_weight_case():
    model = keras.Sequential([keras.Input((3,)), L.Dense(4)])
    start = randomise(model)
    model.compile(
        optimizer=keras.optimizers.SGD(0.5), loss=keras.losses.SparseCategoricalCrossentropy(from_logits=True)
    )
    x, y, w = normal(6, 3), rng.integers(0, 4, 6), rng.uniform(0.5, 2, 6)
    weights = {0: 2.0, 1: 0.5, 3: 4.0, 2: 1.0}
    losses = [number(np.float64(model.train_on_batch(x, y, class_weight=weights))) for _ in range(3)]
    # Keras takes one of the two at a time; both together are their product.
    both = w * np.vectorize(weights.get)(y)
    losses += [number(np.float64(model.train_on_batch(x, y, sample_weight=both))) for _ in range(2)]
    return {
        "weights": start,
        "x": tensor(x),
        "y": tensor(y),
        "sample_weight": tensor(w),
        "class_weight": [[k, v] for k, v in weights.items()],
        "losses": losses,
    }


def einsum_cases():
    for equation, example, shape, bias in [
        ("ab,bc->ac", (4,), 3, "c"),
        ("abc,cd->abd", (3, 4), (None, 5), "d"),
        ("abc,cd->abd", (3, 4), (3, 2), "bd"),
        ("...x,xy->...y", (2, 3, 4), 5, "y"),
        ("abc,cde->abde", (3, 4), (None, 2, 3), "de"),
        ("abcd,cde->abe", (3, 2, 4), (None, 5), None),
        ("ab...,bc->ac...", (3, 2, 2), 4, "c"),
        ("abc,bcd->abd", (3, 4), (3, 2), "b"),
        ("abc,db->adc", (3, 4), (5, 4), "d"),
    ]:
        layer = L.EinsumDense(equation, shape, activation="tanh", bias_axes=bias)
        layer.build((None, *example))
        for variable in layer.weights:
            variable.assign(normal(*variable.shape) * 0.5)
        x = tf.constant(normal(2, *example))
        with tf.GradientTape() as tape:
            tape.watch(x)
            y = layer(x)
            dy = normal(*y.shape)
            total = tf.reduce_sum(y * dy)
        gradients = tape.gradient(total, [x, *layer.trainable_variables])
        shape = [shape] if isinstance(shape, int) else list(shape)
        yield {
            "equation": equation,
            "output_shape": [-1 if n is None else n for n in shape],
            "bias_axes": bias or "",
            "weights": [tensor(np.asarray(w)) for w in layer.weights],
            "x": tensor(x.numpy()),
            "y": tensor(y.numpy()),
            "dy": tensor(dy),
            "gradients": [tensor(g.numpy()) for g in gradients],
        }


if __name__ == "__main__":
    write(
        "keras_options.json",
        {
            "activity": [activity_case(*one) for one in activity_models()],
            "class_weight": class_weight_case(),
            "einsum": [*einsum_cases()],
        },
    )
