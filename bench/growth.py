"""Does cost stay even as runs and models grow? 1,000 epochs of mlp32, and stacks of 100 and 1,000 dense layers, by ours."""

import json
import statistics
import subprocess
import threading
import time

from contestants import OURS, RunFailed, command, measure

EPOCHS = 1000
REPEATS = 5
LARGEST_TIME_SLOPE = 0.01
LARGEST_MEMORY_CHANGE_KB = 64
DEEP_COMPILE_MS = 500
DEEP_FACTOR = 12  # ten times the layers, and some room for noise in the small time


def slope_over_run(epochs_ms):
    """Change over the whole run as a share of an epoch: by the fastest epochs of the first and the last quarter, because
    other processes and the host's slower moments make epochs slower and never faster. Of a steady change the two see three
    quarters."""
    quarter = len(epochs_ms) // 4
    return (min(epochs_ms[-quarter:]) / min(epochs_ms[:quarter]) - 1) * 4 / 3


def resident_kb(pid):
    """To the page. /proc/PID/statm is only right within some hundred kilobytes: every CPU keeps a part of the count."""
    try:
        with open(f"/proc/{pid}/smaps_rollup") as smaps:
            return next(int(line.split()[1]) for line in smaps if line.startswith("Rss:"))
    except (OSError, StopIteration):
        return None


def watch_memory(process, samples):
    while process.poll() is None:
        kilobytes = resident_kb(process.pid)
        if kilobytes:
            samples.append(kilobytes)
        time.sleep(0.05)


def long_run(threads):
    """The change of the epochs' time and of resident memory, in KB, over one run of many epochs."""
    arguments = [str(part) for part in command(OURS, "mlp32", threads)] + ["--epochs", str(EPOCHS)]
    process = subprocess.Popen(arguments, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True)
    samples = []
    watcher = threading.Thread(target=watch_memory, args=(process, samples))
    watcher.start()
    output, _ = process.communicate()
    watcher.join()
    lines = [line for line in output.splitlines() if line.startswith("{")]
    if process.returncode != 0 or not lines:
        raise RunFailed(f"{EPOCHS} epochs of mlp32 gave no result, exit code {process.returncode}")
    # The first samples see the process start; the last may see it end.
    steady = samples[len(samples) // 10 : -1] or samples
    return slope_over_run(json.loads(lines[-1])["epochs_ms"]), max(steady) - min(steady)


def many_epochs(threads):
    """Sentences about time and memory over many epochs, each with whether its bar was met."""
    runs = [long_run(threads) for _ in range(REPEATS)]
    slope, change = (statistics.median(values) for values in zip(*runs))
    about = f"{EPOCHS} epochs of mlp32, threads {threads}, median of {REPEATS} runs"
    bar = f"bar {100 * LARGEST_TIME_SLOPE:.0f} %"
    yield f"{about}: epoch time changes by {100 * slope:+.2f} % ({bar})", abs(slope) < LARGEST_TIME_SLOPE
    bar = f"bar {LARGEST_MEMORY_CHANGE_KB} KB"
    yield f"{about}: resident memory varies by {change} KB ({bar})", change <= LARGEST_MEMORY_CHANGE_KB


def many_layers(threads):
    """The same for build + trace + compile of deep stacks, by medians of runs in turn."""
    runs = {name: [] for name in ("deep100", "deep1000")}
    for _ in range(REPEATS):
        for name, compile_ms in runs.items():
            compile_ms.append(measure(OURS, name, threads).compile_ms)
    small, large = (statistics.median(compile_ms) for compile_ms in runs.values())
    yield f"1,000 dense layers compile in {large:.0f} ms (bar {DEEP_COMPILE_MS} ms)", large <= DEEP_COMPILE_MS
    factor = large / small
    yield f"1,000 layers take {factor:.1f} times as long as 100 (bar {DEEP_FACTOR})", factor <= DEEP_FACTOR
