"""Loss values, their gradients and metric results from Keras 3 in float64 -> losses.json.

Run: bench/.venv/bin/python tests/references/generate_losses.py
"""

import os

os.environ.update(KERAS_BACKEND="tensorflow", TF_CPP_MIN_LOG_LEVEL="3", CUDA_VISIBLE_DEVICES="-1")

import keras
import numpy as np
import tensorflow as tf

from reference_io import number, tensor, write

keras.config.set_floatx("float64")
rng = np.random.default_rng(7)

ROWS, CLASSES = 5, 4
targets = rng.normal(size=(ROWS, CLASSES))
predictions = targets + rng.normal(size=(ROWS, CLASSES))
logits = 2 * rng.normal(size=(ROWS, CLASSES))
probabilities = np.exp(logits) / np.exp(logits).sum(-1, keepdims=True)
sigmoids = 1 / (1 + np.exp(-logits))
classes = rng.integers(0, CLASSES, ROWS)
one_hot = np.eye(CLASSES)[classes]
bits = (rng.random((ROWS, CLASSES)) < 0.5).astype(np.float64)
distribution = rng.dirichlet(np.ones(CLASSES), ROWS)
counts = rng.poisson(2.0, (ROWS, CLASSES)).astype(np.float64)
rates = rng.uniform(0.2, 4.0, (ROWS, CLASSES))
row_weights = rng.uniform(0.1, 2.0, ROWS)
row_weights[2] = 0.0

# name -> Keras class and its (config, y_true, y_pred) variants.
LOSSES = {
    "mse": (keras.losses.MeanSquaredError, [({}, targets, predictions)]),
    "mae": (keras.losses.MeanAbsoluteError, [({}, targets, predictions)]),
    "mape": (keras.losses.MeanAbsolutePercentageError, [({}, targets, predictions)]),
    "huber": (keras.losses.Huber, [({}, targets, predictions), ({"delta": 0.3}, targets, predictions)]),
    "log_cosh": (keras.losses.LogCosh, [({}, targets, predictions), ({}, 60 * targets, predictions)]),
    "binary_crossentropy": (
        keras.losses.BinaryCrossentropy,
        [
            ({}, bits, sigmoids),
            ({"from_logits": True}, bits, logits),
            ({"label_smoothing": 0.1}, bits, sigmoids),
            ({"from_logits": True, "label_smoothing": 0.2}, bits, logits),
            ({}, bits, 1 - bits),
        ],
    ),
    "categorical_crossentropy": (
        keras.losses.CategoricalCrossentropy,
        [
            ({}, one_hot, probabilities),
            ({"from_logits": True}, one_hot, logits),
            ({"label_smoothing": 0.1}, one_hot, probabilities),
            ({"from_logits": True, "label_smoothing": 0.2}, one_hot, logits),
            ({}, one_hot, 3 * probabilities),
        ],
    ),
    "sparse_categorical_crossentropy": (
        keras.losses.SparseCategoricalCrossentropy,
        [({}, classes, probabilities), ({"from_logits": True}, classes, logits)],
    ),
    "kl_divergence": (keras.losses.KLDivergence, [({}, distribution, probabilities), ({}, one_hot, probabilities)]),
    "hinge": (keras.losses.Hinge, [({}, 2 * bits - 1, predictions), ({}, bits, predictions)]),
    "squared_hinge": (keras.losses.SquaredHinge, [({}, 2 * bits - 1, predictions), ({}, bits, predictions)]),
    "categorical_hinge": (keras.losses.CategoricalHinge, [({}, one_hot, predictions)]),
    "cosine_similarity": (
        keras.losses.CosineSimilarity,
        [({}, targets, predictions), ({"axis": 0}, targets, predictions)],
    ),
    "poisson": (keras.losses.Poisson, [({}, counts, rates)]),
    "binary_focal_crossentropy": (
        keras.losses.BinaryFocalCrossentropy,
        [
            ({}, bits, sigmoids),
            ({"from_logits": True, "gamma": 1.5}, bits, logits),
            ({"apply_class_balancing": True, "alpha": 0.4, "label_smoothing": 0.1}, bits, sigmoids),
        ],
    ),
    "categorical_focal_crossentropy": (
        keras.losses.CategoricalFocalCrossentropy,
        [
            ({}, one_hot, probabilities),
            ({"from_logits": True, "gamma": 1.5}, one_hot, logits),
            ({"alpha": [0.125, 0.25, 0.375, 0.875], "label_smoothing": 0.1}, one_hot, 3 * probabilities),
        ],
    ),
    "dice": (keras.losses.Dice, [({"axis": [1]}, bits, sigmoids), ({}, bits, sigmoids)]),
    "tversky": (
        keras.losses.Tversky,
        [({"axis": [1]}, bits, sigmoids), ({"alpha": 0.2, "beta": 0.7}, bits, sigmoids)],
    ),
}
REDUCTIONS = ("sum_over_batch_size", "sum", "mean", "mean_with_sample_weight", "none")


def loss_case(name, make, config, y_true, y_pred, reduction, weights):
    loss = make(reduction=None if reduction == "none" else reduction, **config)
    variable = tf.Variable(y_pred)
    with tf.GradientTape() as tape:
        value = loss(y_true, variable, sample_weight=weights)
        total = tf.reduce_sum(value)
    return {
        "loss": name,
        "config": config,
        "reduction": reduction,
        "y_true": tensor(y_true),
        "y_pred": tensor(y_pred),
        "sample_weight": None if weights is None else tensor(weights),
        "value": tensor(value.numpy()),
        "gradient": tensor(tape.gradient(total, variable).numpy()),
    }


def loss_cases():
    for name, (make, variants) in LOSSES.items():
        for index, (config, y_true, y_pred) in enumerate(variants):
            # The reductions are one shared mechanism: try them all on the first variant, the default on the others.
            for reduction in REDUCTIONS if index == 0 else REDUCTIONS[:1]:
                for weights in (None, row_weights):
                    if weights is not None and config.get("axis") == 0:
                        continue
                    yield loss_case(name, make, config, y_true, y_pred, reduction, weights)


def metric_case(name, metric, config, updates):
    recorded = []
    for y_true, y_pred, weights in updates:
        metric.update_state(y_true, y_pred, sample_weight=weights)
        recorded.append(
            {
                "y_true": tensor(y_true),
                "y_pred": tensor(y_pred),
                "sample_weight": None if weights is None else tensor(weights),
                "result": [number(value) for value in np.ravel(metric.result())],
            }
        )
    return {"metric": name, "config": config, "updates": recorded}


def metric_updates(kind, weighted):
    """Three batches of different size; `kind` says what y_true and y_pred look like."""
    for rows in (12, 8, 5):
        labels = rng.integers(0, CLASSES, rows)
        scores = rng.normal(size=(rows, CLASSES)) + np.eye(CLASSES)[labels]
        shares = np.exp(scores) / np.exp(scores).sum(-1, keepdims=True)
        flags = rng.integers(0, 2, rows)
        weights = rng.uniform(0.2, 2.0, rows) if weighted else None
        y_true, y_pred = {
            "sparse": (labels, shares),
            "one_hot": (np.eye(CLASSES)[labels], shares),
            "binary": (flags[:, None], 0.3 * flags[:, None] + 0.7 * rng.random((rows, 1))),
            "real": (scores, scores + rng.normal(size=scores.shape)),
            "exact": (labels, np.where(rng.random(rows) < 0.5, labels, 0).astype(np.float64)),
        }[kind]
        yield y_true, y_pred.astype(keras.config.floatx()), weights


METRICS = [
    ("accuracy", keras.metrics.Accuracy, "exact", {}),
    ("binary_accuracy", keras.metrics.BinaryAccuracy, "binary", {}),
    ("binary_accuracy", keras.metrics.BinaryAccuracy, "binary", {"threshold": 0.3}),
    ("categorical_accuracy", keras.metrics.CategoricalAccuracy, "one_hot", {}),
    ("sparse_categorical_accuracy", keras.metrics.SparseCategoricalAccuracy, "sparse", {}),
    ("top_k_categorical_accuracy", keras.metrics.TopKCategoricalAccuracy, "one_hot", {"k": 2}),
    ("sparse_top_k_categorical_accuracy", keras.metrics.SparseTopKCategoricalAccuracy, "sparse", {"k": 3}),
    ("precision", keras.metrics.Precision, "binary", {}),
    ("precision", keras.metrics.Precision, "binary", {"thresholds": 0.4}),
    ("recall", keras.metrics.Recall, "binary", {}),
    ("recall", keras.metrics.Recall, "binary", {"thresholds": 0.6}),
    ("auc", keras.metrics.AUC, "binary", {}),
    ("auc", keras.metrics.AUC, "binary", {"num_thresholds": 20}),
    ("auc", keras.metrics.AUC, "binary", {"curve": "PR"}),
    ("mse", keras.metrics.MeanSquaredError, "real", {}),
    ("mae", keras.metrics.MeanAbsoluteError, "real", {}),
]

# Several decisions of a row, one column of them, several thresholds.
DECISIONS = [{"top_k": 2}, {"class_id": 1}, {"top_k": 2, "class_id": 3}, {"thresholds": [0.2, 0.6]}, {"thresholds": 0.3, "class_id": 0}]


def metric_cases():
    for name, make, kind, config in METRICS:
        for weighted in (False, True):
            # TensorFlow's in_top_k knows float32 only.
            keras.config.set_floatx("float32" if "top_k" in name else "float64")
            yield metric_case(name, make(**config), config, metric_updates(kind, weighted))
    for threshold in (0.5, 0.3):
        metric = keras.metrics.F1Score(threshold=threshold, average="micro")
        updates = [(y.astype(np.float64), p, w) for y, p, w in metric_updates("binary", False)]
        yield metric_case("f1", metric, {"threshold": threshold, "average": "micro"}, updates)
    for average in ("macro", "micro", "weighted"):
        metric = keras.metrics.F1Score(average=average)
        yield metric_case("f1", metric, {"average": average}, metric_updates("one_hot", average == "macro"))
    mean = keras.metrics.Mean()
    updates = []
    for values, weights in ((rng.normal(size=3), None), (rng.normal(size=5), rng.uniform(0, 2, 5))):
        mean.update_state(values, sample_weight=weights)
        weight = None if weights is None else tensor(weights)
        updates.append({"values": tensor(values), "sample_weight": weight, "result": [number(mean.result().numpy())]})
    yield {"metric": "mean", "config": {}, "updates": updates}
    for config in DECISIONS:
        for name, make in (("precision", keras.metrics.Precision), ("recall", keras.metrics.Recall)):
            keras.config.set_floatx("float32")
            yield metric_case(name, make(**config), config, metric_updates("one_hot", "thresholds" in config))
    keras.config.set_floatx("float32")
    weights = [0.5, 2.0, 1.0, 0.1]
    for kind, config in [
        ("binary", {"from_logits": True}),
        ("binary", {"summation_method": "majoring"}),
        ("binary", {"curve": "PR", "summation_method": "minoring"}),
        ("binary", {"thresholds": [0.9, 0.2, 0.5]}),
        ("one_hot", {"multi_label": True}),
        ("one_hot", {"multi_label": True, "num_labels": CLASSES, "label_weights": weights, "curve": "PR"}),
        ("one_hot", {"label_weights": weights}),
    ]:
        for weighted in (False, True):
            updates = metric_updates(kind, weighted)
            if config.get("from_logits"):
                updates = [(y, 4 * p - 2, w) for y, p, w in updates]
            yield metric_case("auc", keras.metrics.AUC(**config), config, updates)


def masked_cases():
    """Sequences of which the prediction's mask, ignored labels or both leave steps out."""
    keras.config.set_floatx("float64")
    steps = (2, 4)
    scores, labels = rng.normal(size=(*steps, 3)), rng.integers(0, 3, steps)
    labels[0, 1] = labels[1, 3] = -1
    mask = np.array([[1, 1, 1, 0], [1, 1, 0, 0]], bool)
    weights = rng.uniform(0.1, 2.0, steps)
    for reduction in REDUCTIONS:
        for masked, ignore, weight in [(True, None, None), (True, -1, None), (True, -1, weights), (False, -1, weights)]:
            y_true = labels if ignore is not None else np.maximum(labels, 0)
            loss = keras.losses.SparseCategoricalCrossentropy(
                from_logits=True, ignore_class=ignore, reduction=None if reduction == "none" else reduction
            )
            y_pred = keras.ops.convert_to_tensor(scores)
            if masked:
                y_pred._keras_mask = keras.ops.convert_to_tensor(mask)
            yield {
                "loss": "sparse_categorical_crossentropy",
                "config": {"from_logits": True} | ({} if ignore is None else {"ignore_class": ignore}),
                "reduction": reduction,
                "y_true": tensor(y_true),
                "y_pred": tensor(scores),
                "mask": tensor(mask) if masked else None,
                "sample_weight": None if weight is None else tensor(weight),
                "value": tensor(keras.ops.convert_to_numpy(loss(y_true, y_pred, sample_weight=weight))),
            }


def gain_cases():
    keras.config.set_floatx("float32")
    for kind, config in [
        ("binary", {"curve": "PRGAIN"}),
        ("binary", {"curve": "PRGAIN", "summation_method": "majoring"}),
        ("one_hot", {"curve": "PRGAIN", "multi_label": True}),
    ]:
        for weighted in (False, True):
            yield metric_case("auc", keras.metrics.AUC(**config), config, metric_updates(kind, weighted))


def confusion_cases():
    """Counts, operating points, overlaps of classes, R2."""
    keras.config.set_floatx("float32")
    for name, make in (
        ("true_positives", keras.metrics.TruePositives),
        ("false_positives", keras.metrics.FalsePositives),
        ("true_negatives", keras.metrics.TrueNegatives),
        ("false_negatives", keras.metrics.FalseNegatives),
    ):
        for config in ({}, {"thresholds": [0.2, 0.6]}):
            yield metric_case(name, make(**config), config, metric_updates("binary", bool(config)))
    for name, make, value in (
        ("sensitivity_at_specificity", keras.metrics.SensitivityAtSpecificity, 0.4),
        ("specificity_at_sensitivity", keras.metrics.SpecificityAtSensitivity, 0.6),
        ("precision_at_recall", keras.metrics.PrecisionAtRecall, 0.7),
        ("recall_at_precision", keras.metrics.RecallAtPrecision, 0.55),
    ):
        for kind, config in (("binary", {}), ("binary", {"num_thresholds": 11}), ("one_hot", {"class_id": 2})):
            updates = metric_updates(kind, bool(config))
            yield metric_case(name, make(value, **config), {"value": value, **config}, updates)
    for weighted in (False, True):
        sparse, real = list(metric_updates("sparse", weighted)), list(metric_updates("one_hot", weighted))
        decided = [(y, np.argmax(p, -1), w) for y, p, w in sparse]
        config = {"num_classes": CLASSES, "target_class_ids": [0, 2]}
        iou = {"dtype": "float32"}
        yield metric_case("io_u", keras.metrics.IoU(**config, **iou), config, decided)
        config = {"num_classes": CLASSES, "ignore_class": 1}
        yield metric_case("mean_io_u", keras.metrics.MeanIoU(**config, **iou), config, decided)
        config = {"num_classes": CLASSES + 1, "sparse_y_pred": False}
        yield metric_case("mean_io_u", keras.metrics.MeanIoU(**config, **iou), config, sparse)
        config = {"num_classes": CLASSES, "target_class_ids": [1, 3], "sparse_y_pred": False}
        yield metric_case("one_hot_io_u", keras.metrics.OneHotIoU(**config, **iou), config, real)
        config = {"num_classes": CLASSES, "sparse_y_pred": False}
        yield metric_case("one_hot_mean_io_u", keras.metrics.OneHotMeanIoU(**config, **iou), config, real)
        config = {"target_class_ids": [1], "threshold": 0.3}
        yield metric_case("binary_io_u", keras.metrics.BinaryIoU(**config, **iou), config, metric_updates("binary", weighted))
    for config in (
        {},
        {"class_aggregation": "variance_weighted_average"},
        {"class_aggregation": None},
        {"num_regressors": 2},
    ):
        yield metric_case("r2_score", keras.metrics.R2Score(**config), config, metric_updates("real", bool(config)))


if __name__ == "__main__":
    losses, metrics, masked = list(loss_cases()), list(metric_cases()), list(masked_cases())
    # Last, so that the numbers drawn before stay what they are.
    metrics += gain_cases()
    metrics += confusion_cases()
    write("losses.json", {"losses": losses, "metrics": metrics, "masked": masked})
