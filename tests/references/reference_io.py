"""How the reference files are written: plain JSON, one entry per line, every float with its shortest exact decimal form.

A tensor is {"dtype": "float64", "shape": [2, 3], "data": [row-major values]}; NaN and infinities are the strings
"nan", "inf" and "-inf", because JSON has no word for them.
"""

import json
import math
from pathlib import Path

import numpy as np


def number(value):
    """A NumPy or Python scalar as a JSON value."""
    if isinstance(value, (bool, np.bool_)):
        return bool(value)
    if isinstance(value, (int, np.integer)):
        return int(value)
    if isinstance(value, np.float32):
        # Shortest decimal that reads back as the same float32: half the size of its float64 expansion.
        value = float(str(value))
    value = float(value)
    if math.isnan(value):
        return "nan"
    if math.isinf(value):
        return "inf" if value > 0 else "-inf"
    return value


def tensor(array, dtype=None):
    """An array as a JSON tensor; `dtype` names a storage type NumPy does not know (bfloat16)."""
    array = np.asarray(array)
    return {
        "dtype": dtype or str(array.dtype),
        "shape": list(array.shape),
        "data": [number(value) for value in array.ravel()],
    }


def write(name, document):
    """Writes `document` beside this file; the entries of top-level lists get a line each, so that changes show in a diff."""
    parts = []
    for key, value in document.items():
        if isinstance(value, list):
            lines = ",\n".join(json.dumps(entry, separators=(",", ":"), allow_nan=False) for entry in value)
            parts.append(f'"{key}":[\n{lines}\n]')
        else:
            parts.append(f'"{key}":{json.dumps(value, separators=(",", ":"), allow_nan=False)}')
    path = Path(__file__).with_name(name)
    path.write_text("{\n" + ",\n".join(parts) + "\n}\n")
    counts = ", ".join(f"{len(value)} {key}" for key, value in document.items() if isinstance(value, list))
    print(f"{name}: {counts}, {path.stat().st_size / 1024:.0f} KB")
