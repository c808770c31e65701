"""Mean, spread and bounds of the Keras 3 initialisers for given fans -> initializers.json.

Random streams differ between libraries, distributions must not: each entry holds what a large Keras sample measured,
and the fans that the shape implies. Run: bench/.venv/bin/python tests/references/generate_initializers.py
"""

import os

os.environ.update(KERAS_BACKEND="tensorflow", TF_CPP_MIN_LOG_LEVEL="3", CUDA_VISIBLE_DEVICES="-1")

import keras
import numpy as np

from reference_io import number, write

# Shapes with their (fan_in, fan_out): dense kernels, a 2D convolution (rows, columns, in, out), a vector.
SHAPES = [((300, 200), (300, 200)), ((50, 800), (50, 800)), ((3, 3, 16, 32), (144, 288)), ((400,), (400, 400))]
SAMPLE_SIZE = 400_000

INITIALIZERS = [
    ("zeros", {}),
    ("ones", {}),
    ("constant", {"value": 0.25}),
    ("random_normal", {}),
    ("random_normal", {"mean": 1.0, "stddev": 0.5}),
    ("random_uniform", {}),
    ("random_uniform", {"minval": -1.0, "maxval": 3.0}),
    ("truncated_normal", {}),
    ("truncated_normal", {"mean": 1.0, "stddev": 0.5}),
    ("glorot_uniform", {}),
    ("glorot_normal", {}),
    ("he_uniform", {}),
    ("he_normal", {}),
    ("lecun_uniform", {}),
    ("lecun_normal", {}),
    ("variance_scaling", {}),
    ("variance_scaling", {"scale": 2.0, "mode": "fan_out", "distribution": "uniform"}),
    ("variance_scaling", {"scale": 0.5, "mode": "fan_avg", "distribution": "untruncated_normal"}),
]
CLASSES = {
    "zeros": "Zeros",
    "ones": "Ones",
    "constant": "Constant",
    "random_normal": "RandomNormal",
    "random_uniform": "RandomUniform",
    "truncated_normal": "TruncatedNormal",
    "glorot_uniform": "GlorotUniform",
    "glorot_normal": "GlorotNormal",
    "he_uniform": "HeUniform",
    "he_normal": "HeNormal",
    "lecun_uniform": "LecunUniform",
    "lecun_normal": "LecunNormal",
    "variance_scaling": "VarianceScaling",
}


def sample(name, config, shape):
    make = getattr(keras.initializers, CLASSES[name])
    seeded = name not in ("zeros", "ones", "constant")
    draws = -(-SAMPLE_SIZE // int(np.prod(shape)))
    values = [np.ravel(make(**config, **({"seed": draw} if seeded else {}))(shape)) for draw in range(draws)]
    return np.concatenate(values).astype(np.float64)


def entry(name, config, shape, fans):
    values = sample(name, config, shape)
    fact = lambda value: number(float(f"{value:.6g}"))
    return {
        "initializer": name,
        "config": config,
        "shape": list(shape),
        "fan_in": fans[0],
        "fan_out": fans[1],
        "sample_size": values.size,
        "mean": fact(values.mean()),
        "std": fact(values.std()),
        "min": fact(values.min()),
        "max": fact(values.max()),
    }


def orthogonal(shape, gain):
    """The largest distance of the Gram matrix of the shorter side from gain^2 times the identity."""
    matrix = np.array(keras.initializers.Orthogonal(gain=gain, seed=1)(shape)).astype(np.float64)
    matrix = matrix.reshape(-1, shape[-1])
    gram = matrix.T @ matrix if matrix.shape[0] >= matrix.shape[1] else matrix @ matrix.T
    return {
        "initializer": "orthogonal",
        "config": {"gain": gain},
        "shape": list(shape),
        "gram_diagonal": gain * gain,
        "gram_error": number(float(f"{np.abs(gram - gain * gain * np.eye(len(gram))).max():.2g}")),
    }


if __name__ == "__main__":
    entries = []
    for name, config in INITIALIZERS:
        depends_on_fans = name.startswith(("glorot", "he_", "lecun", "variance"))
        for shape, fans in SHAPES if depends_on_fans else SHAPES[:1]:
            entries.append(entry(name, config, shape, fans))
    for shape, gain in (((6, 4), 1.0), ((4, 6), 2.0), ((5, 5), 1.0), ((3, 3, 4, 8), 1.0)):
        entries.append(orthogonal(shape, gain))
    write("initializers.json", {"initializers": entries})
