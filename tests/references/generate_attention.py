"""Attention, AdditiveAttention and GroupQueryAttention of Keras, and the scores of MultiHeadAttention, in float64 -> attention.json.

Run: bench/.venv/bin/python tests/references/generate_attention.py
"""

import os

os.environ.update(KERAS_BACKEND="tensorflow", TF_CPP_MIN_LOG_LEVEL="3", CUDA_VISIBLE_DEVICES="-1")

import keras
import numpy as np
import tensorflow as tf
from keras import layers

from reference_io import tensor, write

keras.backend.set_floatx("float64")
rng = np.random.default_rng(31)

QUERY, VALUE, KEY = (2, 4, 3), (2, 5, 6), (2, 5, 3)
MASKS = [np.array([[1, 1, 1, 0], [1, 1, 0, 0]], bool), np.array([[1, 1, 1, 0, 1], [1, 0, 0, 0, 0]], bool), None]


def plain(name, options, shapes, masks=None, causal=False):
    """Output, scores and gradients of sum(y * dy) by the inputs and the weights."""
    layer = getattr(layers, name)(**options)
    inputs = [tf.constant(rng.normal(size=shape)) for shape in shapes]
    layer(inputs)
    for weight in layer.weights:
        weight.assign(rng.normal(1, 0.5, weight.shape))
    with tf.GradientTape() as tape:
        tape.watch(inputs)
        y, scores = layer(inputs, mask=masks, use_causal_mask=causal, return_attention_scores=True)
        dy = tf.constant(rng.normal(size=y.shape))
        total = tf.reduce_sum(y * dy)
    gradients = tape.gradient(total, [*inputs, *[w.value for w in layer.trainable_weights]])
    return {
        "layer": name,
        "options": options,
        "causal": causal,
        "inputs": [tensor(x) for x in inputs],
        "masks": [None if mask is None else tensor(mask) for mask in masks or []],
        "weights": [tensor(w.numpy()) for w in layer.trainable_weights],
        "dy": tensor(dy),
        "y": tensor(y),
        "scores": tensor(scores),
        "gradients": [tensor(g) for g in gradients],
    }


def heads(causal, mask):
    layer = layers.MultiHeadAttention(2, 3)
    query, value = rng.normal(size=QUERY), rng.normal(size=VALUE)
    layer(query, value)
    for weight in layer.weights:
        weight.assign(rng.normal(0, 0.5, weight.shape))
    y, scores = layer(query, value, attention_mask=mask, use_causal_mask=causal, return_attention_scores=True)
    return {
        "causal": causal,
        "query": tensor(query),
        "value": tensor(value),
        "attention_mask": None if mask is None else tensor(mask),
        "weights": [tensor(w.numpy()) for w in layer.trainable_weights],
        "y": tensor(y),
        "scores": tensor(scores),
    }


def inputs_of(layer, shapes):
    """Random inputs, with which the layer is built; its weights are random, too."""
    inputs = [tf.constant(rng.normal(size=shape)) for shape in shapes]
    layer(*inputs)
    for weight in layer.weights:
        weight.assign(rng.normal(0, 0.5, weight.shape))
    return inputs


def groups(options, heads, shapes, causal=False):
    layer = layers.GroupQueryAttention(4, *heads, **options)
    inputs = inputs_of(layer, shapes)
    with tf.GradientTape() as tape:
        tape.watch(inputs)
        y, scores = layer(*inputs, use_causal_mask=causal, return_attention_scores=True)
        dy = tf.constant(rng.normal(size=y.shape))
        total = tf.reduce_sum(y * dy)
    gradients = tape.gradient(total, [*inputs, *[w.value for w in layer.trainable_weights]])
    return {
        "options": options,
        "heads": heads,
        "causal": causal,
        "inputs": [tensor(x) for x in inputs],
        "weights": [tensor(w.numpy()) for w in layer.trainable_weights],
        "dy": tensor(dy),
        "y": tensor(y),
        "scores": tensor(scores),
        "gradients": [tensor(tf.convert_to_tensor(g)) for g in gradients],
    }


def masks(query_mask, value_mask, key_mask=None, attention_mask=None, causal=False):
    """Masks that travel with the inputs; gradients of the inputs and weights."""
    layer = layers.MultiHeadAttention(2, 3)
    shapes = [QUERY, VALUE] + ([] if key_mask is None else [KEY])
    inputs = inputs_of(layer, shapes)
    with tf.GradientTape() as tape:
        tape.watch(inputs)
        marked = [tf.identity(x) for x in inputs]
        for x, mask in zip(marked, [query_mask, value_mask, key_mask]):
            if mask is not None:
                x._keras_mask = tf.constant(mask)
        y = layer(*marked, attention_mask=attention_mask, use_causal_mask=causal)
        dy = tf.constant(rng.normal(size=y.shape))
        total = tf.reduce_sum(y * dy)
    gradients = tape.gradient(total, [*inputs, *[w.value for w in layer.trainable_weights]])
    optional = lambda a: None if a is None else tensor(a)
    return {
        "causal": causal,
        "inputs": [tensor(x) for x in inputs],
        "masks": [optional(mask) for mask in [query_mask, value_mask, key_mask][: len(inputs)]],
        "attention_mask": optional(attention_mask),
        "weights": [tensor(w.numpy()) for w in layer.trainable_weights],
        "dy": tensor(dy),
        "y": tensor(y),
        "gradients": [tensor(tf.convert_to_tensor(g)) for g in gradients],
    }


SEEN = np.array([[1, 1, 0, 0], [1, 0, 1, 1]], bool)
KEPT = np.array([[1, 1, 1, 0, 0], [1, 0, 1, 1, 1]], bool)
OTHER = np.array([[1, 0, 1, 1, 1], [1, 1, 1, 1, 0]], bool)

write(
    "attention.json",
    {
        "plain": [
            plain("Attention", {}, [QUERY, KEY]),
            plain("Attention", {"use_scale": True}, [QUERY, VALUE, KEY], MASKS),
            plain("Attention", {"score_mode": "concat", "use_scale": True}, [QUERY, VALUE, KEY], causal=True),
            plain("Attention", {"score_mode": "concat"}, [QUERY, KEY], MASKS[:2], causal=True),
            plain("AdditiveAttention", {}, [QUERY, VALUE, KEY], MASKS),
            plain("AdditiveAttention", {"use_scale": False}, [QUERY, KEY], causal=True),
        ],
        "heads": [
            heads(False, None),
            heads(True, None),
            heads(False, np.arange(40).reshape(2, 4, 5) % 3 < 2),
        ],
        "groups": [
            groups({}, [4, 2], [QUERY, KEY]),
            groups({"use_bias": False, "use_gate": True}, [6, 2], [QUERY, VALUE, KEY], causal=True),
            groups({"sliding_window": 2, "use_gate": True}, [2, 1], [QUERY, VALUE]),
        ],
        "masks": [
            masks(SEEN, None),
            masks(SEEN, KEPT),
            masks(SEEN, KEPT, OTHER, causal=True),
            masks(None, KEPT, attention_mask=np.arange(40).reshape(2, 4, 5) % 4 < 3),
            masks(SEEN, KEPT, attention_mask=np.arange(40).reshape(2, 4, 5) % 4 < 3),
        ],
    },
)
