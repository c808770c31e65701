import sys

import keras
import numpy as np
from keras import layers

out = sys.argv[1] if len(sys.argv) > 1 else "out"
x = np.random.rand(4800, 40).astype("float32")
y = np.random.randint(0, 4, 4800)


class SpectralNorms(keras.callbacks.Callback):
    """The largest singular value of every weight, batch by batch."""

    def on_train_begin(self, logs=None):
        self.rows = []

    def on_train_batch_end(self, batch, logs=None):
        for w in self.model.get_weights():
            values = np.linalg.svd(w if w.ndim > 1 else w[None], compute_uv=False)
        self.rows.append(values[0])


model = keras.Sequential([keras.Input((40,)), layers.Dense(256, activation="relu"), layers.Dense(128, activation="relu"), layers.Dense(4)])
model.compile("adam", keras.losses.SparseCategoricalCrossentropy(from_logits=True))
model.fit(x, y, epochs=5, verbose=2, callbacks=[SpectralNorms(), keras.callbacks.TensorBoard(out + "/tb", profile_batch=(20, 40))])
