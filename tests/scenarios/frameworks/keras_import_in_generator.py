# symptom: slow-first
# cause: startup.import
"""A library that the generator of a data set loads when it is first asked."""
import os

os.environ["TF_CPP_MIN_LOG_LEVEL"] = "2"
import keras
import numpy as np
import tensorflow as tf


def rows():
    import pandas  # noqa: F401
    import scipy.stats  # noqa: F401
    import torch  # noqa: F401

    for i in range(6000):
        yield np.full(32, i, "float32"), i % 2


data = tf.data.Dataset.from_generator(rows, output_signature=(tf.TensorSpec((32,)), tf.TensorSpec((), tf.int32))).batch(32)
model = keras.Sequential([keras.layers.Dense(64, "relu"), keras.layers.Dense(2)])
model.compile("adam", keras.losses.SparseCategoricalCrossentropy(from_logits=True))
model.fit(data, epochs=6, verbose=2)
