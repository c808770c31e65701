"""Results as aligned tables for the terminal and as docs/performance.md."""

import datetime
import os
import platform

from bars import best_peer, median_of
from contestants import OURS

BAR_HEADER = ("workload", "threads", "measure", "ours", "against", "value", "bar", "")
RESULT_HEADER = ("workload", "threads", "who", "start ms", "first epoch ms", "later epoch ms", "step us", "% of peak", "rss MB", "ours / it")


def bar_rows(verdicts):
    for v in verdicts:
        yield (v.workload, str(v.threads), v.measure, v.ours, v.against, v.value, v.bar, "pass" if v.passed else "FAIL")


def result_rows(results):
    """One row per workload, thread count and contestant: medians, and our step time as a share of theirs. All do the same
    operations, so our share of the machine's peak gives theirs."""
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
            peak = median_of(ours, "percent_of_peak") * median_of(ours, "step_us") / step if ours else 0
            cells = (f"{start:.0f}", f"{first:.2f}", f"{later:.2f}", f"{step:.1f}", f"{peak:.0f}" if peak else "", f"{rss:.0f}", share)
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


def performance_section(results, verdicts, notes, command, repeats):
    """What docs/performance.md says of this machine."""
    passed = sum(v.passed for v in verdicts)
    parts = [
        f"## {cpu_model()}",
        f"- command: `{command}` ({repeats} repeats; ours before every peer)\n"
        f"- date: {datetime.date.today().isoformat()}\n- versions: {versions(results)}",
    ]
    if verdicts:
        parts += [f"### Bars: {passed} of {len(verdicts)} met", markdown(BAR_HEADER, bar_rows(verdicts))]
    if notes:
        parts += ["### Notes", "\n".join(f"- {note}" for note in notes)]
    parts += ["### All measurements", markdown(RESULT_HEADER, result_rows(results))]
    return "\n\n".join(parts) + "\n"


def with_section(page, section):
    """The page with the section of that heading replaced, or the section behind all others."""
    heading = section.split("\n", 1)[0]
    lines = page.splitlines(keepends=True)
    starts = [i for i, line in enumerate(lines) if line.startswith("## ")] + [len(lines)]
    for begin, end in zip(starts, starts[1:]):
        if lines[begin].rstrip() == heading:
            gap = "\n" if end < len(lines) else ""
            return "".join(lines[:begin]) + section + gap + "".join(lines[end:])
    return page + ("\n" if page else "") + section
