"""Results as aligned tables for the terminal and as docs/performance.md."""

import datetime
import os
import platform

from bars import best_peer, median_of
from contestants import OURS

BAR_HEADER = ("workload", "threads", "measure", "ours", "against", "value", "bar", "")
RESULT_HEADER = ("workload", "threads", "who", "start ms", "first epoch ms", "later epoch ms", "step us", "rss MB", "ours / it")


def bar_rows(verdicts):
    for v in verdicts:
        yield (v.workload, str(v.threads), v.measure, v.ours, v.against, v.value, v.bar, "pass" if v.passed else "FAIL")


def result_rows(results):
    """One row per workload, thread count and contestant: medians, and our step time as a share of theirs."""
    for (workload, threads), contestants in results.items():
        ours = contestants.get(OURS)
        best = best_peer(contestants, "step_us")
        for name, runs in contestants.items():
            if not runs:
                continue
            step = median_of(runs, "step_us")
            share = f"{median_of(ours, 'step_us') / step:.3f}" if ours and name != OURS else ""
            mark = " (best peer)" if best and best[0] == name else ""
            start, first, later, rss = (median_of(runs, f) for f in ("start_ms", "first_ms", "later_ms", "rss_mb"))
            cells = (f"{start:.0f}", f"{first:.2f}", f"{later:.2f}", f"{step:.1f}", f"{rss:.0f}", share)
            yield (workload, str(threads), name + mark, *cells)


def aligned(header, rows):
    rows = [header, *rows]
    widths = [max(len(row[column]) for row in rows) for column in range(len(header))]
    return "\n".join("  ".join(cell.ljust(width) for cell, width in zip(row, widths)).rstrip() for row in rows)


def markdown(header, rows):
    lines = ["| " + " | ".join(header) + " |", "|" + "---|" * len(header)]
    return "\n".join(lines + ["| " + " | ".join(row) + " |" for row in rows])


def cpu_model():
    with open("/proc/cpuinfo") as info:
        name = next((line.split(":", 1)[1].strip() for line in info if line.startswith("model name")), platform.machine())
    with open("/proc/cpuinfo") as info:
        flags = next((line for line in info if line.startswith("flags")), "")
    widest = "AVX-512" if "avx512f" in flags else "AVX2" if "avx2" in flags else "SSE"
    return f"{name}, {len(os.sched_getaffinity(0))} cores, {widest}"


def versions(results):
    found = {name: runs[-1].version for contestants in results.values() for name, runs in contestants.items() if runs}
    return ", ".join(f"{name} {version}".strip() for name, version in found.items())


def performance_page(results, verdicts, notes, command, repeats):
    passed = sum(v.passed for v in verdicts)
    parts = [
        "# Performance",
        "Written by `make bench` (bench/run.py): every figure below is a median over the repeats of one interleaved run "
        "on one machine, so ratios mean more than times. `bench/peers/workloads.py` says what the workloads are. "
        "Bars are judged against loops that read every step's loss, as ours does. `jax-resident`, JAX with all rows on the "
        "device and no loss read within an epoch, is faster and not judged against: its rows show what we would miss.",
        f"- command: `{command}` ({repeats} repeats)\n- machine: {cpu_model()}\n"
        f"- date: {datetime.date.today().isoformat()}\n- versions: {versions(results)}",
    ]
    if verdicts:
        parts += [f"## Bars: {passed} of {len(verdicts)} met", markdown(BAR_HEADER, bar_rows(verdicts))]
    if notes:
        parts += ["## Notes", "\n".join(f"- {note}" for note in notes)]
    parts += ["## All measurements", markdown(RESULT_HEADER, result_rows(results))]
    return "\n\n".join(parts) + "\n"
