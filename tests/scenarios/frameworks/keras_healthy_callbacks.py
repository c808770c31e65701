# symptom: healthy
# cause: none
"""Short epochs with the callbacks everybody has: the first pays for tracing, as always."""
import keras
import numpy as np
import tensorflow as tf

x = np.random.rand(20000, 64).astype("float32")
y = (x.sum(1) > 32).astype("int32")
model = keras.Sequential([keras.Input((64,)), keras.layers.Dense(256, activation="relu"), keras.layers.Dense(256, activation="relu"),
                          keras.layers.Dense(2, activation="softmax")])
model.compile("adam", "sparse_categorical_crossentropy", metrics=["accuracy"])
data = tf.data.Dataset.from_tensor_slices((x, y)).shuffle(20000).batch(64).prefetch(2)
model.fit(data, epochs=5, callbacks=[
    keras.callbacks.TensorBoard("tb", histogram_freq=1),
    keras.callbacks.CSVLogger("log.csv"),
    keras.callbacks.ModelCheckpoint("best.keras", save_best_only=True, monitor="loss"),
    keras.callbacks.EarlyStopping(monitor="loss", patience=3),
])
