"""sequences.json: recurrent, embedding and attention layers of Keras and PyTorch in float64, and training curves."""

import os

os.environ["KERAS_BACKEND"] = "tensorflow"
os.environ["TF_CPP_MIN_LOG_LEVEL"] = "3"

import keras
import numpy as np
import tensorflow as tf
import torch
from keras import layers, ops

from reference_io import tensor, write

keras.backend.set_floatx("float64")
rng = np.random.default_rng(11)


def normal(*shape):
    return rng.normal(size=shape)


def randomise(weights):
    for weight in weights:
        weight.assign(rng.normal(0, 0.5, weight.shape))


def keras_case(name, options, layer, x, mask=None, states=None, **call):
    """Output, final states and gradients of sum(y * dy) (+ sum of squares of the states) by x and the weights."""
    layer(x, **call) if states is None else layer(x, initial_state=states)
    randomise(layer.weights)
    if getattr(layer, "stateful", False):
        layer.reset_state()
    x = tf.constant(x)
    kept = {} if mask is None else {"mask": tf.constant(mask)}
    if states is not None:
        kept["initial_state"] = [tf.constant(s) for s in states]
    with tf.GradientTape() as tape:
        tape.watch(x)
        result = layer(x, **kept, **call)
        y, *final = result if isinstance(result, (list, tuple)) else [result]
        dy = tf.constant(normal(*y.shape))
        total = tf.reduce_sum(y * dy) + sum(tf.reduce_sum(tf.square(s)) for s in final)
    gradients = tape.gradient(total, [x, *[w.value for w in layer.trainable_weights]])
    return {
        "layer": name,
        "options": options,
        "weights": [tensor(w.numpy()) for w in layer.trainable_weights],
        "x": tensor(x),
        "mask": None if mask is None else tensor(mask),
        "states": [] if states is None else [tensor(s) for s in states],
        "dy": tensor(dy),
        "y": tensor(y),
        "final": [tensor(s) for s in final],
        "gradients": [tensor(tf.convert_to_tensor(g)) for g in gradients],
    }


def recurrent_cases():
    mask = np.array([[1, 1, 1, 0, 0], [1, 0, 1, 1, 0], [1, 1, 1, 1, 1]], bool)
    kinds = {"SimpleRNN": (layers.SimpleRNN, 1), "LSTM": (layers.LSTM, 2), "GRU": (layers.GRU, 1)}
    out = []
    for name, (make, states) in kinds.items():
        start = [normal(3, 10) for _ in range(states)]
        for options, masked, first in [
            ({}, None, None),
            ({"return_sequences": True}, mask, None),
            ({"return_sequences": True, "go_backwards": True}, None, None),
            ({"return_sequences": True, "return_state": True}, None, start),
            ({"use_bias": False, "return_state": True}, mask, None),
        ]:
            out.append(keras_case(name, {"units": 10, **options}, make(10, **options), normal(3, 5, 4), masked, first))
    out.append(keras_case("SimpleRNN", {"units": 5, "activation": "relu"}, layers.SimpleRNN(5, activation="relu"), normal(2, 3, 4)))
    plain = {"units": 3, "activation": "softsign", "recurrent_activation": "hard_sigmoid"}
    out.append(keras_case("LSTM", plain, layers.LSTM(**plain), normal(2, 4, 3), np.array([[1, 0, 1, 1], [1, 1, 0, 0]], bool)))
    out.append(keras_case("GRU", {"units": 3, "reset_after": False}, layers.GRU(3, reset_after=False), normal(2, 4, 3)))
    out.append(keras_case("LSTM", {"units": 3, "unroll": True}, layers.LSTM(3, unroll=True), normal(2, 4, 3)))
    for mode in ("concat", "sum", "mul", "ave"):
        for sequences in (False, True):
            layer = layers.Bidirectional(layers.GRU(3, return_sequences=sequences), merge_mode=mode)
            options = {"units": 3, "merge_mode": mode, "return_sequences": sequences}
            out.append(keras_case("Bidirectional", options, layer, normal(3, 5, 2), mask if sequences else None))
    out.append(keras_case("TimeDistributed", {"units": 3}, layers.TimeDistributed(layers.Dense(3)), normal(2, 4, 5)))
    return out


def attention_cases():
    out = []

    def case(options, features, key_mask=None, attention_mask=None, causal=False, cross=None, key=None):
        layer = layers.MultiHeadAttention(**options)
        query = normal(2, 5, features)
        value = query if cross is None else cross
        layer(query, value, key=key)
        randomise(layer.weights)
        query = tf.constant(query)
        value = query if cross is None else tf.constant(cross)
        with tf.GradientTape() as tape:
            tape.watch(query)
            tape.watch(value)
            y = layer(
                query, value, key=key, value_mask=key_mask, attention_mask=attention_mask, use_causal_mask=causal
            )
            dy = tf.constant(normal(*y.shape))
            total = tf.reduce_sum(y * dy)
        sources = [query] + ([] if cross is None else [value])
        gradients = tape.gradient(total, [*sources, *[w.value for w in layer.trainable_weights]])
        optional = lambda a: None if a is None else tensor(a)
        out.append(
            {
                "options": options,
                "causal": causal,
                "query": tensor(query),
                "value": optional(cross),
                "key": optional(key),
                "key_mask": optional(key_mask),
                "attention_mask": optional(attention_mask),
                "weights": [tensor(w.numpy()) for w in layer.trainable_weights],
                "dy": tensor(dy),
                "y": tensor(y),
                "gradients": [tensor(g) for g in gradients],
            }
        )

    case({"num_heads": 2, "key_dim": 3}, 6)
    case({"num_heads": 2, "key_dim": 3}, 6, causal=True)
    case({"num_heads": 1, "key_dim": 4, "value_dim": 2, "use_bias": False}, 5)
    case({"num_heads": 3, "key_dim": 2, "output_shape": 7}, 4, cross=normal(2, 8, 3))
    case({"num_heads": 2, "key_dim": 2}, 4, cross=normal(2, 3, 5), key=normal(2, 3, 6))
    case({"num_heads": 2, "key_dim": 3}, 6, key_mask=np.array([[1, 1, 1, 0, 0], [1, 0, 1, 1, 1]], bool))
    case({"num_heads": 2, "key_dim": 3}, 6, attention_mask=np.tril(np.ones((2, 5, 5), bool)) & (rng.random((2, 5, 5)) < 0.8) | np.eye(5, dtype=bool))
    return out


def torch_case(name, module, options, x, call=lambda m, x: m(x)):
    module = module.double().eval()
    with torch.no_grad():
        for p in module.parameters():
            p.copy_(torch.from_numpy(rng.normal(0, 0.5, p.shape)))
    x = torch.from_numpy(x).requires_grad_()
    y, *final = call(module, x)
    dy = torch.from_numpy(normal(*y.shape))
    ((y * dy).sum() + sum((s**2).sum() for s in final)).backward()
    return {
        "layer": name,
        "options": options,
        "names": [n for n, _ in module.named_parameters()],
        "weights": [tensor(p.detach().numpy()) for p in module.parameters()],
        "x": tensor(x.detach().numpy()),
        "dy": tensor(dy.numpy()),
        "y": tensor(y.detach().numpy()),
        "final": [tensor(s.detach().numpy()) for s in final],
        "gradients": [tensor(x.grad.numpy())] + [tensor(p.grad.numpy()) for p in module.parameters()],
    }


def torch_cases():
    nn = torch.nn

    def lstm(m, x):
        y, (h, c) = m(x)
        return y, h, c

    def attention(**masks):
        return lambda m, x: (m(x, x, x, need_weights=False, **masks)[0],)

    padding = torch.tensor([[False, False, True, True], [False, False, False, True]])
    encoder = lambda **o: nn.TransformerEncoderLayer(6, 2, dim_feedforward=8, dropout=0.0, batch_first=True, **o)
    decoder = nn.TransformerDecoderLayer(6, 2, dim_feedforward=8, dropout=0.0, batch_first=True)
    causal = nn.Transformer.generate_square_subsequent_mask(4, dtype=torch.float64)
    memory = torch.from_numpy(normal(2, 5, 6))
    decoded = torch_case("TransformerDecoderLayer", decoder, {}, normal(2, 4, 6), lambda m, x: (m(x, memory, tgt_mask=causal),))
    decoded["memory"] = tensor(memory.numpy())
    return [
        torch_case("LSTM", nn.LSTM(3, 5), {}, normal(4, 2, 3), lstm),
        torch_case("LSTM", nn.LSTM(3, 4, num_layers=2, bidirectional=True, batch_first=True), {"num_layers": 2, "bidirectional": True, "batch_first": True}, normal(2, 4, 3), lstm),
        torch_case("GRU", nn.GRU(3, 5), {}, normal(4, 2, 3)),
        torch_case("GRU", nn.GRU(3, 4, num_layers=2, bias=False, bidirectional=True), {"num_layers": 2, "bias": False, "bidirectional": True}, normal(4, 2, 3)),
        torch_case("MultiheadAttention", nn.MultiheadAttention(6, 2, batch_first=True), {"batch_first": True}, normal(2, 4, 6), attention(key_padding_mask=padding)),
        torch_case("MultiheadAttention", nn.MultiheadAttention(6, 3), {"causal": True}, normal(4, 2, 6), attention(attn_mask=torch.triu(torch.ones(4, 4, dtype=torch.bool), 1))),
        torch_case("TransformerEncoderLayer", encoder(), {}, normal(2, 4, 6), lambda m, x: (m(x),)),
        torch_case("TransformerEncoderLayer", encoder(norm_first=True, activation="gelu"), {"norm_first": True, "activation": "gelu"}, normal(2, 4, 6), lambda m, x: (m(x),)),
        decoded,
    ]


def step(model, x, y):
    """One update from dense gradients: with slices, Keras on TensorFlow squares repeated tokens one by one in Adam."""
    with tf.GradientTape() as tape:
        loss = model.compute_loss(x=x, y=y, y_pred=model(x, training=True))
    gradients = tape.gradient(loss, [w.value for w in model.trainable_weights])
    model.optimizer.apply_gradients(zip([tf.convert_to_tensor(g) for g in gradients], model.trainable_weights))
    return float(loss)


def curve(name, model, x, y, optimizer, steps=30):
    model.compile(optimizer=optimizer, loss=keras.losses.SparseCategoricalCrossentropy(from_logits=True))
    model(x)
    randomise(model.trainable_weights)
    weights = [tensor(w.numpy().astype(np.float32)) for w in model.trainable_weights]
    for w, value in zip(model.trainable_weights, weights):
        w.assign(np.array(value["data"], np.float32).reshape(value["shape"]))
    losses = [step(model, x, y) for _ in range(steps)]
    return {"model": name, "weights": weights, "x": tensor(x), "y": tensor(y), "losses": losses}


def curves():
    tokens = rng.integers(1, 12, (8, 7))
    for row, length in enumerate(rng.integers(2, 8, 8)):
        tokens[row, length:] = 0
    labels, each = rng.integers(0, 3, 8), rng.integers(0, 3, (8, 7))

    def recurrent(sequences):
        return keras.Sequential(
            [
                layers.Embedding(12, 5, mask_zero=True),
                layers.Bidirectional(layers.LSTM(4, return_sequences=True)),
                layers.GRU(6, return_sequences=sequences),
                layers.Dense(3),
            ]
        )

    def transformer():
        inputs = keras.Input((7,), dtype="int32")
        x = layers.Embedding(12, 8)(inputs)
        x = layers.LayerNormalization(epsilon=1e-5)(x + layers.MultiHeadAttention(2, 4)(x, x, use_causal_mask=True))
        x = layers.LayerNormalization(epsilon=1e-5)(x + layers.Dense(8)(layers.Dense(16, activation="relu")(x)))
        return keras.Model(inputs, layers.Dense(3)(x))

    return [
        curve("recurrent", recurrent(False), tokens, labels, keras.optimizers.SGD(0.1)),
        curve("recurrent", recurrent(False), tokens, labels, keras.optimizers.Adam(0.01)) | {"optimizer": "adam"},
        curve("sequences", recurrent(True), tokens, each, keras.optimizers.SGD(0.1)),
        curve("transformer", transformer(), tokens, each, keras.optimizers.Adam(0.01)) | {"optimizer": "adam"},
    ]


write(
    "sequences.json",
    {"recurrent": recurrent_cases(), "attention": attention_cases(), "torch": torch_cases(), "curves": curves()},
)
