"""The work that every peer and ours does: sizes and random data, the same for all.

mlp32, mlp1   784-128(relu)-10, Adam 1e-3, softmax cross-entropy over integer labels, 1,000 rows, batch 32 or 1
linreg        Dense(1) on three points, SGD 0.01, mean squared error, one batch of three an epoch
cnn           28x28x1, conv 32 3x3 relu, conv 64 3x3 relu (valid), max pool 2, dense 128 relu, dense 10; 640 rows, batch 64
transformer   sequences of 64 vectors of 128, two encoder layers (4 heads, feed-forward 512 relu, layer norm after each
              residual sum, no dropout), mean over the sequence, dense 10; 160 rows, batch 16
Rows are shuffled anew each epoch; everything is float32 with int64 or int32 labels.
"""

from dataclasses import dataclass

import numpy as np


@dataclass(frozen=True)
class Workload:
    name: str
    rows: int
    features: tuple
    classes: int
    batch: int
    epochs: int

    @property
    def steps(self):
        return -(-self.rows // self.batch)


WORKLOADS = {
    workload.name: workload
    for workload in (
        Workload("mlp32", rows=1000, features=(784,), classes=10, batch=32, epochs=12),
        Workload("mlp1", rows=1000, features=(784,), classes=10, batch=1, epochs=4),
        Workload("linreg", rows=3, features=(1,), classes=0, batch=3, epochs=10),
        Workload("cnn", rows=640, features=(28, 28, 1), classes=10, batch=64, epochs=4),
        Workload("transformer", rows=160, features=(64, 128), classes=10, batch=16, epochs=5),
    )
}


def make_data(workload):
    """Inputs and targets as NumPy arrays."""
    if workload.name == "linreg":
        x = np.array([[1.0], [2.0], [3.0]], np.float32)
        return x, 2 * x
    rng = np.random.default_rng(0)
    x = rng.random((workload.rows, *workload.features), dtype=np.float32)
    return x, rng.integers(0, workload.classes, workload.rows)
