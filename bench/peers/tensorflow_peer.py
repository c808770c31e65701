"""TensorFlow: Keras `fit` on arrays, a traced step over the same model, or that step compiled by XLA."""

import os

from measure import Stopwatch, parse_arguments, print_result, run_epochs

arguments, workload = parse_arguments(["fit", "function", "xla"])
os.environ["TF_CPP_MIN_LOG_LEVEL"] = "3"
os.environ["KERAS_BACKEND"] = "tensorflow"

import keras
import numpy as np
import tensorflow as tf
from keras import layers

from workloads import BLOCKS, make_data

tf.config.threading.set_intra_op_parallelism_threads(arguments.threads)
tf.config.threading.set_inter_op_parallelism_threads(arguments.threads)


def encoder_layer(x):
    mixed = layers.MultiHeadAttention(4, 32)(x, x)
    x = layers.LayerNormalization(epsilon=1e-5)(x + mixed)
    raised = layers.Dense(512, activation="relu")(x)
    return layers.LayerNormalization(epsilon=1e-5)(x + layers.Dense(128)(raised))


def residual_block(x, filters, stride):
    def normed(x, size, stride):
        x = layers.Conv2D(filters, size, strides=stride, padding="same", use_bias=False)(x)
        return layers.BatchNormalization()(x)

    y = normed(layers.ReLU()(normed(x, 3, stride)), 3, 1)
    return layers.ReLU()(layers.Add()([y, normed(x, 1, stride) if stride > 1 else x]))


def resnet(x):
    x = layers.ReLU()(layers.BatchNormalization()(layers.Conv2D(16, 3, padding="same", use_bias=False)(x)))
    for filters, stride in BLOCKS:
        x = residual_block(x, filters, stride)
    return layers.GlobalAveragePooling2D()(x)


def build():
    if workload.name == "linreg":
        return keras.Sequential([keras.Input((1,)), layers.Dense(1)])
    features = (None, *workload.features[1:]) if workload.name == "lengths" else workload.features
    x = inputs = keras.Input(features)
    if workload.model == "transformer":
        x = layers.GlobalAveragePooling1D()(encoder_layer(encoder_layer(x)))
    elif workload.name == "resnet":
        x = resnet(x)
    elif workload.name == "lstm":
        x = layers.LSTM(256)(layers.LSTM(256, return_sequences=True)(x))
    else:
        if workload.model == "cnn":
            x = layers.Conv2D(32, 3, activation="relu")(x)
            x = layers.Conv2D(64, 3, activation="relu")(x)
            x = layers.Flatten()(layers.MaxPooling2D(2)(x))
        x = layers.Dense(128, activation="relu")(x)
    return keras.Model(inputs, layers.Dense(10)(x))


def loss_and_optimizer():
    if workload.name == "linreg":
        return keras.losses.MeanSquaredError(), keras.optimizers.SGD(0.01)
    return keras.losses.SparseCategoricalCrossentropy(from_logits=True), keras.optimizers.Adam(1e-3)


class Clock(keras.callbacks.Callback):
    """Times the epochs of `fit`. `async_safe` keeps Keras from waiting for every step's loss on our behalf."""

    async_safe = True

    def __init__(self, watch):
        super().__init__()
        self.watch = watch

    def on_epoch_begin(self, epoch, logs=None):
        self.watch.begin_epoch()

    def on_train_batch_end(self, batch, logs=None):
        if not self.watch.first_step_ns:
            float(logs["loss"])
            self.watch.after_first_step()

    def on_epoch_end(self, epoch, logs=None):
        self.watch.end_epoch()


def fit(epochs):
    x, y = make_data(workload)
    model = build()
    loss, optimizer = loss_and_optimizer()
    model.compile(optimizer=optimizer, loss=loss)
    watch = Stopwatch()
    model.fit(x, y, batch_size=workload.batch, epochs=epochs, verbose=0, callbacks=[Clock(watch)])
    if workload.name == "mnist":
        watch.evaluate(lambda x: model.predict(x, batch_size=len(x), verbose=0).argmax(1))
    return watch


class Trainer:
    """A step of one's own, as a tf.function; the shuffled epoch is a tensor that each step slices."""

    def __init__(self):
        x, y = make_data(workload)
        self.x, self.y = tf.constant(x), tf.constant(y)
        model = build()
        loss_of, optimizer = loss_and_optimizer()
        optimizer.build(model.trainable_variables)

        @tf.function(jit_compile=arguments.mode == "xla")
        def step(x, y):
            with tf.GradientTape() as tape:
                loss = loss_of(y, model(x, training=True))
            optimizer.apply_gradients(zip(tape.gradient(loss, model.trainable_variables), model.trainable_variables))
            return loss

        self.step = step
        self.predict = tf.function(lambda x: tf.argmax(model(x), 1), jit_compile=arguments.mode == "xla")

    def epoch(self, order, after_first):
        x, y = tf.gather(self.x, order), tf.gather(self.y, order)
        for start in range(0, workload.rows, workload.batch):
            loss = self.step(workload.cut(x, start), y[start : start + workload.batch])
            float(loss)
            if after_first and start == 0:
                after_first()

    def classes(self, x):
        return self.predict(x).numpy()


epochs = arguments.epochs or workload.epochs
if arguments.mode == "fit" and workload.name == "lengths":
    raise SystemExit("fit takes arrays of one length")
if arguments.mode == "fit":
    watch = fit(epochs)
else:
    watch = run_epochs(Trainer(), workload, epochs, np.random.default_rng(2).permutation)
print_result(watch, workload, arguments.threads, f"tf-{arguments.mode}", tf.__version__)
