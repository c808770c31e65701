# symptom: uneven
# cause: train.validation
import os

os.environ["TF_CPP_MIN_LOG_LEVEL"] = "2"
import numpy as np
import keras
import tensorflow as tf


def small(features=64, width=256):
    model = keras.Sequential([keras.Input((features,)), keras.layers.Dense(width, "relu"), keras.layers.Dense(width, "relu"), keras.layers.Dense(10)])
    model.compile("adam", keras.losses.SparseCategoricalCrossentropy(from_logits=True), metrics=["accuracy"])
    return model



x, y = np.random.rand(8000, 64).astype("float32"), np.random.randint(0, 10, 8000)
vx, vy = np.random.rand(60000, 64).astype("float32"), np.random.randint(0, 10, 60000)
small().fit(x, y, batch_size=32, epochs=9, validation_data=(vx, vy), validation_freq=3, validation_batch_size=32)
