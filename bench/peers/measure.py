"""What all Python peers share: arguments, the timed epochs, the JSON line with the same keys as `isochron bench`.

A peer hands over a trainer with two methods: `epoch(order, after_first)` trains once through the rows in that order,
calling `after_first()` when the first step's loss is on the host (it is None in later epochs), and returns when the last
step has finished; for mnist, `classes(x)` gives the classes of test images. Every step's loss is read, as ours is on the
host after every step: a step is what a loop that knows its loss takes.
"""

import argparse
import json
import os
import statistics
import time

from workloads import WORKLOADS, mnist


def parse_arguments(modes):
    parser = argparse.ArgumentParser()
    parser.add_argument("--workload", choices=WORKLOADS, default="mlp32")
    parser.add_argument("--mode", choices=modes, default=modes[0])
    parser.add_argument("--threads", type=int, default=1)
    parser.add_argument("--epochs", type=int, default=0, help="0: as the workload says")
    parser.add_argument("--json", action="store_true", help="the only output there is; accepted like ours")
    arguments = parser.parse_args()
    # Read by the OpenMP and BLAS libraries when they load, so before any framework is imported.
    os.environ["OMP_NUM_THREADS"] = str(arguments.threads)
    os.environ["CUDA_VISIBLE_DEVICES"] = "-1"
    return arguments, WORKLOADS[arguments.workload]


def resident_mb():
    with open("/proc/self/status") as status:
        line = next(line for line in status if line.startswith("VmRSS"))
    return round(int(line.split()[1]) / 1024, 1)


class Stopwatch:
    """Times epochs and remembers when the first loss was known."""

    def __init__(self):
        self.epochs_ms = []
        self.first_step_ns = 0
        self.first_step_ms = 0.0
        self.accuracy = None
        self.evaluated_ns = 0
        self._start = 0

    def begin_epoch(self):
        self._start = time.monotonic_ns()

    def after_first_step(self):
        self.first_step_ns = time.monotonic_ns()
        self.first_step_ms = (self.first_step_ns - self._start) / 1e6

    def end_epoch(self):
        self.epochs_ms.append(round((time.monotonic_ns() - self._start) / 1e6, 4))

    def evaluate(self, classes):
        x, y = mnist("t10k")
        right = sum(int((classes(x[i : i + 1000]) == y[i : i + 1000]).sum()) for i in range(0, len(y), 1000))
        self.accuracy = right / len(y)
        self.evaluated_ns = time.monotonic_ns()


def run_epochs(trainer, workload, epochs, random_order):
    watch = Stopwatch()
    for epoch in range(epochs):
        watch.begin_epoch()
        trainer.epoch(random_order(workload.rows), watch.after_first_step if epoch == 0 else None)
        watch.end_epoch()
    if workload.name == "mnist":
        watch.evaluate(trainer.classes)
    return watch


def print_result(watch, workload, threads, peer, version):
    later = watch.epochs_ms[1:] or watch.epochs_ms
    step_ms = statistics.median(later) / workload.steps
    result = {
        "workload": workload.name,
        "threads": threads,
        "first_step_monotonic_ns": watch.first_step_ns,
        "epochs_ms": watch.epochs_ms,
        "step_us": round(step_ms * 1000, 2),
        "compile_ms": round(max(0.0, watch.first_step_ms - step_ms), 3),
        "rss_mb": resident_mb(),
        "peer": peer,
        "version": version,
    }
    if watch.accuracy is not None:
        result |= {"accuracy": watch.accuracy, "evaluated_monotonic_ns": watch.evaluated_ns}
    print(json.dumps(result))
