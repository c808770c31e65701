# symptom: slow-first
# cause: input.cache-fill
# also: input.bound
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
    time.sleep(0.002)
    end = time.process_time() + 0.003
    while time.process_time() < end:
        pass
    return np.full(64, index % 7, "float32")


def load(index):
    return tf.ensure_shape(tf.py_function(decode, [index], tf.float32), (64,)), index % 10


data = tf.data.Dataset.range(2000).map(load).cache().batch(16)
small().fit(data, epochs=5)
