# symptom: slow-overall
# cause: compute.retrace
# also: startup.graph
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

model = small()
optimizer = keras.optimizers.Adam()
loss_of = keras.losses.SparseCategoricalCrossentropy(from_logits=True)


@tf.function
def step(x, y, weight):
    with tf.GradientTape() as tape:
        loss = weight * loss_of(y, model(x, training=True))
    optimizer.apply_gradients(zip(tape.gradient(loss, model.trainable_variables), model.trainable_variables))
    return loss


optimizer.build(model.trainable_variables)
x, y = tf.random.normal((32, 64)), tf.zeros(32, tf.int32)
for epoch in range(4):
    start = time.time()
    for i in range(12):
        loss = step(x, y, 1.0 + 0.001 * (epoch * 12 + i))
    print(f"Epoch {epoch + 1}/4: loss={float(loss):.4f} time={time.time() - start:.2f}s", flush=True)
