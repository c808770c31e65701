"""Outputs of image, lookup and text layers from Keras 3 -> preprocessing.json.

Run: bench/.venv/bin/python tests/references/generate_preprocessing.py
"""

import os

os.environ.update(KERAS_BACKEND="tensorflow", TF_CPP_MIN_LOG_LEVEL="3", CUDA_VISIBLE_DEVICES="-1")

import keras
import numpy as np

from reference_io import tensor, write

L = keras.layers
rng = np.random.default_rng(3)
images = rng.uniform(0, 255, (2, 7, 6, 2)).astype(np.float32)

layers = []
for name, arguments, config in [
    ("Resizing", (11, 4), {}),
    ("Resizing", (3, 9), {"interpolation": "nearest"}),
    ("Resizing", (4, 4), {"crop_to_aspect_ratio": True}),
    # TensorFlow takes cubic weights from a table of 1024 offsets, which is exact for these sizes.
    ("Resizing", (14, 3), {"interpolation": "bicubic"}),
    ("Resizing", (5, 13), {"interpolation": "lanczos3"}),
    ("Resizing", (4, 9), {"interpolation": "lanczos5"}),
    ("Resizing", (4, 7), {"pad_to_aspect_ratio": True, "fill_value": 9.0}),
    ("Resizing", (8, 3), {"pad_to_aspect_ratio": True, "interpolation": "nearest"}),
    ("UpSampling2D", (2, 4), {"interpolation": "bicubic"}),
    ("CenterCrop", (4, 3), {}),
]:
    positional = (arguments,) if name == "UpSampling2D" else arguments
    out = np.asarray(getattr(L, name)(*positional, **config)(images))
    layers.append({"layer": name, "size": arguments, "config": config, "output": tensor(out)})

# One factor for all images, so that nothing is random.
brightness = []
for factor, value_range in [(0.3, (0, 255)), (-0.4, (0, 255)), (0.1, (20, -300))]:
    layer = L.RandomBrightness((factor, factor), value_range=value_range)
    out = np.asarray(layer(images, training=True))
    brightness.append({"factor": factor, "value_range": value_range, "output": tensor(out)})

affine = []
for mode in ("reflect", "constant", "nearest"):
    transforms = np.array([[0.9, -0.3, 1.2, 0.25, 1.1, -1.5], [1.3, 0.1, -2.0, 0.0, 0.7, 0.4]], np.float32)
    full = np.concatenate([transforms, np.zeros((2, 2), np.float32)], 1)
    out = keras.ops.image.affine_transform(images, full, interpolation="bilinear", fill_mode=mode, fill_value=9.0)
    affine.append({"mode": mode, "transforms": tensor(transforms), "output": tensor(np.asarray(out))})

words = ["blue", "red", "green", "red", "blue", "red", "pink"]
lookup = L.StringLookup(max_tokens=4)
lookup.adapt(words)
masked = L.StringLookup(vocabulary=["a", "b"], mask_token="", num_oov_indices=1)
texts = ["The quick, brown fox: it's quick!", "A fox; the DOG", "dog dog"]
unseen = ["quick cat & the dog", ""]
text = L.TextVectorization(output_sequence_length=5)
text.adapt(texts)
grams = L.TextVectorization(output_mode="count", ngrams=2, max_tokens=8)
grams.adapt(texts)
values = rng.normal(size=(2, 5)).astype(np.float32)
indices = rng.integers(0, 4, (3, 3))
write(
    "preprocessing.json",
    {
        "images": tensor(images),
        "layers": layers,
        "affine": affine,
        "brightness": brightness,
        "lookup": {
            "words": words,
            "vocabulary": lookup.get_vocabulary(),
            "ids": [int(v) for v in lookup(["red", "pink", "green", "blue"])],
            "masked": [int(v) for v in masked(["b", "", "z"])],
        },
        "text": {
            "texts": texts,
            "unseen": unseen,
            "vocabulary": text.get_vocabulary(),
            "ids": tensor(np.asarray(text(unseen)).astype(np.int64)),
            "grams": grams.get_vocabulary(),
            "counts": tensor(np.asarray(grams(unseen)).astype(np.float32)),
        },
        "values": tensor(values),
        "bins": tensor(np.asarray(L.Discretization(bin_boundaries=[-0.5, 0.0, 1.0])(values)).astype(np.int64)),
        "indices": tensor(indices),
        "multi_hot": tensor(np.asarray(L.CategoryEncoding(4, "multi_hot")(indices)).astype(np.float32)),
        "count": tensor(np.asarray(L.CategoryEncoding(4, "count")(indices)).astype(np.float32)),
        "one_hot": tensor(np.asarray(L.CategoryEncoding(4, "one_hot")(indices[:, :1])).astype(np.float32)),
    },
)
