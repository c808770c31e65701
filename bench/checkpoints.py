#!/usr/bin/env python3
"""Measures saving a 400 MB model in training against Keras and torch.save on the same disk, and judges the bars."""

import argparse
import sys
import tempfile

from contestants import BENCH, OURS, PYTHON, RunFailed, install_peers, our_program, run_json
from report import aligned

HEADER = ("who", "step ms", "stall ms", "in steps", "saved MB/s", "disk MB/s", "state MB")
# Stall of a save: at most so many steps, or so many ms; throughput: at least this share of the disk alone.
MOST_STEPS, MOST_MS, LEAST_SHARE = 2, 20, 0.8


def run(command):
    try:
        return run_json(command)[0]
    except RunFailed as why:
        raise SystemExit(f"{command[0]}: {why}") from None


def row(who, result):
    disk = result.get("disk_mb_per_s")
    return (who, f"{result['step_ms']:.0f}", f"{result['stall_ms']:.0f}", f"{result['stall_ms'] / result['step_ms']:.2f}",
            f"{result['save_mb_per_s']:.0f}", f"{disk:.0f}" if disk else "-", f"{result['state_mb']:.0f}")


def judge(ours):
    stall = ours["stall_ms"] <= max(MOST_MS, MOST_STEPS * ours["step_ms"])
    speed = ours["save_mb_per_s"] >= LEAST_SHARE * ours["disk_mb_per_s"]
    return [(f"stall of a save at most {MOST_STEPS} steps or {MOST_MS} ms", stall),
            (f"written at {LEAST_SHARE} or more of the disk alone", speed)]


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--folder", help="on the disk to be measured")
    parser.add_argument("--saves", type=int, default=4)
    parser.add_argument("--python", help="with the peers installed, instead of bench/.venv")
    arguments = parser.parse_args()
    if not arguments.python:
        install_peers(lambda text: print(text, file=sys.stderr))
    with tempfile.TemporaryDirectory(dir=arguments.folder) as folder:
        ours = run([our_program(), "bench", "checkpoint", "--folder", folder, "--epochs", arguments.saves, "--json"])
        peer = [arguments.python or PYTHON, BENCH / "peers" / "checkpoint_peer.py", "--folder", folder, "--mode"]
        rows = [row(OURS, ours)] + [row(mode, run(peer + [mode])) for mode in ("keras", "torch")]
    print(aligned(HEADER, rows))
    verdicts = judge(ours)
    for text, met in verdicts:
        print(f"{'met' if met else 'MISSED'}: {text}")
    return 0 if all(met for _, met in verdicts) else 1


if __name__ == "__main__":
    sys.exit(main())
