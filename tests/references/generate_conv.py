"""Convolution and pooling in float64 from Keras (TensorFlow) and PyTorch -> conv.json.

Run: bench/.venv/bin/python tests/references/generate_conv.py. README.md says what the attributes mean.
"""

import os

os.environ.update(KERAS_BACKEND="tensorflow", TF_CPP_MIN_LOG_LEVEL="3", CUDA_VISIBLE_DEVICES="-1")

import keras
import numpy as np
import torch
import torch.nn.functional as F

from reference_io import tensor, write

rng = np.random.default_rng(20261116)
cases = []


def case(op, inputs, output, **attrs):
    cases.append({"op": op, "inputs": [tensor(v) for v in inputs], "attrs": attrs, "outputs": [tensor(output)]})


def normal(*shape):
    return np.round(rng.normal(size=shape), 3)


def first(x):
    """Channels last -> first, as a float64 tensor of PyTorch."""
    return torch.from_numpy(np.ascontiguousarray(np.moveaxis(x, -1, 1))).double()


def last(x):
    return np.moveaxis(x.detach().numpy(), 1, -1)


def torch_kernel(kernel):
    axes = kernel.ndim - 2
    return torch.from_numpy(np.ascontiguousarray(np.transpose(kernel, (axes + 1, axes, *range(axes))))).double()


def keras_kernel(weight):
    return np.transpose(weight.numpy(), (*range(2, weight.ndim), 1, 0))


CONV = {1: F.conv1d, 2: F.conv2d, 3: F.conv3d}
MAX = {1: F.max_pool1d, 2: F.max_pool2d, 3: F.max_pool3d}
AVG = {1: F.avg_pool1d, 2: F.avg_pool2d, 3: F.avg_pool3d}


def convolutions():
    # Spatial extents, channels, filters, window, strides, pads before and after, dilations, groups.
    for spatial, channels, filters, window, strides, pads, dilations, groups in (
        ((7,), 2, 3, (3,), (1,), (0, 0), (1,), 1),
        ((9,), 2, 4, (3,), (2,), (2, 1), (2,), 2),
        ((5, 6), 1, 2, (3, 3), (1, 1), (0, 0, 0, 0), (1, 1), 1),
        ((6, 5), 3, 4, (3, 2), (2, 1), (1, 1, 0, 1), (1, 1), 1),
        ((7, 7), 2, 2, (3, 3), (2, 2), (1, 2, 2, 0), (2, 1), 1),
        ((4, 5), 4, 8, (2, 3), (1, 1), (1, 0, 1, 1), (1, 1), 4),
        ((5, 5), 3, 3, (3, 3), (1, 2), (1, 1, 1, 1), (1, 1), 3),
        ((3, 4), 5, 3, (1, 1), (1, 1), (0, 0, 0, 0), (1, 1), 1),
        ((3, 4, 3), 2, 2, (2, 2, 2), (1, 2, 1), (0, 1, 1, 0, 0, 0), (1, 1, 1), 1),
    ):
        x, kernel = normal(2, *spatial, channels), normal(*window, channels // groups, filters)
        xt, wt = first(x).requires_grad_(), torch_kernel(kernel).requires_grad_()
        padded = F.pad(xt, [p for i in reversed(range(len(spatial))) for p in pads[2 * i : 2 * i + 2]])
        y = CONV[len(spatial)](padded, wt, stride=strides, dilation=dilations, groups=groups)
        dy = normal(*last(y).shape)
        dx, dw = torch.autograd.grad(y, (xt, wt), first(dy))
        attrs = {"strides": strides, "pads": pads, "dilations": dilations, "groups": groups}
        case("conv", [x, kernel], last(y), **attrs)
        case("conv_input_grad", [dy, kernel], last(dx), input=spatial, **attrs)
        case("conv_kernel_grad", [x, dy], keras_kernel(dw.detach()), window=window, **attrs)

    for spatial, window, strides, padding, dilations in (
        ((7, 8), (3, 3), (1, 1), "same", (1, 1)),
        ((7, 8), (3, 3), (2, 2), "same", (1, 1)),
        ((6, 5), (2, 4), (2, 3), "same", (1, 1)),
        ((7, 7), (3, 3), (1, 1), "same", (2, 2)),
        ((6, 6), (3, 3), (2, 1), "valid", (1, 1)),
        ((9,), (3,), (2,), "same", (1,)),
        ((9,), (3,), (1,), "causal", (2,)),
        ((8,), (2,), (2,), "causal", (1,)),
    ):
        x, kernel = normal(2, *spatial, 2), normal(*window, 2, 3)
        layer = getattr(keras.layers, f"Conv{len(spatial)}D")(
            3, window, strides=strides, padding=padding, dilation_rate=dilations, use_bias=False, dtype="float64"
        )
        layer.build(x.shape)
        layer.set_weights([kernel])
        case("conv", [x, kernel], np.array(layer(x)), strides=strides, padding=padding, dilations=dilations, groups=1)

    for spatial, window, strides, padding, output_padding in (
        ((4,), (3,), (2,), "valid", None),
        ((4,), (2,), (3,), "valid", None),
        ((3, 4), (3, 3), (2, 2), "same", None),
        ((3, 4), (3, 3), (1, 1), "valid", None),
        ((3, 3), (4, 2), (2, 3), "same", None),
        ((3, 3), (3, 3), (2, 2), "same", (1, 1)),
        ((3, 3), (3, 3), (2, 2), "valid", (1, 0)),
    ):
        x, kernel = normal(2, *spatial, 2), normal(*window, 3, 2)
        layer = getattr(keras.layers, f"Conv{len(spatial)}DTranspose")(
            3, window, strides=strides, padding=padding, output_padding=output_padding, use_bias=False, dtype="float64"
        )
        layer.build(x.shape)
        layer.set_weights([kernel])
        attrs = {"output_padding": output_padding} if output_padding else {}
        case("conv_transpose", [x, kernel], np.array(layer(x)), strides=strides, padding=padding, **attrs)


def pooling():
    for spatial, window, strides, pads in (
        ((7,), (2,), (2,), (0,)),
        ((6, 8), (2, 2), (2, 2), (0, 0)),
        ((7, 5), (3, 2), (2, 1), (1, 0)),
        ((5, 5), (3, 3), (1, 1), (1, 1)),
        ((4, 4, 5), (2, 2, 2), (2, 2, 1), (0, 1, 0)),
    ):
        axes = len(spatial)
        x, other = normal(2, *spatial, 3), normal(2, *spatial, 3)
        xt = first(x).requires_grad_()
        y, places = MAX[axes](xt, window, strides, pads, return_indices=True)
        dy = normal(*last(y).shape)
        (dx,) = torch.autograd.grad(y, xt, first(dy))
        picked = first(other).flatten(2).gather(2, places.flatten(2)).reshape(y.shape)
        both = [p for pad in pads for p in (pad, pad)]
        attrs = {"window": window, "strides": strides, "pads": both}
        case("max_pool", [x], last(y), **attrs)
        case("max_pool_backward", [dy, x], last(dx), **attrs)
        case("max_pool_pick", [other, x], last(picked), **attrs)
        for count in (True, False):
            mean = AVG[axes](xt, window, strides, pads, count_include_pad=count)
            (dx,) = torch.autograd.grad(mean, xt, first(dy))
            case("avg_pool", [x], last(mean), count_padding=count, **attrs)
            case("avg_pool_backward", [dy], last(dx), count_padding=count, input=spatial, **attrs)
    for spatial, window, strides in (((7, 5), (2, 2), (2, 2)), ((5, 6), (3, 3), (2, 1)), ((7,), (3,), (2,))):
        x = normal(2, *spatial, 2)
        attrs = {"window": window, "strides": strides, "padding": "same"}
        # TensorFlow answers in float32; a maximum is one of the inputs, which have three decimals.
        maxima = np.array(keras.ops.max_pool(x, window, strides, "same"), np.float64).round(3)
        case("max_pool", [x], maxima, **attrs)
        case("avg_pool", [x], np.array(keras.ops.average_pool(x, window, strides, "same")), count_padding=False, **attrs)


def main():
    convolutions()
    pooling()
    write("conv.json", {"cases": cases})


if __name__ == "__main__":
    main()
