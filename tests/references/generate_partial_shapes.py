"""Shapes of what layers make of inputs with unknown extents, from Keras 3 -> partial_shapes.json.

Each case: the shape of an example and that of the layer's result; None (null) is unknown.
Run: bench/.venv/bin/python tests/references/generate_partial_shapes.py
"""

import os

os.environ.update(KERAS_BACKEND="tensorflow", TF_CPP_MIN_LOG_LEVEL="3", CUDA_VISIBLE_DEVICES="-1")

import keras

from reference_io import write

L = keras.layers
SEQUENCE, IMAGE = (None, 4), (None, None, 3)
CASES = {
    "dense": (L.Dense(5), SEQUENCE),
    "conv1d": (L.Conv1D(6, 3), SEQUENCE),
    "conv1d_causal": (L.Conv1D(6, 3, padding="causal"), SEQUENCE),
    "conv1d_strides": (L.Conv1D(6, 3, strides=2, padding="same"), SEQUENCE),
    "conv2d": (L.Conv2D(6, 3), IMAGE),
    "conv2d_half_known": (L.Conv2D(6, 3), (20, None, 3)),
    "conv2d_transpose": (L.Conv2DTranspose(6, 3, strides=2), IMAGE),
    "depthwise": (L.DepthwiseConv2D(3, depth_multiplier=2), IMAGE),
    "separable": (L.SeparableConv2D(6, 3, padding="same"), IMAGE),
    "max_pooling1d": (L.MaxPooling1D(2), SEQUENCE),
    "average_pooling2d": (L.AveragePooling2D(3, strides=2), IMAGE),
    "global_average1d": (L.GlobalAveragePooling1D(), SEQUENCE),
    "global_max2d": (L.GlobalMaxPooling2D(keepdims=True), IMAGE),
    "upsampling2d": (L.UpSampling2D(2), IMAGE),
    "zero_padding2d": (L.ZeroPadding2D(2), IMAGE),
    "cropping1d": (L.Cropping1D((1, 2)), SEQUENCE),
    "resizing": (L.Resizing(8, 9), IMAGE),
    "center_crop": (L.CenterCrop(8, 9), IMAGE),
    "batch_norm": (L.BatchNormalization(), IMAGE),
    "layer_norm": (L.LayerNormalization(), SEQUENCE),
    "group_norm": (L.GroupNormalization(2), SEQUENCE),
    "dropout": (L.SpatialDropout1D(0.5), SEQUENCE),
    "activation": (L.Activation("softmax"), SEQUENCE),
    "embedding": (L.Embedding(10, 7), (None,)),
    "lstm": (L.LSTM(5), SEQUENCE),
    "lstm_sequences": (L.LSTM(5, return_sequences=True), SEQUENCE),
    "gru_backwards": (L.GRU(5, go_backwards=True, return_sequences=True), SEQUENCE),
    "bidirectional": (L.Bidirectional(L.SimpleRNN(5, return_sequences=True)), SEQUENCE),
    "conv_lstm": (L.ConvLSTM1D(2, 3, return_sequences=True), (None, 9, 4)),
    "time_distributed": (L.TimeDistributed(L.Dense(5)), SEQUENCE),
    "time_distributed_images": (L.TimeDistributed(L.Conv2D(2, 3)), (None, 10, 10, 3)),
    "flatten": (L.Flatten(), SEQUENCE),
    "flatten_known_axis_last": (L.Flatten(), (None,)),
    "reshape": (L.Reshape((-1, 2)), SEQUENCE),
    "permute": (L.Permute((2, 1)), SEQUENCE),
    "rescaling": (L.Rescaling(0.5), IMAGE),
}

write(
    "partial_shapes.json",
    {name: {"input": list(shape), "output": list(layer(keras.Input(shape)).shape[1:])} for name, (layer, shape) in CASES.items()},
)
