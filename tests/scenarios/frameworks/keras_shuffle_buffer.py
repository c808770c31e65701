# symptom: slow-first
# cause: input.shuffle-fill
# also: input.bound, input.cache-fill
import os

os.environ["TF_CPP_MIN_LOG_LEVEL"] = "2"
import numpy as np
import keras
import tensorflow as tf


def small(features=64, width=256):
    model = keras.Sequential([keras.Input((features,)), keras.layers.Dense(width, "relu"), keras.layers.Dense(width, "relu"), keras.layers.Dense(10)])
    model.compile("adam", keras.losses.SparseCategoricalCrossentropy(from_logits=True), metrics=["accuracy"])
    return model



def rows():
    for i in range(60000):
        yield np.full(64, i % 7, "float32"), i % 10


data = tf.data.Dataset.from_generator(rows, output_signature=(tf.TensorSpec((64,), tf.float32), tf.TensorSpec((), tf.int64)))
data = data.repeat().shuffle(25000).batch(64)
small().fit(data, epochs=5, steps_per_epoch=60)
