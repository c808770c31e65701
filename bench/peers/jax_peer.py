"""JAX: one jitted step with donated state, called from a Python loop that slices batches from the shuffled rows and reads
each loss.

`--mode resident` is the fastest loop JAX allows: all rows live on the device, each step slices them there, and no loss is
read within an epoch, so that the next steps are dispatched from one core while another computes.
"""

import os

from measure import parse_arguments, print_result, run_epochs

arguments, workload = parse_arguments(["loop", "resident"])
# JAX has no thread option: XLA sizes its pool by NPROC.
os.environ["NPROC"] = str(arguments.threads)
if arguments.threads == 1:
    os.environ["XLA_FLAGS"] = "--xla_cpu_multi_thread_eigen=false " + os.environ.get("XLA_FLAGS", "")
os.environ["JAX_PLATFORMS"] = "cpu"

from functools import partial

import jax
import jax.numpy as jnp
import numpy as np

from workloads import BLOCKS, make_data

rng = np.random.default_rng(1)
HEADS, LAYERS = 4, 2


def dense_weights(inputs, outputs):
    limit = np.sqrt(6 / (inputs + outputs))
    return {"w": rng.uniform(-limit, limit, (inputs, outputs)).astype(np.float32), "b": np.zeros(outputs, np.float32)}


def dense(p, x):
    return x @ p["w"] + p["b"]


def mlp_weights():
    return {"hidden": dense_weights(784, 128), "out": dense_weights(128, 10)}


def mlp(p, x):
    return dense(p["out"], jax.nn.relu(dense(p["hidden"], x)))


def kernel(size, inputs, outputs):
    limit = np.sqrt(6 / (size * size * (inputs + outputs)))
    return rng.uniform(-limit, limit, (size, size, inputs, outputs)).astype(np.float32)


def convolve(x, w, stride=1, padding="VALID"):
    return jax.lax.conv_general_dilated(x, w, (stride, stride), padding, dimension_numbers=("NHWC", "HWIO", "NHWC"))


def cnn_weights():
    def conv(inputs, outputs):
        return {"w": kernel(3, inputs, outputs), "b": np.zeros(outputs, np.float32)}

    return {"c1": conv(1, 32), "c2": conv(32, 64), "hidden": dense_weights(12 * 12 * 64, 128), "out": dense_weights(128, 10)}


def cnn(p, x):
    for name in ("c1", "c2"):
        x = jax.nn.relu(convolve(x, p[name]["w"]) + p[name]["b"])
    x = jax.lax.reduce_window(x, -jnp.inf, jax.lax.max, (1, 2, 2, 1), (1, 2, 2, 1), "VALID")
    return dense(p["out"], jax.nn.relu(dense(p["hidden"], x.reshape(x.shape[0], -1))))


def normed_weights(size, inputs, outputs):
    """A convolution and its batch norm; the running statistics get no gradient and are replaced after the step."""
    ones, zeros = np.ones(outputs, np.float32), np.zeros(outputs, np.float32)
    return {"w": kernel(size, inputs, outputs), "scale": ones, "shift": zeros, "mean": zeros, "var": ones}


def resnet_weights():
    weights, width = {"stem": normed_weights(3, 3, 16), "blocks": []}, 16
    for filters, stride in BLOCKS:
        block = {"first": normed_weights(3, width, filters), "second": normed_weights(3, filters, filters)}
        if stride > 1:
            block["aside"] = normed_weights(1, width, filters)
        weights["blocks"].append(block)
        width = filters
    return {**weights, "out": dense_weights(width, 10)}


def normed(p, x, stride=1):
    """The normed convolution, and p with new running statistics."""
    x = convolve(x, p["w"], stride, "SAME")
    mean, var = x.mean((0, 1, 2)), x.var((0, 1, 2))
    y = (x - mean) * (jax.lax.rsqrt(var + 1e-3) * p["scale"]) + p["shift"]
    running = jax.lax.stop_gradient((0.99 * p["mean"] + 0.01 * mean, 0.99 * p["var"] + 0.01 * var))
    return y, {**p, "mean": running[0], "var": running[1]}


def resnet(p, x):
    y, stem = normed(p["stem"], x)
    x, blocks = jax.nn.relu(y), []
    for block, (_, stride) in zip(p["blocks"], BLOCKS):
        y, first = normed(block["first"], x, stride)
        y, second = normed(block["second"], jax.nn.relu(y))
        kept = {"first": first, "second": second}
        if stride > 1:
            x, kept["aside"] = normed(block["aside"], x, stride)
        x = jax.nn.relu(x + y)
        blocks.append(kept)
    return dense(p["out"], x.mean((1, 2))), {"stem": stem, "blocks": blocks, "out": p["out"]}


def transformer_weights():
    def layer():
        norm = lambda: {"scale": np.ones(128, np.float32), "shift": np.zeros(128, np.float32)}
        parts = {name: dense_weights(128, 128) for name in ("q", "k", "v", "o")}
        return {**parts, "up": dense_weights(128, 512), "down": dense_weights(512, 128), "n1": norm(), "n2": norm()}

    return {"layers": [layer() for _ in range(LAYERS)], "out": dense_weights(128, 10)}


def transformer(p, x):
    def norm(p, x):
        centred = x - x.mean(-1, keepdims=True)
        return centred * jax.lax.rsqrt(jnp.square(centred).mean(-1, keepdims=True) + 1e-5) * p["scale"] + p["shift"]

    batch, length, width = x.shape
    for layer in p["layers"]:
        q, k, v = (dense(layer[name], x).reshape(batch, length, HEADS, width // HEADS) for name in "qkv")
        scores = jnp.einsum("bqhd,bkhd->bhqk", q, k) / np.sqrt(width // HEADS)
        mixed = jnp.einsum("bhqk,bkhd->bqhd", jax.nn.softmax(scores), v).reshape(batch, length, width)
        x = norm(layer["n1"], x + dense(layer["o"], mixed))
        x = norm(layer["n2"], x + dense(layer["down"], jax.nn.relu(dense(layer["up"], x))))
    return dense(p["out"], x.mean(1))


def lstm_weights():
    def layer(inputs):
        recurrent = dense_weights(256, 1024)
        return {"input": dense_weights(inputs, 1024), "recurrent": recurrent["w"]}

    return {"layers": [layer(128), layer(256)], "out": dense_weights(256, 10)}


def lstm(p, x):
    def step(weights, state, z):
        h, c = state
        i, f, g, o = jnp.split(z + h @ weights, 4, -1)
        c = jax.nn.sigmoid(f) * c + jax.nn.sigmoid(i) * jnp.tanh(g)
        h = jax.nn.sigmoid(o) * jnp.tanh(c)
        return (h, c), h

    x = x.swapaxes(0, 1)
    for layer in p["layers"]:
        zero = jnp.zeros((x.shape[1], 256), x.dtype)
        x = jax.lax.scan(partial(step, layer["recurrent"]), (zero, zero), dense(layer["input"], x))[1]
    return dense(p["out"], x[-1])


def cross_entropy(model, p, x, y):
    logits = model(p, x)
    picked = jnp.take_along_axis(logits, y[:, None], -1)[:, 0]
    return (jax.nn.logsumexp(logits, -1) - picked).mean()


def resnet_loss(p, x, y):
    """The loss, and the weights with new running statistics."""
    logits, running = resnet(p, x)
    return cross_entropy(lambda p, x: logits, p, x, y), running


def is_statistic(path):
    return path[-1].key in ("mean", "var")


def squared_error(p, x, y):
    return jnp.square(dense(p, x) - y).mean()


def adam(p, g, state):
    m, v, count = state
    count = count + 1
    m = jax.tree.map(lambda m, g: 0.9 * m + 0.1 * g, m, g)
    v = jax.tree.map(lambda v, g: 0.999 * v + 0.001 * g * g, v, g)
    rate = 1e-3 * jnp.sqrt(1 - 0.999**count) / (1 - 0.9**count)
    p = jax.tree.map(lambda p, m, v: p - rate * m / (jnp.sqrt(v) + 1e-8), p, m, v)
    return p, (m, v, count)


def sgd(p, g, state):
    return jax.tree.map(lambda p, g: p - 0.01 * g, p, g), state


def build():
    """Start weights, loss and update rule of the workload."""
    if workload.name == "linreg":
        return dense_weights(1, 1), squared_error, sgd
    if workload.name == "resnet":
        return resnet_weights(), resnet_loss, adam
    models = {"cnn": (cnn_weights, cnn), "transformer": (transformer_weights, transformer), "lstm": (lstm_weights, lstm)}
    weights, model = models.get(workload.model, (mlp_weights, mlp))
    return weights(), partial(cross_entropy, model), adam


class Trainer:
    def __init__(self):
        weights, loss_of, update = build()
        self.x, self.y = make_data(workload)
        if workload.classes:
            self.y = self.y.astype(np.int32)
        zeros = lambda: jax.tree.map(np.zeros_like, weights)
        self.p = jax.tree.map(jnp.asarray, weights)
        self.state = jax.tree.map(jnp.asarray, (zeros(), zeros(), np.float32(0)) if update is adam else ())

        def train(p, state, x, y):
            if workload.name == "resnet":
                (loss, kept), gradient = jax.value_and_grad(loss_of, has_aux=True)(p, x, y)
                p, state = update(p, gradient, state)
                p = jax.tree_util.tree_map_with_path(lambda path, new, old: old if is_statistic(path) else new, p, kept)
                return p, state, loss
            loss, gradient = jax.value_and_grad(loss_of)(p, x, y)
            p, state = update(p, gradient, state)
            return p, state, loss

        def train_on_slice(p, state, x, y, start, size, length):
            x, y = (jax.lax.dynamic_slice_in_dim(values, start, size) for values in (x, y))
            return train(p, state, x if length is None else x[:, :length], y)

        self.step = jax.jit(train, donate_argnums=(0, 1))
        self.step_on_slice = jax.jit(train_on_slice, donate_argnums=(0, 1), static_argnums=(5, 6))
        self.shuffle = jax.jit(lambda x, y, order: (x[order], y[order]))
        if arguments.mode == "resident":
            self.x, self.y = jnp.asarray(self.x), jnp.asarray(self.y)

    def epoch(self, order, after_first):
        resident = arguments.mode == "resident"
        x, y = self.shuffle(self.x, self.y, order.astype(np.int32)) if resident else (self.x[order], self.y[order])
        for start in range(0, workload.rows, workload.batch):
            stop = min(start + workload.batch, workload.rows)
            if resident:
                self.p, self.state, loss = self.step_on_slice(self.p, self.state, x, y, start, stop - start, workload.length(start))
            else:
                self.p, self.state, loss = self.step(self.p, self.state, workload.cut(x, start), y[start:stop])
            if not resident or start == 0:
                float(loss)
            if after_first and start == 0:
                after_first()
        float(loss)
        jax.block_until_ready(self.p)

    def classes(self, x):
        return np.asarray(jax.jit(lambda p, x: cnn(p, x).argmax(1))(self.p, x))


watch = run_epochs(Trainer(), workload, arguments.epochs or workload.epochs, np.random.default_rng(2).permutation)
print_result(watch, workload, arguments.threads, "jax" if arguments.mode == "loop" else "jax-resident", jax.__version__)
