"""Keras' model.save and torch.save of the 400 MB model of `isochron bench checkpoint`, while it trains with Adam."""

import argparse
import json
import os
import statistics
import tempfile
import time

parser = argparse.ArgumentParser(description=__doc__)
parser.add_argument("--mode", choices=["keras", "torch"], required=True)
parser.add_argument("--saves", type=int, default=2)
parser.add_argument("--folder", default=tempfile.gettempdir())
parser.add_argument("--threads", type=int, default=os.cpu_count())
arguments = parser.parse_args()
EVERY = 4


def with_torch():
    import torch

    torch.set_num_threads(arguments.threads)
    model = torch.nn.Sequential(
        torch.nn.Linear(4096, 8192), torch.nn.ReLU(), torch.nn.Linear(8192, 8192), torch.nn.ReLU(), torch.nn.Linear(8192, 10)
    )
    optimizer = torch.optim.Adam(model.parameters(), lr=1e-4)
    x, y = torch.rand(16, 4096), torch.randint(0, 10, (16,))

    def step():
        optimizer.zero_grad()
        torch.nn.functional.cross_entropy(model(x), y).backward()
        optimizer.step()

    def save(path):
        with open(path, "wb") as file:
            torch.save({"model": model.state_dict(), "optimizer": optimizer.state_dict()}, file)
            os.fsync(file.fileno())

    return step, save, "state.pt"


def with_keras():
    os.environ["TF_CPP_MIN_LOG_LEVEL"] = "3"
    import numpy
    import tensorflow as tf
    import keras

    tf.config.threading.set_intra_op_parallelism_threads(arguments.threads)
    layers = keras.layers
    model = keras.Sequential(
        [layers.Input((4096,)), layers.Dense(8192, "relu"), layers.Dense(8192, "relu"), layers.Dense(10)]
    )
    model.compile(keras.optimizers.Adam(1e-4), keras.losses.SparseCategoricalCrossentropy(from_logits=True))
    x = numpy.random.rand(16, 4096).astype("float32")
    y = numpy.random.randint(0, 10, 16)

    def save(path):
        model.save(path)
        descriptor = os.open(path, os.O_RDONLY)
        os.fsync(descriptor)
        os.close(descriptor)

    return lambda: model.train_on_batch(x, y), save, "state.keras"


def main():
    step, save, name = with_torch() if arguments.mode == "torch" else with_keras()
    path = os.path.join(arguments.folder, f"isochron-peer-{os.getpid()}-{name}")
    step()
    steps, stalls = [], []
    for i in range(arguments.saves * EVERY):
        begin = time.monotonic()
        step()
        steps.append(time.monotonic() - begin)
        if i % EVERY == EVERY - 1:
            begin = time.monotonic()
            save(path)
            stalls.append(time.monotonic() - begin)
    size = os.path.getsize(path)
    os.remove(path)
    print(
        json.dumps(
            {
                "who": arguments.mode,
                "step_ms": statistics.median(steps) * 1e3,
                "stall_ms": statistics.median(stalls) * 1e3,
                "save_mb_per_s": size * 1e-6 / statistics.median(stalls),
                "state_mb": size * 1e-6,
            }
        )
    )


main()
