"""The work that every peer and ours does: sizes and random data, the same for all.

mlp32, mlp1   784-128(relu)-10, Adam 1e-3, softmax cross-entropy over integer labels, 1,000 rows, batch 32 or 1
linreg        Dense(1) on three points, SGD 0.01, mean squared error, one batch of three an epoch
cnn           28x28x1, conv 32 3x3 relu, conv 64 3x3 relu (valid), max pool 2, dense 128 relu, dense 10; 640 rows, batch 64
mnist         the cnn, one epoch over the 60,000 images of MNIST read from the gzipped files, then its accuracy on the 10,000
              test images; the time that counts is that from process start to this accuracy
resnet        32x32x3, conv 16 3x3, eight residual blocks (two each of 16, 32, 64, 128 filters: conv 3x3, batch norm, relu, conv
              3x3, batch norm, sum, relu; the first of a new width has stride 2 and a 1x1 conv with batch norm beside it),
              mean over pixels, dense 10; "same" padding, no biases in convolutions, running statistics kept; 320 rows, batch 32
transformer   sequences of 64 vectors of 128, two encoder layers (4 heads, feed-forward 512 relu, layer norm after each
              residual sum, no dropout), mean over the sequence, dense 10; 160 rows, batch 16
lstm          sequences of 64 vectors of 128, two LSTM layers of 256, the last step's state, dense 10; 320 rows, batch 32
lengths       the transformer on batches of 32 different lengths, 33 to 64, four of each an epoch; 2,048 rows, batch 16
Rows are shuffled anew each epoch; everything is float32 with int64 or int32 labels.
"""

import gzip
from dataclasses import dataclass
from pathlib import Path

import numpy as np

MNIST = Path(__file__).resolve().parents[2] / "data" / "mnist"


@dataclass(frozen=True)
class Workload:
    name: str
    rows: int
    features: tuple
    classes: int
    batch: int
    epochs: int

    @property
    def model(self):
        return {"mnist": "cnn", "lengths": "transformer"}.get(self.name, self.name)

    @property
    def steps(self):
        return -(-self.rows // self.batch)

    def length(self, start):
        """Steps of the sequences in the batch that starts at this row; None: all there are."""
        return 33 + start // self.batch * 5 % 32 if self.name == "lengths" else None

    def cut(self, x, start):
        """The batch of x that starts at this row."""
        batch = x[start : start + self.batch]
        length = self.length(start)
        return batch if length is None else batch[:, :length]


WORKLOADS = {
    workload.name: workload
    for workload in (
        Workload("mlp32", rows=1000, features=(784,), classes=10, batch=32, epochs=12),
        Workload("mlp1", rows=1000, features=(784,), classes=10, batch=1, epochs=4),
        Workload("linreg", rows=3, features=(1,), classes=0, batch=3, epochs=10),
        Workload("cnn", rows=640, features=(28, 28, 1), classes=10, batch=64, epochs=4),
        Workload("mnist", rows=60000, features=(28, 28, 1), classes=10, batch=64, epochs=1),
        Workload("resnet", rows=320, features=(32, 32, 3), classes=10, batch=32, epochs=4),
        Workload("transformer", rows=160, features=(64, 128), classes=10, batch=16, epochs=5),
        Workload("lengths", rows=2048, features=(64, 128), classes=10, batch=16, epochs=3),
        Workload("lstm", rows=320, features=(64, 128), classes=10, batch=32, epochs=4),
    )
}


# Filters and stride of each block of resnet.
BLOCKS = ((16, 1), (16, 1), (32, 2), (32, 1), (64, 2), (64, 1), (128, 2), (128, 1))


def make_data(workload):
    """Inputs and targets as NumPy arrays."""
    if workload.name == "linreg":
        x = np.array([[1.0], [2.0], [3.0]], np.float32)
        return x, 2 * x
    if workload.name == "mnist":
        return mnist("train")
    rng = np.random.default_rng(0)
    x = rng.random((workload.rows, *workload.features), dtype=np.float32)
    return x, rng.integers(0, workload.classes, workload.rows)


def mnist(part):
    """Images (n, 28, 28, 1) in [0, 1] and labels of "train" or "t10k"."""

    def numbers(kind, header):
        with gzip.open(MNIST / f"{part}-{kind}-ubyte.gz") as file:
            return np.frombuffer(file.read(), np.uint8, offset=header)

    images = numbers("images-idx3", 16).reshape(-1, 28, 28, 1)
    return images.astype(np.float32) / 255, numbers("labels-idx1", 8).astype(np.int64)
