"""The training problem that every reference curve runs: start weights, batches, and the check that a curve is stable."""

import sys

import numpy as np

STEPS, BATCHES, ROWS, FEATURES, HIDDEN, OUTPUTS = 100, 25, 16, 8, 16, 3
LARGEST_DRIFT = 2e-5  # between the float32 curve and the same in float64
rng = np.random.default_rng(11)


def make_weights():
    shapes = {"kernel1": (FEATURES, HIDDEN), "bias1": (HIDDEN,), "kernel2": (HIDDEN, OUTPUTS), "bias2": (OUTPUTS,)}
    return {name: rng.normal(scale=0.4, size=shape).astype(np.float32) for name, shape in shapes.items()}


def make_batches():
    """A learnable problem, in values with few digits; every target a loss can ask for."""
    x = np.round(rng.normal(size=(BATCHES, ROWS, FEATURES)), 3)
    scores = x @ rng.normal(size=(FEATURES, OUTPUTS)) + 0.3 * rng.normal(size=(BATCHES, ROWS, OUTPUTS))
    labels = scores.argmax(-1)
    one_hot = np.eye(OUTPUTS)[labels]
    bits = (scores > 0).astype(np.float64)
    mixed = np.round(0.8 * one_hot + 0.2 / OUTPUTS, 3)
    return {
        "x": x.astype(np.float32),
        "labels": labels,
        "one_hot": one_hot.astype(np.float32),
        "distribution": mixed.astype(np.float32),
        "bits": bits.astype(np.float32),
        "signs": (2 * bits - 1).astype(np.float32),
        "counts": np.round(np.exp(0.3 * scores)).astype(np.float32),
        "values": np.round(0.5 * scores, 3).astype(np.float32),
        "values_off_zero": np.round(1.5 + 0.5 * np.tanh(scores), 3).astype(np.float32),
    }


weights = make_weights()
batches = make_batches()


def batch(step, name, dtype):
    values = batches[name][step % BATCHES]
    return values if name == "labels" else values.astype(dtype)


def require_stable(name, single, double):
    """A curve that rounding alone can bend is no reference."""
    drift = max(abs(a - b) / max(abs(b), 1e-3) for a, b in zip(single, double))
    print(f"{name:50} loss {single[0]:.4f} -> {single[-1]:.4f}, drift {drift:.1e}", file=sys.stderr)
    if drift > LARGEST_DRIFT:
        raise SystemExit(f"{name}: float32 and float64 differ by {drift:.1e}, choose a gentler setting")
