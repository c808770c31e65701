"""lr_schedulers.json: rates of two parameter groups under torch.optim.lr_scheduler, before each of 40 steps."""

import torch
from torch.optim import lr_scheduler as schedulers

from reference_io import write

STEPS = 40


def plateau_values():
    """A loss that falls, stands still, and falls a little."""
    return [1 / (1 + i) if i < 6 else 1 / 6 - 1e-6 * i if i < 25 else 0.1 - 1e-3 * i for i in range(STEPS)]


def rates(make, metrics=None):
    parameters = [torch.nn.Parameter(torch.zeros(1)) for _ in range(2)]
    optimizer = torch.optim.SGD([{"params": parameters[:1]}, {"params": parameters[1:], "lr": 0.02}], lr=0.1)
    made = make(optimizer)
    made = made if isinstance(made, list) else [made]
    found = []
    for step in range(STEPS):
        found.append([group["lr"] for group in optimizer.param_groups])
        optimizer.step()
        for scheduler in made:
            scheduler.step(*([] if metrics is None else [metrics[step]]))
    return found


CASES = {
    "StepLR": lambda o: schedulers.StepLR(o, 7, 0.3),
    "MultiStepLR": lambda o: schedulers.MultiStepLR(o, [3, 10, 10, 25], 0.5),
    "ExponentialLR": lambda o: schedulers.ExponentialLR(o, 0.9),
    "ConstantLR": lambda o: schedulers.ConstantLR(o, 0.25, 6),
    "LinearLR": lambda o: schedulers.LinearLR(o, 0.1, 0.8, 12),
    "PolynomialLR": lambda o: schedulers.PolynomialLR(o, 30, 2.0),
    "CosineAnnealingLR": lambda o: schedulers.CosineAnnealingLR(o, 12, 0.01),
    "CosineAnnealingWarmRestarts": lambda o: schedulers.CosineAnnealingWarmRestarts(o, 5, 2, 0.001),
    "LambdaLR": lambda o: schedulers.LambdaLR(o, [lambda epoch: 0.95**epoch, lambda epoch: 1 / (1 + epoch)]),
    "MultiplicativeLR": lambda o: schedulers.MultiplicativeLR(o, lambda epoch: 0.9 if epoch % 2 else 1.0),
    "OneCycleLR": lambda o: schedulers.OneCycleLR(o, 0.2, total_steps=STEPS + 1, cycle_momentum=False),
    "CyclicLR": lambda o: schedulers.CyclicLR(o, 0.01, 0.1, step_size_up=6, cycle_momentum=False),
    "CyclicLR triangular2": lambda o: schedulers.CyclicLR(
        o, 0.01, 0.1, step_size_up=5, step_size_down=3, mode="triangular2", cycle_momentum=False
    ),
    "CyclicLR exp_range": lambda o: schedulers.CyclicLR(
        o, 0.01, 0.1, step_size_up=4, mode="exp_range", gamma=0.95, cycle_momentum=False
    ),
    "CyclicLR by a function": lambda o: schedulers.CyclicLR(
        o, 0.01, 0.1, step_size_up=4, scale_fn=lambda step: 1 / (1 + step), scale_mode="iterations", cycle_momentum=False
    ),
    "SequentialLR": lambda o: schedulers.SequentialLR(
        o, [schedulers.LinearLR(o, 0.1, 1.0, 5), schedulers.CosineAnnealingLR(o, 20), schedulers.ExponentialLR(o, 0.8)],
        [5, 25],
    ),
    "two at a time": lambda o: [schedulers.LinearLR(o, 0.2, 1.0, 8), schedulers.StepLR(o, 10, 0.5)],
}
PLATEAUS = {
    "plateau": lambda o: schedulers.ReduceLROnPlateau(o, factor=0.5, patience=3, cooldown=2),
    "plateau_abs": lambda o: schedulers.ReduceLROnPlateau(
        o, mode="max", factor=0.2, patience=2, threshold=0.01, threshold_mode="abs", min_lr=0.001
    ),
}

if __name__ == "__main__":
    entries = [{"scheduler": name, "rates": rates(make)} for name, make in CASES.items()]
    entries += [{"scheduler": name, "rates": rates(make, plateau_values())} for name, make in PLATEAUS.items()]
    write("lr_schedulers.json", {"schedulers": entries, "plateau_values": plateau_values()})
