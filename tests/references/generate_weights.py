"""Weight files of Keras 3 and PyTorch with their predictions, and the check that both read ours.

Run: bench/.venv/bin/python tests/references/generate_weights.py            # writes tests/checkpoint/files/
     bench/.venv/bin/python tests/references/generate_weights.py check DIR  # reads what tests/checkpoint wrote into DIR

`check` loads keras_conv.weights.h5, keras_functional.weights.h5, keras_attention.weights.h5, keras_wrapped.weights.h5,
keras_einsum.weights.h5 and torch_net.safetensors, written by
`test_checkpoint` when ISOCHRON_KEEP_WEIGHTS names DIR, into the same models, and compares predictions.
"""

import os
import sys
from pathlib import Path

os.environ.update(KERAS_BACKEND="tensorflow", TF_CPP_MIN_LOG_LEVEL="3", CUDA_VISIBLE_DEVICES="-1")

import keras
import numpy as np
import torch
from safetensors.numpy import load_file
from safetensors.torch import save_file

L = keras.layers
FILES = Path(__file__).resolve().parent.parent / "checkpoint" / "files"


def conv_model():
    return keras.Sequential(
        [
            keras.Input((6, 6, 2)),
            L.Conv2D(3, 3, padding="same", activation="relu"),
            L.MaxPooling2D(),
            L.DepthwiseConv2D(2, depth_multiplier=2),
            L.Flatten(),
            L.Dropout(0.3),
            L.Dense(5, activation="tanh"),
            keras.Sequential([keras.Input((5,)), L.Dense(4), L.Dense(3)]),
        ]
    )


def functional_model():
    a = keras.Input((4,), name="a")
    b = keras.Input((6,), name="b")
    shared = L.Dense(5, activation="tanh", name="shared")
    x = L.Concatenate()([shared(L.Dense(6, name="widen")(a)), shared(b)])
    x = L.Dense(10, activation="relu", name="hidden")(x) + x
    return keras.Model([a, b], [L.Dense(1, name="one")(x), L.Dense(3, name="two")(x)])


def attention_model():
    x = keras.Input((5, 6))
    y = L.MultiHeadAttention(2, 3, value_dim=4)(x, x)
    return keras.Model(x, L.Dense(2)(L.MultiHeadAttention(3, 2, use_bias=False)(y, y)))


def wrapped_model():
    """Layers whose files have paths of their own."""
    x = keras.Input((3, 4, 4, 2))
    y = L.Bidirectional(L.ConvLSTM2D(2, 2, return_sequences=True))(x)
    y = L.Reshape((3, 36))(y)
    y = L.GroupQueryAttention(2, 4, 2, use_gate=True)(y, y)
    return keras.Model(x, L.SpectralNormalization(L.Dense(3))(y))


def einsum_model():
    x = keras.Input((3, 4))
    y = L.EinsumDense("abc,cde->abde", (None, 2, 3), bias_axes="de", activation="tanh")(x)
    return keras.Model(x, L.EinsumDense("...de,def->...f", (5,), bias_axes="f")(y))


class TorchNet(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.conv = torch.nn.Conv2d(2, 3, 3, padding=1)
        self.body = torch.nn.Sequential(torch.nn.Linear(108, 7), torch.nn.ReLU(), torch.nn.Linear(7, 4, bias=False))

    def forward(self, x):
        return self.body(torch.flatten(torch.relu(self.conv(x)), 1))


def randomise(model, rng):
    for variable in model.weights:
        if "seed" not in variable.path:
            variable.assign(rng.normal(size=variable.shape).astype(np.float32) * 0.5)


def save_predictions(name, inputs, outputs):
    arrays = {f"x{i}": x for i, x in enumerate(inputs)} | {f"y{i}": np.asarray(y) for i, y in enumerate(outputs)}
    np.savez(FILES / f"{name}.predictions.npz", **arrays)


def images(rng):
    return rng.normal(size=(3, 6, 6, 2)).astype(np.float32)


def generate():
    rng = np.random.default_rng(5)
    FILES.mkdir(parents=True, exist_ok=True)
    model, x = conv_model(), images(rng)
    randomise(model, rng)
    model.save_weights(FILES / "keras_conv.weights.h5")
    save_predictions("keras_conv", [x], [model(x)])

    model = functional_model()
    randomise(model, rng)
    x = [rng.normal(size=(3, n)).astype(np.float32) for n in (4, 6)]
    model.compile(optimizer="adam", loss="mse")  # a compiled model's file may hold more than weights
    model.save_weights(FILES / "keras_functional.weights.h5")
    save_predictions("keras_functional", x, model(x))

    torch.manual_seed(5)
    net, x = TorchNet().eval(), images(rng).transpose(0, 3, 1, 2).copy()
    save_file(net.state_dict(), FILES / "torch_net.safetensors", metadata={"format": "pt"})
    save_predictions("torch_net", [x], [net(torch.from_numpy(x)).detach().numpy()])

    model, x = attention_model(), rng.normal(size=(3, 5, 6)).astype(np.float32)
    randomise(model, rng)
    model.save_weights(FILES / "keras_attention.weights.h5")
    save_predictions("keras_attention", [x], [model(x)])
    generate_wrapped()


def generate_wrapped():
    rng = np.random.default_rng(6)
    model, x = wrapped_model(), rng.normal(size=(2, 3, 4, 4, 2)).astype(np.float32)
    randomise(model, rng)
    model.save_weights(FILES / "keras_wrapped.weights.h5")
    save_predictions("keras_wrapped", [x], [model(x)])
    rng = np.random.default_rng(7)
    model, x = einsum_model(), rng.normal(size=(2, 3, 4)).astype(np.float32)
    randomise(model, rng)
    model.save_weights(FILES / "keras_einsum.weights.h5")
    save_predictions("keras_einsum", [x], [model(x)])


def predictions(name):
    arrays = np.load(FILES / f"{name}.predictions.npz")
    return [arrays[k] for k in arrays if k[0] == "x"], [arrays[k] for k in arrays if k[0] == "y"]


def check(folder):
    for name, model in (
        ("keras_conv", conv_model()),
        ("keras_functional", functional_model()),
        ("keras_attention", attention_model()),
        ("keras_wrapped", wrapped_model()),
        ("keras_einsum", einsum_model()),
    ):
        model.load_weights(folder / f"{name}.weights.h5")
        x, y = predictions(name)
        out = model(x if len(x) > 1 else x[0])
        for actual, expected in zip(out if isinstance(out, (list, tuple)) else [out], y):
            np.testing.assert_allclose(np.asarray(actual), expected, atol=1e-5)
        print(f"Keras {keras.__version__} reads {name}.weights.h5: predictions equal within 1e-5")
    net = TorchNet().eval()
    state = load_file(folder / "torch_net.safetensors")
    net.load_state_dict({k: torch.from_numpy(v) for k, v in state.items()})
    x, y = predictions("torch_net")
    np.testing.assert_allclose(net(torch.from_numpy(x[0])).detach().numpy(), y[0], atol=1e-5)
    print(f"PyTorch {torch.__version__} reads torch_net.safetensors: predictions equal within 1e-5")


if __name__ == "__main__":
    check(Path(sys.argv[2])) if sys.argv[1:2] == ["check"] else generate()
