"""Bins of Keras' Hashing, indices of IntegerLookup and of StringLookup with several unknown indices -> hashing.json.

Run: bench/.venv/bin/python tests/references/generate_hashing.py
"""

import os

os.environ.update(KERAS_BACKEND="tensorflow", TF_CPP_MIN_LOG_LEVEL="3", CUDA_VISIBLE_DEVICES="-1")

import keras
import numpy as np
import tensorflow as tf

from reference_io import write

L = keras.layers
BINS = 1_000_003
rng = np.random.default_rng(3)


def text(length):
    return "".join(chr(c) for c in rng.integers(33, 127, size=length))


strings = [text(n) for n in [*range(0, 72), 95, 96, 97, 127, 128, 129, 200, 1000]] + ["köln", "red"]
integers = [0, 1, -1, 42, 1138, -77, 2**40, 36, 7, 12]


def bins(values, **options):
    return [int(b) for b in np.asarray(L.Hashing(**options)(tf.constant(values)))]


lookup = dict(vocabulary=[12, 36, 1138, 42])
write(
    "hashing.json",
    {
        "num_bins": BINS,
        "strings": [
            {"text": s, "bin": a, "salted": b, "masked": c}
            for s, a, b, c in zip(
                strings,
                bins(strings, num_bins=BINS),
                bins(strings, num_bins=BINS, salt=[133, 137]),
                bins(strings, num_bins=5, mask_value="red"),
            )
        ],
        "integers": [
            {"number": n, "bin": a, "index": b, "masked": c, "spread": d}
            for n, a, b, c, d in zip(
                integers,
                bins(integers, num_bins=BINS),
                np.asarray(L.IntegerLookup(**lookup)(integers)).tolist(),
                np.asarray(L.IntegerLookup(**lookup, mask_token=0)(integers)).tolist(),
                np.asarray(L.IntegerLookup(**lookup, num_oov_indices=3)(integers)).tolist(),
            )
        ],
        "unknown": [
            {"text": s, "index": int(i)}
            for s, i in zip(strings, np.asarray(L.StringLookup(vocabulary=["red"], num_oov_indices=7)(tf.constant(strings))))
        ],
    },
)
