"""The PyTorch part of curves.json, printed as JSON; generate_curves.py runs it."""

import json

import torch

from curve_problem import STEPS, batch, require_stable, weights
from reference_io import number

# Curve name -> optimizer class, arguments.
OPTIMIZERS = {
    "sgd": ("SGD", {"lr": 0.05}),
    "sgd_momentum": ("SGD", {"lr": 0.02, "momentum": 0.9}),
    "sgd_dampening": ("SGD", {"lr": 0.05, "momentum": 0.9, "dampening": 0.5}),
    "sgd_nesterov": ("SGD", {"lr": 0.02, "momentum": 0.9, "nesterov": True}),
    "sgd_weight_decay": ("SGD", {"lr": 0.02, "momentum": 0.9, "weight_decay": 0.05}),
    "adam": ("Adam", {"lr": 0.01}),
    "adam_amsgrad": ("Adam", {"lr": 0.01, "betas": [0.9, 0.9], "amsgrad": True}),
    "adam_weight_decay": ("Adam", {"lr": 0.01, "weight_decay": 0.05}),
    "adamw": ("AdamW", {"lr": 0.01}),
    "rmsprop": ("RMSprop", {"lr": 0.005}),
    "rmsprop_centered_momentum": ("RMSprop", {"lr": 0.002, "momentum": 0.9, "centered": True}),
    "adagrad": ("Adagrad", {"lr": 0.05}),
    "adadelta": ("Adadelta", {"lr": 1.0}),
    "adamax": ("Adamax", {"lr": 0.01}),
    "nadam": ("NAdam", {"lr": 0.01}),
    "radam": ("RAdam", {"lr": 0.02}),
    "radam_weight_decay": ("RAdam", {"lr": 0.02, "betas": [0.8, 0.9], "weight_decay": 0.05}),
    "radam_decoupled": ("RAdam", {"lr": 0.02, "weight_decay": 0.5, "decoupled_weight_decay": True}),
}
ONE_CYCLES = [
    {"max_lr": 0.1, "total_steps": 201},
    {"max_lr": 0.1, "total_steps": 201, "pct_start": 0.4, "anneal_strategy": "linear", "div_factor": 10.0},
    {"max_lr": 0.1, "total_steps": 201, "three_phase": True, "final_div_factor": 100.0},
]

LBFGS = [
    {"max_iter": 4, "lr": 0.5},
    {"max_iter": 4, "line_search_fn": "strong_wolfe"},
    {"max_iter": 6, "max_eval": 5, "history_size": 3, "line_search_fn": "strong_wolfe"},
    {"max_iter": 30, "history_size": 5, "tolerance_grad": 1e-3, "line_search_fn": "strong_wolfe"},
]


def loss_of(parameters, step, dtype):
    kernel1, bias1, kernel2, bias2 = parameters
    hidden = torch.tanh(torch.from_numpy(batch(step, "x", dtype)) @ kernel1 + bias1)
    labels = torch.from_numpy(batch(step, "labels", dtype))
    return torch.nn.functional.cross_entropy(hidden @ kernel2 + bias2, labels)


def start_weights(dtype):
    return [torch.tensor(value.astype(dtype), requires_grad=True) for value in weights.values()]


def torch_losses(optimizer, config, dtype):
    parameters = start_weights(dtype)
    updater = getattr(torch.optim, optimizer)(parameters, **config)
    losses = []
    for step in range(STEPS):
        updater.zero_grad()
        value = loss_of(parameters, step, dtype)
        losses.append(value.detach().numpy()[()])
        value.backward()
        updater.step()
    return losses


def torch_curve(name, optimizer, config):
    losses = torch_losses(optimizer, config, "float32")
    require_stable(f"torch {name}", losses, torch_losses(optimizer, config, "float64"))
    return {
        "name": name,
        "source": "torch",
        "optimizer": optimizer,
        "optimizer_config": config,
        "loss": "sparse_categorical_crossentropy",
        "loss_config": {"from_logits": True},
        "output": "linear",
        "target": "labels",
        "losses": [number(value) for value in losses],
    }


def minimization(config):
    """Eight steps of L-BFGS on one batch, with a little decay so that there is a minimum; float64."""
    parameters = start_weights("float64")
    updater = torch.optim.LBFGS(parameters, **config)

    def closure():
        updater.zero_grad()
        loss = loss_of(parameters, 0, "float64") + 0.01 * sum((p * p).sum() for p in parameters)
        loss.backward()
        return loss

    losses = [number(updater.step(closure).item()) for _ in range(8)]
    return {"config": config, "losses": losses, "func_evals": updater.state[parameters[0]]["func_evals"]}


def one_cycle(config):
    optimizer = torch.optim.SGD([torch.zeros(1)], lr=1.0, momentum=0.9)
    schedule = torch.optim.lr_scheduler.OneCycleLR(optimizer, **config)
    values, momenta = [], []
    for step in range(201):
        values.append(number(schedule.get_last_lr()[0]))
        momenta.append(number(optimizer.param_groups[0]["momentum"]))
        optimizer.step()
        if step < 200:
            schedule.step()
    return {"schedule": "OneCycleLR", "source": "torch", "config": config, "values": values, "momenta": momenta}


if __name__ == "__main__":
    curves = [torch_curve(name, optimizer, config) for name, (optimizer, config) in OPTIMIZERS.items()]
    minimizations = [minimization(config) for config in LBFGS]
    one_cycles = [one_cycle(config) for config in ONE_CYCLES]
    print(json.dumps({"curves": curves, "schedules": one_cycles, "minimizations": minimizations}))
