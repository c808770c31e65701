"""Does cost stay even as runs and models grow? 1,000 epochs of mlp32, and stacks of 100 and 1,000 dense layers, by ours."""

import json
import signal
import statistics
import subprocess

from contestants import OURS, RunFailed, command, measure

EPOCHS = 1000
SLICE_SECONDS = 0.1  # of the long run, between young ones
YOUNG_EPOCHS = 25
LARGEST_TIME_SLOPE = 0.01
LARGEST_MEMORY_CHANGE_KB = 64
DEEP_REPEATS = 5
DEEP_COMPILE_MS = 500
DEEP_FACTOR = 12  # ten times the layers, and some room for noise in the small time


def slope_over_run(values):
    """Change over the whole run as a share of the mean, by the line through the values."""
    count = len(values)
    middle, mean = (count - 1) / 2, sum(values) / count
    rise = sum((at - middle) * value for at, value in enumerate(values))
    run = sum((at - middle) ** 2 for at in range(count))
    return rise / run * count / mean


def against_young(epochs_ms, young_ms):
    """How much slower a long run is than young ones, from one pause of it to the next. The run stood still while each of
    the young ones ran, so its longest epochs are the pauses. Of what lies between two of them the fastest epoch counts,
    because other processes make epochs slower and never faster."""
    pauses = sorted(sorted(range(len(epochs_ms)), key=epochs_ms.__getitem__)[-len(young_ms) :])
    starts = [0, *(pause + 1 for pause in pauses)]
    return [
        min(epochs_ms[start:pause]) / young
        for start, pause, young in zip(starts, pauses, young_ms)
        if pause > start
    ]


def resident_kb(pid):
    """To the page. /proc/PID/statm is only right within some hundred kilobytes: every CPU keeps a part of the count."""
    try:
        with open(f"/proc/{pid}/smaps_rollup") as smaps:
            return next(int(line.split()[1]) for line in smaps if line.startswith("Rss:"))
    except (OSError, StopIteration):
        return None


def many_epochs(threads):
    """Sentences about time and memory over many epochs, each with whether its bar was met. The host's speed changes within
    a run by more than any slope: every few epochs the run is stopped, and a young one shows what an epoch takes then."""
    arguments = [str(part) for part in command(OURS, "mlp32", threads)] + ["--epochs", str(EPOCHS)]
    process = subprocess.Popen(arguments, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True)
    kilobytes, young_ms = [], []
    while True:
        try:
            process.wait(SLICE_SECONDS)
            break
        except subprocess.TimeoutExpired:
            process.send_signal(signal.SIGSTOP)
        try:
            kilobytes.append(resident_kb(process.pid))
            young_ms.append(min(measure(OURS, "mlp32", threads, ("--epochs", str(YOUNG_EPOCHS))).epochs_ms[1:]))
        finally:
            process.send_signal(signal.SIGCONT)
    output = process.communicate()[0]
    lines = [line for line in output.splitlines() if line.startswith("{")]
    if process.returncode != 0 or not lines:
        raise RunFailed(f"{EPOCHS} epochs of mlp32 gave no result, exit code {process.returncode}")
    slope = slope_over_run(against_young(json.loads(lines[-1])["epochs_ms"], young_ms))
    # The first look may see the process start.
    steady = [seen for seen in kilobytes[1:] if seen]
    change = max(steady) - min(steady)
    about = f"{EPOCHS} epochs of mlp32, threads {threads}"
    bar = f"bar {100 * LARGEST_TIME_SLOPE:.0f} %"
    yield f"{about}: epoch time changes by {100 * slope:+.2f} % against young runs ({bar})", abs(slope) < LARGEST_TIME_SLOPE
    bar = f"bar {LARGEST_MEMORY_CHANGE_KB} KB"
    yield f"{about}: resident memory varies by {change} KB ({bar})", change <= LARGEST_MEMORY_CHANGE_KB


def many_layers(threads):
    """The same for build + trace + compile of deep stacks, by medians of runs in turn."""
    runs = {name: [] for name in ("deep100", "deep1000")}
    for _ in range(DEEP_REPEATS):
        for name, compile_ms in runs.items():
            compile_ms.append(measure(OURS, name, threads).compile_ms)
    small, large = (statistics.median(compile_ms) for compile_ms in runs.values())
    yield f"1,000 dense layers compile in {large:.0f} ms (bar {DEEP_COMPILE_MS} ms)", large <= DEEP_COMPILE_MS
    factor = large / small
    yield f"1,000 layers take {factor:.1f} times as long as 100 (bar {DEEP_FACTOR})", factor <= DEEP_FACTOR
