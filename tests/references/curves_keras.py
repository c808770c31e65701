"""The Keras part of curves.json, printed as JSON; generate_curves.py runs it."""

import json
import os

os.environ.update(KERAS_BACKEND="tensorflow", TF_CPP_MIN_LOG_LEVEL="3", CUDA_VISIBLE_DEVICES="-1")

import keras
import numpy as np
import tensorflow as tf

from curve_problem import STEPS, batch, require_stable, weights
from reference_io import number, tensor

# Curve name -> optimizer class, arguments.
OPTIMIZERS = {
    "sgd": ("SGD", {"learning_rate": 0.05}),
    "sgd_momentum": ("SGD", {"learning_rate": 0.02, "momentum": 0.9}),
    "sgd_nesterov": ("SGD", {"learning_rate": 0.02, "momentum": 0.9, "nesterov": True}),
    "rmsprop": ("RMSprop", {"learning_rate": 0.005}),
    "rmsprop_centered": ("RMSprop", {"learning_rate": 0.005, "centered": True}),
    "rmsprop_momentum": ("RMSprop", {"learning_rate": 0.002, "momentum": 0.9}),
    "rmsprop_centered_momentum": ("RMSprop", {"learning_rate": 0.002, "momentum": 0.9, "centered": True}),
    "adam": ("Adam", {"learning_rate": 0.01}),
    "adam_amsgrad": ("Adam", {"learning_rate": 0.01, "beta_2": 0.9, "amsgrad": True}),
    "adam_betas": ("Adam", {"learning_rate": 0.01, "beta_1": 0.8, "beta_2": 0.95, "epsilon": 1e-4}),
    "adamw": ("AdamW", {"learning_rate": 0.01}),
    "adamw_strong": ("AdamW", {"learning_rate": 0.01, "weight_decay": 0.5}),
    "adamax": ("Adamax", {"learning_rate": 0.01}),
    "nadam": ("Nadam", {"learning_rate": 0.01}),
    "adagrad": ("Adagrad", {"learning_rate": 0.05}),
    "adadelta": ("Adadelta", {"learning_rate": 1.0}),
    "lion": ("Lion", {"learning_rate": 0.002}),
    "ftrl": ("Ftrl", {"learning_rate": 0.2}),
    "ftrl_regularized": (
        "Ftrl",
        {
            "learning_rate": 0.3,
            "learning_rate_power": -0.4,
            "initial_accumulator_value": 0.2,
            "l1_regularization_strength": 0.01,
            "l2_regularization_strength": 0.02,
            "l2_shrinkage_regularization_strength": 0.005,
            "beta": 0.1,
        },
    ),
    "lamb": ("Lamb", {"learning_rate": 0.02}),
    "lamb_weight_decay": ("Lamb", {"learning_rate": 0.02, "weight_decay": 0.1, "beta_1": 0.8, "beta_2": 0.95}),
    "lamb_accumulation": ("Lamb", {"learning_rate": 0.02, "gradient_accumulation_steps": 3}),
    "adafactor": ("Adafactor", {"learning_rate": 0.05}),
    "adafactor_options": (
        "Adafactor",
        {
            "learning_rate": 0.2,
            "beta_2_decay": -0.6,
            "epsilon_2": 0.05,
            "clip_threshold": 0.5,
            "relative_step": False,
            "weight_decay": 0.05,
        },
    ),
    "muon": ("Muon", {"learning_rate": 0.01}),
    "muon_options": (
        "Muon",
        {
            "learning_rate": 0.02,
            "nesterov": False,
            "ns_steps": 3,
            "momentum": 0.8,
            "rms_rate": None,
            "adam_lr_ratio": 0.5,
            "adam_weight_decay": 0.3,
            "weight_decay": 0.1,
            "exclude_layers": ["nel2$"],
        },
    ),
    "sgd_clipnorm": ("SGD", {"learning_rate": 0.1, "clipnorm": 0.1}),
    "sgd_clipvalue": ("SGD", {"learning_rate": 0.1, "clipvalue": 0.02}),
    "sgd_global_clipnorm": ("SGD", {"learning_rate": 0.1, "global_clipnorm": 0.2}),
    "adam_global_clipnorm": ("Adam", {"learning_rate": 0.01, "global_clipnorm": 0.2}),
    "sgd_weight_decay": ("SGD", {"learning_rate": 0.05, "weight_decay": 0.1}),
    "adam_weight_decay": ("Adam", {"learning_rate": 0.01, "weight_decay": 0.1}),
    "sgd_ema": ("SGD", {"learning_rate": 0.1, "use_ema": True, "ema_momentum": 0.9, "ema_overwrite_frequency": 10}),
    "adam_ema": ("Adam", {"learning_rate": 0.01, "use_ema": True, "ema_momentum": 0.8}),
    "sgd_accumulation": ("SGD", {"learning_rate": 0.1, "momentum": 0.9, "gradient_accumulation_steps": 4}),
    "adam_accumulation": ("Adam", {"learning_rate": 0.02, "gradient_accumulation_steps": 3}),
}

# Loss name -> Keras class, arguments, output activation, target.
LOSSES = {
    "mse": ("MeanSquaredError", {}, "linear", "values"),
    "mae": ("MeanAbsoluteError", {}, "linear", "values"),
    "mape": ("MeanAbsolutePercentageError", {}, "linear", "values_off_zero"),
    "huber": ("Huber", {"delta": 0.5}, "linear", "values"),
    "log_cosh": ("LogCosh", {}, "linear", "values"),
    "binary_crossentropy": ("BinaryCrossentropy", {"label_smoothing": 0.1}, "sigmoid", "bits"),
    "binary_crossentropy_logits": ("BinaryCrossentropy", {"from_logits": True}, "linear", "bits"),
    "categorical_crossentropy": ("CategoricalCrossentropy", {}, "softmax", "one_hot"),
    "categorical_crossentropy_logits": (
        "CategoricalCrossentropy",
        {"from_logits": True, "label_smoothing": 0.1},
        "linear",
        "one_hot",
    ),
    "sparse_categorical_crossentropy": ("SparseCategoricalCrossentropy", {}, "softmax", "labels"),
    "sparse_categorical_crossentropy_logits": (
        "SparseCategoricalCrossentropy",
        {"from_logits": True},
        "linear",
        "labels",
    ),
    "kl_divergence": ("KLDivergence", {}, "softmax", "distribution"),
    "hinge": ("Hinge", {}, "linear", "signs"),
    "squared_hinge": ("SquaredHinge", {}, "linear", "signs"),
    "categorical_hinge": ("CategoricalHinge", {}, "linear", "one_hot"),
    "cosine_similarity": ("CosineSimilarity", {}, "linear", "values"),
    "poisson": ("Poisson", {}, "softplus", "counts"),
}


def keras_losses(optimizer, config, loss_name, dtype):
    """The 100 losses, and the weights after training (of the moving average, where one is kept)."""
    keras.config.set_floatx(dtype)
    make_loss, loss_config, output, target = LOSSES[loss_name]
    loss = getattr(keras.losses, make_loss)(**loss_config)
    updater = getattr(keras.optimizers, optimizer)(**config)
    activation = keras.activations.get(output)
    variables = [keras.Variable(value.astype(dtype), name=name) for name, value in weights.items()]
    kernel1, bias1, kernel2, bias2 = variables
    updater.build(variables)
    losses = []
    for step in range(STEPS):
        with tf.GradientTape() as tape:
            hidden = tf.tanh(batch(step, "x", dtype) @ kernel1.value + bias1)
            value = loss(batch(step, target, dtype), activation(hidden @ kernel2.value + bias2))
        losses.append(value.numpy())
        updater.apply(tape.gradient(value, [variable.value for variable in variables]))
    updater.finalize_variable_values(variables)
    return losses, {variable.name: variable.numpy() for variable in variables}


def keras_curve(name, optimizer, config, loss_name):
    losses, final = keras_losses(optimizer, config, loss_name, "float32")
    require_stable(f"keras {name}", losses, keras_losses(optimizer, config, loss_name, "float64")[0])
    make_loss, loss_config, output, target = LOSSES[loss_name]
    curve = {
        "name": name,
        "source": "keras",
        "optimizer": optimizer,
        "optimizer_config": config,
        "loss": loss_name.removesuffix("_logits"),
        "loss_config": loss_config,
        "output": output,
        "target": target,
        "losses": [number(value) for value in losses],
    }
    if config.get("use_ema"):
        curve["final_weights"] = {key: tensor(value) for key, value in final.items()}
    return curve


def curves():
    for name, (optimizer, config) in OPTIMIZERS.items():
        yield keras_curve(name, optimizer, config, "sparse_categorical_crossentropy_logits")
    for name in LOSSES:
        yield keras_curve(f"loss_{name}", "Adam", {"learning_rate": 0.003}, name)


SCHEDULES = [
    ("ExponentialDecay", {"initial_learning_rate": 0.1, "decay_steps": 30, "decay_rate": 0.5}),
    ("ExponentialDecay", {"initial_learning_rate": 0.1, "decay_steps": 30, "decay_rate": 0.5, "staircase": True}),
    ("PiecewiseConstantDecay", {"boundaries": [50, 120], "values": [0.1, 0.01, 0.002]}),
    ("PolynomialDecay", {"initial_learning_rate": 0.1, "decay_steps": 60, "end_learning_rate": 0.01, "power": 2.0}),
    ("PolynomialDecay", {"initial_learning_rate": 0.1, "decay_steps": 60, "end_learning_rate": 0.01, "cycle": True}),
    ("InverseTimeDecay", {"initial_learning_rate": 0.1, "decay_steps": 20, "decay_rate": 0.5}),
    ("InverseTimeDecay", {"initial_learning_rate": 0.1, "decay_steps": 20, "decay_rate": 0.5, "staircase": True}),
    ("CosineDecay", {"initial_learning_rate": 0.1, "decay_steps": 150, "alpha": 0.1}),
    ("CosineDecay", {"initial_learning_rate": 0.0, "decay_steps": 130, "warmup_target": 0.1, "warmup_steps": 20}),
    ("CosineDecayRestarts", {"initial_learning_rate": 0.1, "first_decay_steps": 30}),
    (
        "CosineDecayRestarts",
        {"initial_learning_rate": 0.1, "first_decay_steps": 40, "t_mul": 1.5, "m_mul": 0.8, "alpha": 0.05},
    ),
]


def schedules():
    keras.config.set_floatx("float64")
    for name, config in SCHEDULES:
        schedule = getattr(keras.optimizers.schedules, name)(**config)
        values = [number(np.float64(schedule(step))) for step in range(201)]
        yield {"schedule": name, "source": "keras", "config": config, "values": values}


if __name__ == "__main__":
    print(json.dumps({"curves": list(curves()), "schedules": list(schedules())}))
