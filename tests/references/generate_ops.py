"""Forward results of every op from NumPy (PyTorch for erf, GELU and bfloat16) -> ops.json.

Run: bench/.venv/bin/python tests/references/generate_ops.py. README.md says what each attribute means.
"""

import numpy as np
import torch

from reference_io import tensor, write

rng = np.random.default_rng(20240501)
nan, inf = np.nan, np.inf
cases = []


def case(op, inputs, outputs, **attrs):
    """Adds one case; a single output need not be a list."""
    if not isinstance(outputs, (list, tuple)):
        outputs = [outputs]
    cases.append(
        {
            "op": op,
            "inputs": [tensor(value) for value in inputs],
            "attrs": attrs,
            "outputs": [value if isinstance(value, dict) else tensor(value) for value in outputs],
        }
    )


def normal(*shape):
    return rng.normal(size=shape)


def positive(*shape):
    return rng.uniform(0.1, 3.0, size=shape)


def f64(*values):
    return np.array(values, dtype=np.float64)


def elementwise_arithmetic():
    functions = {
        "add": np.add,
        "sub": np.subtract,
        "mul": np.multiply,
        "div": np.divide,
        "minimum": np.minimum,
        "maximum": np.maximum,
    }
    for op, function in functions.items():
        for left, right in [
            (normal(2, 3), normal(2, 3)),
            (normal(2, 1, 4), normal(3, 1)),
            (normal(3), np.float64(2.5)),
            (normal(0, 3), normal(3)),
        ]:
            case(op, [left, right], function(left, right))
    with np.errstate(all="ignore"):
        top, bottom = f64(1, -1, 0, inf, nan), f64(0, 0, 0, inf, 1)
        case("div", [top, bottom], top / bottom)
        left, right = f64(1, nan, -inf, 0.0), f64(nan, 2, 3, inf)
        case("minimum", [left, right], np.minimum(left, right))
        case("maximum", [left, right], np.maximum(left, right))
    left, right = np.array([[7, -7], [9, 0]]), np.array([3, -2])
    for op in ("add", "sub", "mul", "minimum", "maximum"):
        case(op, [left, right], functions[op](left, right))
    left, right = np.array([250, 3, 17], np.uint8), np.array([10, 5, 16], np.uint8)
    for op in ("add", "sub", "mul", "maximum"):
        case(op, [left, right], functions[op](left, right))
    case("add", [left.astype(np.int32), right.astype(np.int32)], left.astype(np.int32) + right.astype(np.int32))

    for op, function in (("floor_div", np.floor_divide), ("mod", np.mod)):
        left, right = f64(7, -7, 7, -7, 5.5), f64(2, 2, -2, -2, 0.75)
        case(op, [left, right], function(left, right))
        for dtype in (np.int32, np.int64):
            left, right = np.array([[7, -7, 7, -7]], dtype), np.array([[3], [-3]], dtype)
            case(op, [left, right], function(left, right))
    base, exponent = positive(2, 3), normal(3)
    case("pow", [base, exponent], np.power(base, exponent))
    base, exponent = f64(-2, 0, 0, 4, -8), f64(3, 0, 2, 0.5, 2)
    case("pow", [base, exponent], np.power(base, exponent))
    case("pow", [normal(0), f64(2)], np.zeros(0))


def elementwise_math():
    anywhere = {
        "neg": np.negative,
        "abs": np.abs,
        "sign": np.sign,
        "floor": np.floor,
        "ceil": np.ceil,
        "round": np.round,
        "square": np.square,
        "exp": np.exp,
        "expm1": np.expm1,
        "sin": np.sin,
        "cos": np.cos,
        "tanh": np.tanh,
    }
    for op, function in anywhere.items():
        x = 2 * normal(2, 3, 2)
        case(op, [x], function(x))
        case(op, [np.float64(-0.75)], function(np.float64(-0.75)))
        case(op, [normal(2, 0)], np.zeros((2, 0)))
    x = f64(-2.5, -1.5, -0.5, 0.5, 1.5, 2.5, 1e-3)
    for op in ("round", "floor", "ceil", "sign"):
        case(op, [x], anywhere[op](x))
    x = f64(-inf, -800, 0, 1e-10, 30, inf, nan)
    with np.errstate(all="ignore"):
        for op in ("exp", "expm1", "tanh", "sign", "abs"):
            case(op, [x], anywhere[op](x))
    x = np.array([[-3, 0, 4]])
    for op in ("neg", "abs", "sign", "square"):
        case(op, [x], anywhere[op](x))

    def rsqrt(x):
        return 1 / np.sqrt(x)

    with np.errstate(all="ignore"):
        for op, function in (("sqrt", np.sqrt), ("rsqrt", rsqrt), ("log", np.log), ("log1p", np.log1p)):
            for x in (positive(2, 3), f64(0, 1, 1e-12, 1e12, inf, -2, nan), positive(0)):
                case(op, [x], function(x))


def activations():
    def sigmoid(x):
        return np.where(x >= 0, 1 / (1 + np.exp(-np.abs(x))), np.exp(-np.abs(x)) / (1 + np.exp(-np.abs(x))))

    def elu(x, alpha=1.0):
        return np.where(x > 0, x, alpha * np.expm1(np.minimum(x, 0)))

    selu_alpha, selu_scale = 1.6732632423543772, 1.0507009873554805
    wide = f64(-900, -40, -1, -1e-9, 0, 1e-9, 1, 40, 900)
    for x in (2 * normal(2, 5), wide, np.float64(0.3), normal(0, 2)):
        case("sigmoid", [x], sigmoid(x))
        case("relu", [x], np.maximum(x, 0))
        case("leaky_relu", [x], np.where(x > 0, x, 0.2 * x), alpha=0.2)
        case("elu", [x], elu(x), alpha=1.0)
        case("selu", [x], selu_scale * elu(x, selu_alpha))
        case("silu", [x], x * sigmoid(x))
        case("softplus", [x], np.logaddexp(x, 0))
        from_torch = torch.from_numpy(np.asarray(x))
        case("erf", [x], torch.erf(from_torch).numpy())
        for approximate in (False, True):
            expected = torch.nn.functional.gelu(from_torch, approximate="tanh" if approximate else "none")
            case("gelu", [x], expected.numpy(), approximate=approximate)
    case("elu", [wide], elu(wide, 0.5), alpha=0.5)
    case("relu", [np.array([-3, 0, 5])], np.array([0, 0, 5]))


def choices_and_comparisons():
    x = 3 * normal(3, 3)
    case("clip", [x], np.clip(x, -1.0, 2.0), min=-1.0, max=2.0)
    case("clip", [f64(-inf, nan, inf)], np.clip(f64(-inf, nan, inf), -1.0, 1.0), min=-1.0, max=1.0)
    case("clip", [np.array([-5, 0, 9])], np.array([-1, 0, 4]), min=-1, max=4)
    condition = rng.random((2, 1, 3)) < 0.5
    left, right = normal(2, 3), np.float64(7)
    case("where", [condition, left, right], np.where(condition, left, right))
    condition, left, right = np.array([True, False]), np.array([1, 2]), np.array([3, 4])
    case("where", [condition, left, right], np.where(condition, left, right))
    case("where", [np.zeros((0,), bool), normal(0), normal(1)], np.zeros(0))

    comparisons = {
        "equal": np.equal,
        "not_equal": np.not_equal,
        "less": np.less,
        "less_equal": np.less_equal,
        "greater": np.greater,
        "greater_equal": np.greater_equal,
    }
    left, right = f64(1, 2, 3, nan, inf, -0.0), f64(1, 3, 2, nan, inf, 0.0)
    grid = np.array([[1], [2]])
    for op, function in comparisons.items():
        case(op, [left, right], function(left, right))
        case(op, [grid, np.array([1, 2, 3])], function(grid, np.array([1, 2, 3])))
        case(op, [np.array([1, 200], np.uint8), np.array([200, 1], np.uint8)], function([1, 200], [200, 1]))
    left, right = np.array([[True], [False]]), np.array([True, False])
    for op in ("logical_and", "logical_or", "logical_xor"):
        case(op, [left, right], getattr(np, op)(left, right))
        case(op, [np.zeros(0, bool), right[:1]], np.zeros(0, bool))
    case("logical_not", [left], ~left)
    case("logical_not", [np.bool_(True)], np.bool_(False))


def casts():
    x = f64(-2.7, -0.5, 0, 0.5, 2.7, 100.9)
    for dtype in ("int32", "int64", "float32", "bool"):
        case("cast", [x], x.astype(dtype), dtype=dtype)
    case("cast", [np.array([True, False])], f64(1, 0), dtype="float64")
    case("cast", [np.array([0, 5, 255, 256, 300, -1])], np.array([0, 5, 255, 0, 44, 255], np.uint8), dtype="uint8")
    case("cast", [np.array([0, 7, 255], np.uint8)], np.array([0, 7, 255], np.int32), dtype="int32")
    case("cast", [np.array([0, 7, -2])], np.array([False, True, True]), dtype="bool")
    # Storage types round to nearest even; the values below sit on and around the halfway points and at the ends of range.
    x = np.array([1, 1 + 2**-8, 1 + 3 * 2**-8, 1.0001, -3.14159265, 65504, 65519, 65520, 1e-7, 6e-8, 1e-40, inf, nan])
    x = x.astype(np.float32)
    with np.errstate(over="ignore"):
        case("cast", [x], x.astype(np.float16), dtype="float16")
    rounded = torch.from_numpy(x).to(torch.bfloat16).to(torch.float32).numpy()
    case("cast", [x], tensor(rounded, "bfloat16"), dtype="bfloat16")


def reductions():
    layouts = [((2, 3, 4), [1], False), ((2, 3, 4), [0, 2], True), ((2, 3, 4), [0, 1, 2], False), ((5,), [-1], True), ((), [], False)]
    for shape, axes, keepdims in layouts:
        x = normal(*shape)
        how = {"axis": tuple(axes), "keepdims": keepdims}
        attrs = {"axes": axes, "keepdims": keepdims}
        for op in ("sum", "mean", "prod", "max", "min", "var", "std"):
            case(op, [x], getattr(np, op)(x, **how), **attrs)
        top = x.max(axis=tuple(axes), keepdims=True)
        log_sum = np.log(np.exp(x - top).sum(axis=tuple(axes), keepdims=True)) + top
        case("logsumexp", [x], log_sum if keepdims else np.squeeze(log_sum, tuple(axes)), **attrs)
        case("norm", [x], np.sqrt(np.sum(x * x, **how)), **attrs)
        flags = rng.random(shape) < 0.7
        case("any", [flags], np.any(flags, **how), **attrs)
        case("all", [flags], np.all(flags, **how), **attrs)

    spread = np.array([[1000.0, 1000.5], [-1000, -inf], [-inf, -inf]])
    case("logsumexp", [spread], f64(np.log1p(np.exp(-0.5)) + 1000.5, -1000, -inf), axes=[1], keepdims=False)
    for op in ("max", "min", "sum", "mean"):
        x = np.array([[1, nan, 3], [4, 5, -inf]])
        case(op, [x], getattr(np, op)(x, axis=1), axes=[1], keepdims=False)
    integers = np.array([[3, -1, 4], [1, 5, -9]])
    for op in ("sum", "prod", "max", "min"):
        case(op, [integers], getattr(np, op)(integers, axis=0), axes=[0], keepdims=False)
    bytes_ = np.array([[3, 250], [9, 0]], np.uint8)
    case("max", [bytes_], bytes_.max(axis=1), axes=[1], keepdims=False)
    case("min", [bytes_], bytes_.min(axis=1), axes=[1], keepdims=False)
    empty = np.zeros((2, 0, 3))
    case("sum", [empty], empty.sum(axis=1), axes=[1], keepdims=False)
    case("prod", [empty], empty.prod(axis=1), axes=[1], keepdims=False)
    case("max", [empty], np.zeros((2, 0)), axes=[2], keepdims=False)
    case("any", [empty.astype(bool)], np.zeros((2, 3), bool), axes=[1], keepdims=False)
    case("all", [empty.astype(bool)], np.ones((2, 3), bool), axes=[1], keepdims=False)
    long = np.round(rng.normal(size=4099) + 100, 3)
    case("sum", [long], long.sum(), axes=[0], keepdims=False)
    case("var", [long], long.var(), axes=[0], keepdims=False)

    for op, function in (("argmax", np.argmax), ("argmin", np.argmin)):
        x = normal(2, 3, 4)
        for axis in (0, 1, -1):
            case(op, [x], function(x, axis=axis), axis=axis, keepdims=False)
        case(op, [x], function(x, axis=1, keepdims=True), axis=1, keepdims=True)
        ties = np.array([[3, 1, 3, 1]])
        case(op, [ties], function(ties, axis=1), axis=1, keepdims=False)


def products():
    for left, right in (
        ((3, 4), (4, 5)),
        ((2, 3, 4), (2, 4, 5)),
        ((2, 1, 3, 4), (5, 4, 2)),
        ((3, 4), (6, 4, 2)),
        ((4,), (4, 3)),
        ((2, 4), (4,)),
        ((4,), (4,)),
        ((3, 0), (0, 2)),
        ((0, 4), (4, 2)),
        ((17, 33), (33, 19)),
    ):
        a, b = normal(*left), normal(*right)
        case("matmul", [a, b], np.matmul(a, b), transpose_a=False, transpose_b=False)
    a, b = normal(2, 4, 3), normal(2, 5, 4)
    case("matmul", [a, b], a.swapaxes(-1, -2) @ b.swapaxes(-1, -2), transpose_a=True, transpose_b=True)
    case("matmul", [a, b.swapaxes(-1, -2).copy()], a.swapaxes(-1, -2) @ b.swapaxes(-1, -2), transpose_a=True, transpose_b=False)
    c, d = normal(3, 4), normal(2, 4)
    case("matmul", [c, d], c @ d.T, transpose_a=False, transpose_b=True)

    for equation, *shapes in (
        ("ij,jk->ik", (2, 3), (3, 4)),
        ("bij,bjk->bik", (2, 3, 4), (2, 4, 2)),
        ("bqhd,bkhd->bhqk", (2, 3, 2, 4), (2, 5, 2, 4)),
        ("bhqk,bkhd->bqhd", (2, 2, 3, 5), (2, 5, 2, 4)),
        ("ij->ji", (2, 3)),
        ("ij->i", (2, 3)),
        ("ii->i", (3, 3)),
        ("ii->", (3, 3)),
        ("i,j->ij", (3,), (4,)),
        ("ij,ij->", (2, 3), (2, 3)),
        ("...ij,...jk->...ik", (2, 3, 4), (4, 5)),
        ("ij,jk,kl->il", (2, 3), (3, 4), (4, 2)),
        ("ij,jk", (2, 3), (3, 4)),
    ):
        operands = [normal(*shape) for shape in shapes]
        case("einsum", operands, np.einsum(equation, *operands), equation=equation)


def shapes():
    x = normal(2, 3, 4)
    case("reshape", [x], x.reshape(4, 6), shape=[4, 6])
    case("reshape", [x], x.reshape(2, -1), shape=[2, -1])
    case("reshape", [np.float64(3)], f64(3).reshape(1, 1), shape=[1, 1])
    case("reshape", [np.zeros((0, 3))], np.zeros((3, 0)), shape=[3, 0])
    case("transpose", [x], x.transpose(2, 0, 1), perm=[2, 0, 1])
    case("transpose", [x], x.transpose(0, 2, 1), perm=[0, 2, 1])
    matrix = np.arange(6, dtype=np.int32).reshape(2, 3)
    case("transpose", [matrix], matrix.T, perm=[1, 0])
    thin = normal(1, 2, 1, 3)
    case("squeeze", [thin], np.squeeze(thin, 2), axes=[2])
    case("squeeze", [thin], np.squeeze(thin), axes=[0, 2])
    for axis in (0, 1, -1):
        case("expand_dims", [matrix], np.expand_dims(matrix, axis), axis=axis)
    case("broadcast_to", [thin[0]], np.broadcast_to(thin[0], (2, 5, 3)), shape=[2, 5, 3])
    case("broadcast_to", [np.float64(2)], np.full((2, 2), 2.0), shape=[2, 2])
    case("tile", [matrix], np.tile(matrix, (2, 2)), multiples=[2, 2])
    case("tile", [x], np.tile(x, (1, 2, 1)), multiples=[1, 2, 1])
    case("repeat", [matrix], np.repeat(matrix, 2, axis=0), repeats=2, axis=0)
    case("repeat", [x], np.repeat(x, 3, axis=-1), repeats=3, axis=-1)
    case("flip", [x], np.flip(x, (0, 2)), axes=[0, 2])
    case("flip", [matrix], np.flip(matrix, -1), axes=[-1])
    case("roll", [x], np.roll(x, (1, -2), (0, 2)), shifts=[1, -2], axes=[0, 2])
    case("roll", [matrix], np.roll(matrix, 4, 1), shifts=[4], axes=[1])
    for k in (0, 1, -1):
        case("tril", [x], np.tril(x, k), k=k)
        case("triu", [x], np.triu(x, k), k=k)

    parts = [normal(2, 3), normal(2, 1), normal(2, 0)]
    case("concat", parts, np.concatenate(parts, 1), axis=1)
    parts = [matrix, matrix + 10, matrix[:1]]
    case("concat", parts, np.concatenate(parts, 0), axis=0)
    parts = [normal(2, 3) for _ in range(3)]
    for axis in (0, 1, -1):
        case("stack", parts, np.stack(parts, axis), axis=axis)
    case("stack", [np.float64(1), np.float64(2)], f64(1, 2), axis=0)
    case("split", [x], np.split(x, 2, 2), axis=2, sections=2)
    long = normal(6, 2)
    case("split", [long], np.split(long, [1, 4], 0), axis=0, sizes=[1, 3, 2])

    grid = normal(5, 6)
    case("slice", [grid], grid[1:4, 2:6], begin=[1, 2], end=[4, 6], steps=[1, 1])
    case("slice", [grid], grid[0:5:2, 1:6:3], begin=[0, 1], end=[5, 6], steps=[2, 3])
    case("slice", [grid], grid[-4:-1, 0:6], begin=[-4, 0], end=[-1, 6], steps=[1, 1])
    case("slice", [grid], grid[4:0:-2, 5:1:-1], begin=[4, 5], end=[0, 1], steps=[-2, -1])
    case("slice", [grid], grid[2:2, 0:6], begin=[2, 0], end=[2, 6], steps=[1, 1])
    case("slice", [grid], grid[3:99, 0:6], begin=[3, 0], end=[99, 6], steps=[1, 1])
    case("pad", [grid[:2, :2]], np.pad(grid[:2, :2], ((1, 2), (0, 1))), paddings=[[1, 2], [0, 1]], value=0.0)
    case("pad", [matrix], np.pad(matrix, ((0, 0), (2, 1)), constant_values=-7), paddings=[[0, 0], [2, 1]], value=-7)
    case("pad", [np.zeros((0, 2))], np.full((2, 2), 1.5), paddings=[[1, 1], [0, 0]], value=1.5)


def indexing():
    table = normal(5, 3)
    rows = np.array([[0, 4], [2, 2]])
    case("gather", [table, rows], table[rows], axis=0)
    case("gather", [table, np.array([2, 0], np.int32)], table[:, [2, 0]], axis=1)
    case("gather", [table, np.array(3)], table[3], axis=0)
    case("gather", [table, np.zeros(0, np.int64)], table[:0], axis=0)
    case("gather", [np.array([[5, 6], [7, 8]]), np.array([1, 1, 0])], np.array([[6, 6, 5], [8, 8, 7]]), axis=-1)
    case("take", [table, np.array([[0, 14], [7, 7]])], table.ravel()[[[0, 14], [7, 7]]])
    case("take", [table, np.array([1])], table.ravel()[[1]])

    def scatter_add(base, indices, updates):
        result = base.copy()
        np.add.at(result, indices, updates)
        return result

    base, indices, updates = normal(5, 3), np.array([1, 4, 1]), normal(3, 3)
    case("scatter_add", [base, indices, updates], scatter_add(base, indices, updates), axis=0)
    base, indices, updates = np.zeros(4, np.int64), np.array([3, 3, 0, 3]), np.array([1, 2, 3, 4])
    case("scatter_add", [base, indices, updates], scatter_add(base, indices, updates), axis=0)
    base, indices, updates = normal(4, 2), np.array([[0, 3], [3, 0]]), normal(2, 2, 2)
    case("scatter_add", [base, indices, updates], scatter_add(base, indices, updates), axis=0)
    base, updates = normal(3, 2), np.zeros((0, 2))
    case("scatter_add", [base, np.zeros(0, np.int64), updates], base, axis=0)

    labels = np.array([2, 0, 1])
    case("one_hot", [labels], np.eye(3)[labels], depth=3, dtype="float64")
    labels = np.array([[1, 3], [0, 0]], np.int32)
    case("one_hot", [labels], np.eye(4)[labels], depth=4, dtype="float64")
    case("one_hot", [np.array([-1, 5, 1])], np.array([[0, 0.0], [0, 0], [0, 1]]), depth=2, dtype="float64")


def orders():
    x = normal(3, 4)
    for axis in (0, -1):
        case("cumsum", [x], np.cumsum(x, axis), axis=axis, exclusive=False, reverse=False)
    case("cumsum", [x], np.cumsum(x, 1) - x, axis=1, exclusive=True, reverse=False)
    case("cumsum", [x], np.flip(np.cumsum(np.flip(x, 1), 1), 1), axis=1, exclusive=False, reverse=True)
    case("cumsum", [np.array([1, 2, 3])], np.array([1, 3, 6]), axis=0, exclusive=False, reverse=False)
    case("cumsum", [np.zeros((2, 0))], np.zeros((2, 0)), axis=1, exclusive=False, reverse=False)
    ties = np.array([[3, 1, 2, 3, 1]])
    for values in (x, ties):
        for axis in (0, -1):
            descending = np.argsort(-values, axis, kind="stable")
            ascending = np.argsort(values, axis, kind="stable")
            for order, is_descending in ((ascending, False), (descending, True)):
                attrs = {"axis": axis, "descending": is_descending}
                case("sort", [values], np.take_along_axis(values, order, axis), **attrs)
                case("argsort", [values], order, **attrs)
    case("sort", [f64(2, nan, 1)], f64(1, 2, nan), axis=0, descending=False)
    for values, k in ((x, 2), (ties, 3), (normal(2, 3, 5), 5), (normal(4), 1)):
        order = np.argsort(-values, -1, kind="stable")[..., :k]
        case("top_k", [values], [np.take_along_axis(values, order, -1), order], k=k)


def softmaxes():
    def log_softmax(x, axis):
        shifted = x - x.max(axis=axis, keepdims=True)
        return shifted - np.log(np.exp(shifted).sum(axis=axis, keepdims=True))

    extreme = np.array([[1e4, 1e4 - 1, 0], [-1e4, 0, -5]])
    for x, axis in ((normal(2, 5), -1), (normal(2, 3, 4), 1), (extreme, -1), (normal(1), 0)):
        case("softmax", [x], np.exp(log_softmax(x, axis)), axis=axis)
        case("log_softmax", [x], log_softmax(x, axis), axis=axis)
    masked = np.array([[1.0, -inf, 2.0]])
    case("softmax", [masked], np.exp(log_softmax(masked, -1)), axis=-1)
    for logits in (normal(4, 3), 100 * normal(2, 3), normal(2, 3, 5), extreme):
        labels = rng.random(logits.shape)
        labels /= labels.sum(-1, keepdims=True)
        case("softmax_cross_entropy", [logits, labels], -(labels * log_softmax(logits, -1)).sum(-1))
        classes = rng.integers(0, logits.shape[-1], logits.shape[:-1])
        picked = np.take_along_axis(log_softmax(logits, -1), classes[..., None], -1)[..., 0]
        case("sparse_softmax_cross_entropy", [logits, classes], -picked)


def makers():
    for start, stop, step, dtype in ((0, 5, 1, "int64"), (1, 8, 3, "int32"), (5, 0, -2, "int64"), (0.0, 1.0, 0.25, "float64"), (3, 3, 1, "int64")):
        case("arange", [], np.arange(start, stop, step, dtype), start=start, stop=stop, step=step, dtype=dtype)
    for start, stop, num in ((0.0, 1.0, 5), (-2.0, 3.0, 7), (1.0, 9.0, 1)):
        case("linspace", [], np.linspace(start, stop, num), start=start, stop=stop, num=num, dtype="float64")
    for rows, columns in ((3, 3), (2, 4), (0, 0)):
        case("eye", [], np.eye(rows, columns), rows=rows, columns=columns, dtype="float64")


def main():
    for family in (
        elementwise_arithmetic,
        elementwise_math,
        activations,
        choices_and_comparisons,
        casts,
        reductions,
        products,
        shapes,
        indexing,
        orders,
        softmaxes,
        makers,
    ):
        family()
    write("ops.json", {"cases": cases})


if __name__ == "__main__":
    main()
