"""Convolutional layers of Keras in float64, modules of PyTorch, and the training curve of a small CNN -> conv_layers.json.

Run: bench/.venv/bin/python tests/references/generate_conv_layers.py. tests/nn/conv_layers_test.cpp makes the same layers by name.
"""

import os

os.environ.update(KERAS_BACKEND="tensorflow", TF_CPP_MIN_LOG_LEVEL="3", CUDA_VISIBLE_DEVICES="-1")

import keras
import numpy as np
import torch
from keras import layers as k

from reference_io import number, tensor, write

rng = np.random.default_rng(20261117)
double = {"dtype": "float64"}

# Name -> layer, shape of its input.
LAYERS = {
    "conv1d_causal": (k.Conv1D(3, 3, padding="causal", dilation_rate=2, **double), (2, 7, 2)),
    "conv1d_same": (k.Conv1D(4, 4, strides=3, padding="same", activation="tanh", **double), (2, 8, 3)),
    "conv2d": (k.Conv2D(3, 3, activation="relu", **double), (2, 6, 5, 2)),
    "conv2d_same_stride": (k.Conv2D(2, (3, 2), strides=2, padding="same", use_bias=False, **double), (1, 7, 6, 3)),
    "conv2d_groups": (k.Conv2D(6, 3, padding="same", groups=3, dilation_rate=2, **double), (1, 6, 6, 3)),
    "conv2d_winograd": (k.Conv2D(16, 3, padding="same", activation="relu", **double), (1, 9, 8, 8)),
    "conv3d": (k.Conv3D(2, 2, strides=(1, 2, 1), **double), (1, 3, 4, 3, 2)),
    "conv1d_transpose": (k.Conv1DTranspose(2, 3, strides=2, **double), (2, 4, 3)),
    "conv2d_transpose": (k.Conv2DTranspose(3, 3, strides=2, padding="same", activation="relu", **double), (1, 3, 4, 2)),
    "conv2d_transpose_output_padding": (k.Conv2DTranspose(2, 3, strides=2, padding="same", output_padding=1, **double), (1, 3, 3, 2)),
    "depthwise_conv1d": (k.DepthwiseConv1D(3, depth_multiplier=2, **double), (2, 6, 3)),
    "depthwise_conv2d": (k.DepthwiseConv2D(3, strides=2, padding="same", activation="relu", **double), (2, 7, 6, 3)),
    "separable_conv1d": (k.SeparableConv1D(4, 3, padding="same", **double), (2, 6, 3)),
    "separable_conv2d": (k.SeparableConv2D(4, (3, 2), depth_multiplier=2, activation="tanh", **double), (1, 5, 5, 3)),
    "max_pooling1d": (k.MaxPooling1D(3, strides=2, padding="same", **double), (2, 7, 2)),
    "max_pooling2d": (k.MaxPooling2D(**double), (2, 5, 6, 2)),
    "max_pooling3d": (k.MaxPooling3D((2, 1, 2)), (1, 4, 3, 5, 2)),
    "average_pooling1d": (k.AveragePooling1D(2, strides=1, **double), (2, 6, 2)),
    "average_pooling2d_same": (k.AveragePooling2D(3, strides=2, padding="same", **double), (2, 6, 5, 2)),
    "average_pooling3d": (k.AveragePooling3D(2), (1, 4, 5, 4, 1)),
    "global_max_pooling1d": (k.GlobalMaxPooling1D(**double), (2, 5, 3)),
    "global_max_pooling2d": (k.GlobalMaxPooling2D(keepdims=True, **double), (2, 4, 3, 2)),
    "global_average_pooling1d": (k.GlobalAveragePooling1D(**double), (2, 5, 3)),
    "global_average_pooling2d": (k.GlobalAveragePooling2D(**double), (2, 4, 3, 2)),
    "up_sampling1d": (k.UpSampling1D(3, **double), (2, 3, 2)),
    "up_sampling2d": (k.UpSampling2D((2, 3), **double), (1, 3, 2, 2)),
    "up_sampling2d_bilinear": (k.UpSampling2D((2, 3), interpolation="bilinear", **double), (1, 4, 3, 2)),
    "zero_padding1d": (k.ZeroPadding1D((1, 2), **double), (2, 3, 2)),
    "zero_padding2d": (k.ZeroPadding2D(((1, 0), (2, 3)), **double), (1, 3, 2, 2)),
    "zero_padding2d_symmetric": (k.ZeroPadding2D((1, 2), **double), (1, 3, 2, 2)),
    "cropping1d": (k.Cropping1D((1, 2), **double), (2, 5, 2)),
    "cropping2d": (k.Cropping2D(((1, 0), (1, 2)), **double), (1, 4, 5, 2)),
}
VOLUMES = {
    "up_sampling3d": (k.UpSampling3D((2, 1, 3), **double), (1, 2, 3, 2, 2)),
    "zero_padding3d": (k.ZeroPadding3D(((1, 0), (2, 1), (0, 3)), **double), (1, 2, 1, 3, 2)),
    "zero_padding3d_symmetric": (k.ZeroPadding3D((1, 0, 2), **double), (1, 2, 2, 1, 1)),
    "cropping3d": (k.Cropping3D(((1, 0), (0, 2), (1, 1)), **double), (1, 3, 4, 3, 2)),
    "cropping3d_default": (k.Cropping3D(**double), (1, 3, 4, 5, 1)),
}


def normal(*shape):
    return np.round(rng.normal(size=shape), 3)


def layer_cases(layers):
    for name, (layer, shape) in layers.items():
        x = normal(*shape)
        layer.build(shape)
        weights = [normal(*w.shape) for w in layer.get_weights()]
        layer.set_weights(weights)
        y = np.array(layer(x))
        # Some of TensorFlow's kernels know float32 alone, whatever is asked for.
        yield {"name": name, "x": tensor(x), "weights": [tensor(w) for w in weights], "y": tensor(y.astype(np.float64)),
               "exact": bool(np.any(y != y.astype(np.float32))), "class": type(layer).__name__.lower()}


def module_cases():
    modules = {
        "conv2d": (torch.nn.Conv2d(2, 4, (3, 2), stride=(2, 1), padding=(1, 0), groups=2), (2, 2, 5, 4)),
        "conv2d_dilated": (torch.nn.Conv2d(3, 2, 3, padding=2, dilation=2, bias=False), (1, 3, 6, 5)),
        "max_pool2d": (torch.nn.MaxPool2d(3, stride=2, padding=1), (1, 2, 5, 6)),
        "avg_pool2d": (torch.nn.AvgPool2d(3, stride=2, padding=1), (1, 2, 5, 6)),
        "avg_pool2d_exclusive": (torch.nn.AvgPool2d(2, padding=1, count_include_pad=False), (1, 2, 5, 5)),
    }
    for name, (module, shape) in modules.items():
        module = module.double()
        with torch.no_grad():
            for p in module.parameters():
                p.copy_(torch.from_numpy(normal(*p.shape)))
        x = normal(*shape)
        y = module(torch.from_numpy(x))
        yield {"name": name, "x": tensor(x), "weights": [tensor(p.detach().numpy()) for p in module.parameters()],
               "y": tensor(y.detach().numpy())}


def curve():
    """Losses of 40 steps of Adam on four batches, in float32; every kind of layer that trains is in it."""
    model = keras.Sequential([
        keras.Input((12, 12, 3)),
        k.Conv2D(8, 3, padding="same", activation="relu"),
        k.Conv2D(16, 3, activation="relu"),
        k.MaxPooling2D(2),
        k.DepthwiseConv2D(3, padding="same"),
        k.SeparableConv2D(8, 3, strides=2, padding="same", activation="relu"),
        k.Conv2DTranspose(4, 3, strides=2, padding="same", activation="tanh"),
        k.AveragePooling2D(2, padding="same"),
        k.Flatten(),
        k.Dense(3),
    ])  # fmt: skip
    weights = [np.round(rng.normal(size=w.shape) * 0.25, 3).astype(np.float32) for w in model.get_weights()]
    model.set_weights(weights)
    batches = [(normal(8, 12, 12, 3).astype(np.float32), rng.integers(0, 3, 8)) for _ in range(4)]
    model.compile(optimizer=keras.optimizers.Adam(3e-3), loss=keras.losses.SparseCategoricalCrossentropy(from_logits=True))
    losses = []
    for step in range(40):
        x, y = batches[step % 4]
        losses.append(number(np.float64(model.train_on_batch(x, y, return_dict=True)["loss"])))
        model.reset_metrics()
    return {"weights": [tensor(w) for w in weights], "batches": [[tensor(x), tensor(y)] for x, y in batches], "losses": losses}


def main():
    layers, modules, trained = list(layer_cases(LAYERS)), list(module_cases()), [curve()]
    write("conv_layers.json", {"layers": layers + list(layer_cases(VOLUMES)), "modules": modules, "curve": trained})


if __name__ == "__main__":
    main()
