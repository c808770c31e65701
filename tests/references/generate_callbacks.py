"""What Keras' EarlyStopping and ReduceLROnPlateau do with given sequences of a metric, and which way its metrics get
better -> callbacks.json."""

import inspect
import itertools
import json
import os
from pathlib import Path

os.environ["KERAS_BACKEND"] = "tensorflow"
import keras
import numpy as np

SEQUENCES = {
    "falling": [1.0, 0.8, 0.7, 0.65, 0.6, 0.58, 0.57, 0.565],
    "bump": [1.0, 0.5, 0.6, 0.55, 0.52, 0.45, 0.5, 0.47, 0.46, 0.44],
    "flat": [0.5] * 9,
    "rising": [0.1, 0.2, 0.3, 0.25, 0.4, 0.5, 0.45, 0.6],
    "noise": [0.9, 0.7, 0.71, 0.705, 0.699, 0.72, 0.698, 0.697, 0.75, 0.69],
}
STOPPING = [
    dict(monitor=monitor, patience=patience, min_delta=delta, baseline=baseline, start_from_epoch=start)
    for monitor, patience, delta, baseline, start in itertools.product(
        ("val_loss", "val_accuracy"), (0, 1, 3), (0, 0.02), (None, 0.6), (0, 2)
    )
]
REDUCING = [
    dict(monitor=monitor, patience=patience, factor=0.5, cooldown=cooldown, min_lr=min_lr, min_delta=delta)
    for monitor, patience, cooldown, min_lr, delta in itertools.product(
        ("val_loss", "val_accuracy"), (1, 2), (0, 2), (0.0, 0.03), (1e-4, 0.02)
    )
]


MODEL = keras.Sequential([keras.layers.Input((1,)), keras.layers.Dense(1)])
MODEL.compile(optimizer=keras.optimizers.SGD(0.1), loss="mse", metrics=["accuracy"])
MODEL.fit(np.zeros((1, 1)), np.zeros((1, 1)), verbose=0)


def attach(callback):
    MODEL.stop_training = False
    MODEL.optimizer.learning_rate = 0.1
    callback.set_model(MODEL)
    callback.on_train_begin({})
    return callback


def stopping(options, values):
    callback = attach(keras.callbacks.EarlyStopping(**options))
    for epoch, value in enumerate(values):
        callback.on_epoch_end(epoch, {options["monitor"]: value})
        if callback.model.stop_training:
            break
    callback.on_train_end({})
    return {"epochs": epoch + 1, "stopped_epoch": callback.stopped_epoch, "best_epoch": callback.best_epoch}


def reducing(options, values):
    callback = attach(keras.callbacks.ReduceLROnPlateau(**options))
    rates = []
    for epoch, value in enumerate(values):
        callback.on_epoch_end(epoch, {options["monitor"]: value})
        rates.append(float(callback.model.optimizer.learning_rate))
    return {"rates": rates}


def cases(options_list, run):
    for options in options_list:
        for values in SEQUENCES.values():
            yield {"options": options, "values": values, **run(options, values)}


def directions():
    """By the name of each metric whose direction Keras knows: "up" or "down"."""
    known = {}
    arguments = {"num_classes": 2, "target_class_ids": [0], "fn": None}
    for _, kind in inspect.getmembers(keras.metrics, inspect.isclass):
        needed = [p.name for p in inspect.signature(kind).parameters.values() if p.default is p.empty and p.kind is p.POSITIONAL_OR_KEYWORD]
        metric = kind(**{name: arguments.get(name, 0.5) for name in needed})
        if getattr(metric, "_direction", None):
            known[metric.name] = metric._direction
    return known


if __name__ == "__main__":
    document = {"directions": directions(), "early_stopping": list(cases(STOPPING, stopping)), "reduce_lr": list(cases(REDUCING, reducing))}
    text = json.dumps({"keras": keras.__version__, **document}, separators=(",", ":")).replace('{"options', '\n{"options')
    Path(__file__).with_name("callbacks.json").write_text(text + "\n")
