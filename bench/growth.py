"""Does cost stay even as runs and models grow? 1,000 epochs of mlp32, and stacks of 100 and 1,000 dense layers, by ours."""

import json
import subprocess
import threading
import time

from contestants import OURS, RunFailed, command, measure

EPOCHS = 1000
LARGEST_TIME_SLOPE = 0.01
LARGEST_MEMORY_CHANGE_KB = 64
DEEP_COMPILE_MS = 500
DEEP_FACTOR = 12  # ten times the layers, and some room for noise in the small time


def slope_over_run(epochs_ms, blocks=20):
    """Change over the whole run as a share of an epoch: a line through the fastest epoch of each block, because
    other processes make epochs slower and never faster."""
    size = len(epochs_ms) // blocks
    fastest = [min(epochs_ms[block * size : (block + 1) * size]) for block in range(blocks)]
    middle, mean = (blocks - 1) / 2, sum(fastest) / blocks
    rise = sum((block - middle) * value for block, value in enumerate(fastest))
    run = sum((block - middle) ** 2 for block in range(blocks))
    return rise / run * blocks / mean


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


def many_epochs(threads):
    """Sentences about time and memory over many epochs, each with whether its bar was met."""
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
    slope = slope_over_run(json.loads(lines[-1])["epochs_ms"])
    # The first samples see the process start; the last may see it end.
    steady = samples[len(samples) // 10 : -1] or samples
    change = max(steady) - min(steady)
    about = f"{EPOCHS} epochs of mlp32, threads {threads}"
    bar = f"bar {100 * LARGEST_TIME_SLOPE:.0f} %"
    yield f"{about}: epoch time changes by {100 * slope:+.2f} % ({bar})", abs(slope) < LARGEST_TIME_SLOPE
    bar = f"bar {LARGEST_MEMORY_CHANGE_KB} KB"
    yield f"{about}: resident memory varies by {change} KB ({bar})", change <= LARGEST_MEMORY_CHANGE_KB


def many_layers(threads):
    """The same for build + trace + compile of deep stacks."""
    small, large = (measure(OURS, name, threads).compile_ms for name in ("deep100", "deep1000"))
    yield f"1,000 dense layers compile in {large:.0f} ms (bar {DEEP_COMPILE_MS} ms)", large <= DEEP_COMPILE_MS
    factor = large / small
    yield f"1,000 layers take {factor:.1f} times as long as 100 (bar {DEEP_FACTOR})", factor <= DEEP_FACTOR
