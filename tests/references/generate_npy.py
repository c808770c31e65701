"""Writes npy/: arrays of every kind by NumPy, and what they hold as JSON."""

import json
from pathlib import Path

import ml_dtypes
import numpy as np

folder = Path(__file__).parent / "npy"
folder.mkdir(exist_ok=True)
base = np.arange(12).reshape(3, 4) * 3 - 5
arrays = {
    "float32": base.astype("<f4") / 2,
    "float64": base.astype("<f8") / 4,
    "float16": base.astype("<f2"),
    "bfloat16": base.astype(ml_dtypes.bfloat16),
    "int32": base.astype("<i4"),
    "int64": base.astype("<i8") * 10**12,
    "uint8": (base + 5).astype("u1"),
    "bool": base % 2 == 0,
    "int8": base.astype("i1"),
    "int16": base.astype("<i2") * 900,
    "uint16": (base + 5).astype("<u2") * 1900,
    "uint32": (base + 5).astype("<u4") * 10**8,
    "big_float32": base.astype(">f4") / 2,
    "big_int64": base.astype(">i8"),
    "big_int16": base.astype(">i2") * 900,
    "fortran": np.asfortranarray(base.astype("<f4")),
    "fortran3": np.asfortranarray(np.arange(24, dtype="<i4").reshape(2, 3, 4)),
    "scalar": np.array(2.5),
    "empty": np.zeros((0, 7), "<f4"),
}
expected = {}
for name, array in arrays.items():
    np.save(folder / f"{name}.npy", array)
    expected[name] = {"shape": array.shape, "values": [float(v) for v in array.astype(np.float64).ravel()]}
np.save(folder / "complex.npy", np.zeros(2, np.complex64))
np.savez(folder / "plain.npz", x=arrays["float32"], y=arrays["int64"])
np.savez_compressed(folder / "packed.npz", x=arrays["float32"], y=np.zeros((100, 100), "<i4"))
(folder / "expected.json").write_text(json.dumps(expected, indent=0) + "\n")
