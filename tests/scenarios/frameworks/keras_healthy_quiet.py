# symptom: healthy
# cause: none
import os

os.environ["TF_CPP_MIN_LOG_LEVEL"] = "2"
import numpy as np
import keras
import tensorflow as tf


def small(features=64, width=256):
    model = keras.Sequential([keras.Input((features,)), keras.layers.Dense(width, "relu"), keras.layers.Dense(width, "relu"), keras.layers.Dense(10)])
    model.compile("adam", keras.losses.SparseCategoricalCrossentropy(from_logits=True), metrics=["accuracy"])
    return model



x, y = np.random.rand(30000, 64).astype("float32"), np.random.randint(0, 10, 30000)
data = tf.data.Dataset.from_tensor_slices((x, y)).shuffle(2000).batch(32).prefetch(tf.data.AUTOTUNE)
small().fit(data, epochs=6, verbose=2, callbacks=[keras.callbacks.ModelCheckpoint("best.keras", save_best_only=True, monitor="loss")])
