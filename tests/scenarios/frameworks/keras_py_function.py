# symptom: slow-overall
# cause: input.bound
import os

os.environ["TF_CPP_MIN_LOG_LEVEL"] = "2"
import numpy as np
import keras
import tensorflow as tf


def small(features=64, width=256):
    model = keras.Sequential([keras.Input((features,)), keras.layers.Dense(width, "relu"), keras.layers.Dense(width, "relu"), keras.layers.Dense(10)])
    model.compile("adam", keras.losses.SparseCategoricalCrossentropy(from_logits=True), metrics=["accuracy"])
    return model



import time


def decode(index):
    end = time.process_time() + 0.004
    while time.process_time() < end:
        pass
    return np.full(64, index % 7, "float32"), np.int64(index % 10)


def load(index):
    row, label = tf.py_function(decode, [index], [tf.float32, tf.int64])
    return tf.ensure_shape(row, (64,)), tf.ensure_shape(label, ())


data = tf.data.Dataset.range(800).map(load).batch(16)
small().fit(data, epochs=4, verbose=2)
