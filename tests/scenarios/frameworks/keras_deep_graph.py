# symptom: slow-first
# cause: startup.graph
import os

os.environ["TF_CPP_MIN_LOG_LEVEL"] = "2"
import numpy as np
import keras
import tensorflow as tf


def small(features=64, width=256):
    model = keras.Sequential([keras.Input((features,)), keras.layers.Dense(width, "relu"), keras.layers.Dense(width, "relu"), keras.layers.Dense(10)])
    model.compile("adam", keras.losses.SparseCategoricalCrossentropy(from_logits=True), metrics=["accuracy"])
    return model



inputs = keras.Input((32,))
h = inputs
for _ in range(120):
    h = keras.layers.Add()([h, keras.layers.Dense(32, "relu")(keras.layers.LayerNormalization()(h))])
model = keras.Model(inputs, keras.layers.Dense(10)(h))
model.compile("adam", keras.losses.SparseCategoricalCrossentropy(from_logits=True))
x, y = np.random.rand(640, 32).astype("float32"), np.random.randint(0, 10, 640)
model.fit(x, y, batch_size=64, epochs=6, verbose=2)
