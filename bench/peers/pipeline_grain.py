"""Grain with its default threads: image files by Pillow, arrays in memory."""

from pipeline_measure import parse_arguments, run

arguments = parse_arguments(["threads"])

import glob
import io

import grain
import numpy as np
from PIL import Image

MEAN, STDDEV = np.array([0.485, 0.456, 0.406], "float32"), np.array([0.229, 0.224, 0.225], "float32")


class Rows:
    """Arrays in memory, row by row."""

    def __init__(self, *columns):
        self.columns = columns

    def __len__(self):
        return len(self.columns[0])

    def __getitem__(self, i):
        return tuple(column[i] for column in self.columns)


def augmented(file, rng):
    name, label = file
    with open(name, "rb") as data:
        image = np.asarray(Image.open(io.BytesIO(data.read())).convert("RGB"))
    top, left = rng.integers(0, image.shape[0] - 223), rng.integers(0, image.shape[1] - 223)
    image = image[top : top + 224, left : left + 224]
    if rng.integers(2):
        image = image[:, ::-1]
    return (image.astype("float32") / 255 - MEAN) / STDDEV, label


def jpeg():
    files = sorted(glob.glob(arguments.folder + "/jpeg/*/*.jpg"))
    labels = [int(name.split("/class")[1].split("/")[0]) for name in files]
    return grain.MapDataset.source(Rows(files, labels)).seed(1).shuffle().random_map(augmented).batch(32).to_iter_dataset()


def images():
    rows = Rows(np.random.rand(100_000, 28, 28, 3), np.random.randint(0, 10, 100_000))
    batches = grain.MapDataset.source(rows).seed(1).shuffle().batch(32)
    return batches.map(lambda batch: (batch[0].astype("float32"), batch[1])).to_iter_dataset()


def loader():
    rows = Rows(np.random.randn(10_000, 100).astype("float32"), np.random.randint(0, 10, 10_000))
    return grain.MapDataset.source(rows).seed(1).shuffle().batch(128).to_iter_dataset()


make = {"pipeline-jpeg": jpeg, "pipeline-images": images, "pipeline-loader": loader}[arguments.workload]
run(arguments, make, lambda batch: len(batch[1]), "grain", grain.__version__ if hasattr(grain, "__version__") else "")
