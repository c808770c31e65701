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



class Pictures(keras.utils.PyDataset):
    def __len__(self):
        return 40

    def __getitem__(self, index):
        picture = np.random.rand(32, 256, 256)
        for _ in range(3):
            picture = np.sqrt(picture * picture + 1e-3)
        return picture[:, :8, :8].reshape(32, 64).astype("float32"), np.random.randint(0, 10, 32)


small().fit(Pictures(), epochs=4)
