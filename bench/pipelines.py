#!/usr/bin/env python3
"""Measures input pipelines against tf.data, torch's DataLoader, Grain and pandas on the same files, and judges the bars."""

import argparse
import os
import sys
import tempfile

from bars import PIPELINE_BARS, SHOWN_BESIDE, judge_pipelines, pass_ms
from contestants import BENCH, OURS, PYTHON, RunFailed, install_peers, our_program, run_json
from report import BAR_HEADER, aligned, bar_rows

# Peer -> script and mode.
PEERS = {
    "tf.data": ("pipeline_tensorflow.py", "data"),
    "DataLoader-0": ("pipeline_torch.py", "workers0"),
    "DataLoader-2": ("pipeline_torch.py", "workers2"),
    "pandas": ("pipeline_torch.py", "pandas"),
    "grain": ("pipeline_grain.py", "threads"),
}
HEADER = ("workload", "who", "first batch ms", "first pass ms", "median pass ms", "rss MB")


def peers_of(workload):
    judged = {peer for _, _, peers in PIPELINE_BARS[workload] for peer in peers}
    return sorted(judged.union(SHOWN_BESIDE.get(workload, ())))


def measure(contestant, workload, folder, passes, python):
    if contestant == OURS:
        command = [our_program(), "bench", workload]
    else:
        script, mode = PEERS[contestant]
        command = [python, BENCH / "peers" / script, "--workload", workload, "--mode", mode]
    command += ["--folder", folder, "--epochs", str(passes), "--json"]
    try:
        return run_json(command)[0]
    except RunFailed as why:
        raise SystemExit(f"{contestant} on {workload}: {why}") from None


def rows(results):
    for workload, contestants in results.items():
        for name, runs in contestants.items():
            first_batch = min(run["first_batch_ms"] for run in runs)
            rss = max(run["rss_mb"] for run in runs)
            times = (pass_ms(runs, "first"), pass_ms(runs, "median"))
            yield (workload, name, f"{first_batch:.1f}", *(f"{ms:.1f}" for ms in times), f"{rss:.0f}")


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("workloads", nargs="*", default=list(PIPELINE_BARS), help=f"of {', '.join(PIPELINE_BARS)}")
    parser.add_argument("--repeats", type=int, default=3)
    parser.add_argument("--passes", type=int, default=3)
    parser.add_argument("--folder", help="keeps the files here for the next time")
    parser.add_argument("--python", help="with the peers installed, instead of bench/.venv")
    arguments = parser.parse_args()
    if not arguments.python:
        install_peers(print)
    python = arguments.python or PYTHON
    with tempfile.TemporaryDirectory() as temporary:
        folder = arguments.folder or temporary
        os.makedirs(folder, exist_ok=True)
        results = {workload: {name: [] for name in [OURS, *peers_of(workload)]} for workload in arguments.workloads}
        for _ in range(arguments.repeats):
            for workload, contestants in results.items():
                for name, runs in contestants.items():
                    runs.append(measure(name, workload, folder, arguments.passes, python))
    verdicts = list(judge_pipelines(results))
    print(aligned(HEADER, rows(results)))
    print("\n" + aligned(BAR_HEADER, bar_rows(verdicts)))
    return 0 if all(verdict.passed for verdict in verdicts) else 1


if __name__ == "__main__":
    sys.exit(main())
