"""Outputs of merging layers and the training of a model with two inputs and two outputs, from Keras 3 -> functional.json.

Run: bench/.venv/bin/python tests/references/generate_functional.py
"""

import os

os.environ.update(KERAS_BACKEND="tensorflow", TF_CPP_MIN_LOG_LEVEL="3", CUDA_VISIBLE_DEVICES="-1")

import keras
import numpy as np

from reference_io import tensor, write

rng = np.random.default_rng(11)
L = keras.layers


def f32(*shape):
    return rng.normal(size=shape).astype(np.float32)


MERGES = [
    ("Add", {}, [f32(2, 3), f32(2, 3), f32(2, 1)]),
    ("Add", {}, [f32(2, 3), f32(2, 4, 3)]),
    ("Subtract", {}, [f32(2, 3), f32(2, 3)]),
    ("Multiply", {}, [f32(2, 3), f32(2, 3), f32(2, 3)]),
    ("Average", {}, [f32(2, 3), f32(2, 3), f32(2, 3)]),
    ("Maximum", {}, [f32(2, 3), f32(2, 3)]),
    ("Minimum", {}, [f32(2, 3), f32(2, 3)]),
    ("Concatenate", {}, [f32(2, 3), f32(2, 1), f32(2, 2)]),
    ("Concatenate", {"axis": 1}, [f32(2, 3, 2), f32(2, 1, 2)]),
    ("Dot", {"axes": [1, 1]}, [f32(2, 5), f32(2, 5)]),
    ("Dot", {"axes": [1, 1], "normalize": True}, [f32(2, 5), f32(2, 5)]),
    ("Dot", {"axes": [1, 2]}, [f32(2, 3, 4), f32(2, 5, 3)]),
    ("Dot", {"axes": [2, 1], "normalize": True}, [f32(2, 4, 3), f32(2, 3)]),
]
merges = []
for name, config, inputs in MERGES:
    arguments = {k: tuple(v) if k == "axes" else v for k, v in config.items()}
    output = np.asarray(getattr(L, name)(**arguments)(inputs))
    merges.append({"layer": name, "config": config, "inputs": [tensor(x) for x in inputs], "output": tensor(output)})

# A shared layer, a residual connection, a frozen layer, two losses with weights, sample weights for one run.
title = keras.Input((4,), name="title")
body = keras.Input((6,), name="body")
shared = L.Dense(5, activation="tanh", name="shared")
widen = L.Dense(6, name="widen")
widen.trainable = False
a = shared(widen(title))
b = shared(body)
joined = L.Concatenate(name="joined")([a, b])
hidden = L.Dense(10, activation="relu", name="hidden")(joined)
residual = L.Add(name="residual")([hidden, joined])
priority = L.Dense(1, name="priority")(residual)
department = L.Dense(3, name="department")(residual)
model = keras.Model([title, body], [priority, department])
for variable in model.weights:
    variable.assign(f32(*variable.shape) * 0.4)
start = {v.path: tensor(np.asarray(v)) for v in model.weights}

rows = 20
x = [f32(rows, 4), f32(rows, 6)]
y = [f32(rows, 1), rng.integers(0, 3, rows)]
weights = rng.uniform(0.2, 2, rows).astype(np.float32)
loss = {"priority": "mse", "department": keras.losses.SparseCategoricalCrossentropy(from_logits=True)}
model.compile(
    optimizer=keras.optimizers.SGD(0.1, momentum=0.9),
    loss=loss,
    loss_weights={"priority": 0.3, "department": 1.5},
    metrics={"department": ["accuracy"], "priority": ["mae"]},
)
history = model.fit(x, y, epochs=4, batch_size=8, shuffle=False, verbose=0)
evaluated = model.evaluate(x, y, batch_size=8, verbose=0, return_dict=True)
predictions = model.predict(x, verbose=0)
write(
    "functional.json",
    {
        "merges": merges,
        "start": start,
        "x": [tensor(v) for v in x],
        "y": [tensor(v) for v in y],
        "history": {k: [float(v) for v in values] for k, values in history.history.items()},
        "evaluated": {k: float(v) for k, v in evaluated.items()},
        "predictions": [tensor(p) for p in predictions],
    },
)
