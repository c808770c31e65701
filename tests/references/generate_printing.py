"""How NumPy prints arrays -> printing.json: dtype, shape, data and the text of str(array).

Run: bench/.venv/bin/python tests/references/generate_printing.py
"""

import numpy as np

from reference_io import tensor, write

rng = np.random.default_rng(20240502)
nan, inf = np.nan, np.inf


def arrays():
    for dtype in ("float32", "float64"):
        yield np.array([1, 2.5, -3], dtype)
        yield np.array([0.1, 0.2, 3.14159265358979], dtype)
        yield np.array([1e-5, 1, 2], dtype)
        yield np.array([1e10, 1, -2.5], dtype)
        yield np.array([1e-30, 1e30], dtype)
        yield np.array([123456.789, 1000.5], dtype)
        yield np.array([1, 1500], dtype)
        yield np.array([nan, 1, -inf], dtype)
        yield np.array([inf, 0.25], dtype)
        yield np.array([nan, nan], dtype)
        yield np.array([0, -0.0], dtype)
        yield rng.normal(size=(3, 4)).astype(dtype)
        yield rng.normal(size=20).astype(dtype)
        yield (100 * rng.normal(size=(2, 3, 2))).astype(dtype)
        yield np.arange(1001).astype(dtype)
        yield np.arange(2000).reshape(40, 50).astype(dtype)
        for value in (0.1, 3.0, 1e-5, 1e16, 1e15, 12345678.0, -2.5, nan, -inf):
            yield np.array(value, dtype)
    yield np.array([1e100, 1e-5, 1])
    yield np.array([1, 0.5, 3.14159, -2], np.float16)
    yield np.array([[1, 2], [3, 40]], np.int32)
    yield np.array([-5, 123456789012345678], np.int64)
    yield np.array(7)
    yield np.arange(60)
    yield np.arange(24).reshape(2, 3, 4)
    yield np.arange(1200).reshape(12, 100)
    yield np.arange(3000).reshape(10, 10, 30)
    yield np.array([0, 255], np.uint8)
    yield np.array([True, False])
    yield np.array([True, True])
    yield np.array([[True], [False]])
    yield np.array(False)
    yield np.zeros(0)
    yield np.zeros((2, 0, 3), np.int32)
    yield np.zeros((1, 1, 1, 1, 1, 1, 1, 2))


def main():
    write("printing.json", {"cases": [{**tensor(array), "text": str(array)} for array in arrays()]})


if __name__ == "__main__":
    main()
