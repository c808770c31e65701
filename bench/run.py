#!/usr/bin/env python3
"""Measures Isochron against TensorFlow, PyTorch, libtorch and JAX in one interleaved run.

`make bench`, or: bench/run.py [--workloads mlp32,mlp1] [--peers jax,libtorch] [--threads 1,2] [--repeats 3] [--quick]
The first run installs the peers into bench/.venv. Prints the table of ratios; a run of everything writes this
machine's section of docs/performance.md. Exit code 1 when a bar is missed.
"""

import argparse
import os
import sys
from pathlib import Path

from bars import judge
from contestants import OURS, PEERS, ROOT, RunFailed, build_libtorch_peer, install_peers, measure, our_program
from growth import many_epochs, many_layers
from report import BAR_HEADER, RESULT_HEADER, aligned, bar_rows, performance_section, result_rows, with_section

WORKLOADS = ("mlp32", "mlp1", "linreg", "cnn", "mnist", "resnet", "transformer", "lstm", "lengths")
QUICK_PEERS = ("libtorch", "jax")


def progress(text):
    print(text, file=sys.stderr, flush=True)


def some_of(allowed):
    def parse(text):
        chosen = tuple(part for part in text.split(",") if part)
        unknown = [part for part in chosen if part not in allowed]
        if unknown:
            raise argparse.ArgumentTypeError(f"{unknown[0]} is none of {', '.join(allowed)}")
        return chosen

    return parse


def parse_arguments():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--workloads", type=some_of(WORKLOADS), default=WORKLOADS)
    parser.add_argument("--peers", type=some_of(PEERS), help="default: all; none with an empty list")
    parser.add_argument("--threads", type=some_of(("1", "2")), default=("1", "2"))
    parser.add_argument("--repeats", type=int, default=3)
    parser.add_argument("--quick", action="store_true", help=f"one repeat, peers {', '.join(QUICK_PEERS)}")
    parser.add_argument("--output", help="a page whose section of this machine is written; by default, of a run of everything, docs/performance.md")
    arguments = parser.parse_args()
    if arguments.peers is None:
        arguments.peers = QUICK_PEERS if arguments.quick else PEERS
    if arguments.quick:
        arguments.repeats = 1
    elif not arguments.output and (arguments.workloads, arguments.peers) == (WORKLOADS, PEERS):
        arguments.output = ROOT / "docs" / "performance.md"
    return arguments


def visits(contestants, repeat):
    """Who is measured one after the other: another peer first each time, and ours before every peer. Ours is over in a
    second or two, within one state of the host; peers take long enough to see both."""
    peers = [name for name in contestants if name != OURS]
    turn = repeat % max(1, len(peers))
    ours = [name for name in contestants if name == OURS]
    return [name for peer in peers[turn:] + peers[:turn] for name in [*ours, peer]] or ours


def run_all(contestants, workloads, threads, repeats):
    """All results, each repeat visiting every contestant before the next begins, so that a noisy minute hits all alike."""
    results = {(w, int(t)): {name: [] for name in contestants} for w in workloads for t in threads}
    failures = {}
    for repeat in range(repeats):
        for (workload, count), runs in results.items():
            for name in visits(contestants, repeat):
                if (name, workload) in failures:
                    continue
                try:
                    runs[name].append(measure(name, workload, count))
                except RunFailed as failure:
                    failures[name, workload] = f"{name} on {workload} was left out: {failure}"
                    progress(failures[name, workload])
            progress(f"repeat {repeat + 1}/{repeats}: {workload}, {count} threads done")
    return results, list(failures.values())


def growth_notes(threads):
    notes, passed = [], True
    checks = [(many_epochs, int(count)) for count in threads] + [(many_layers, int(threads[-1]))]
    for check, count in checks:
        try:
            for sentence, met in check(count):
                notes.append(f"{sentence}: {'pass' if met else 'FAIL'}")
                passed = passed and met
        except RunFailed as failure:
            notes.append(f"FAIL: {failure}")
            passed = False
    return notes, passed


def main():
    arguments = parse_arguments()
    if arguments.peers:
        install_peers(progress)
    if "libtorch" in arguments.peers:
        build_libtorch_peer(progress)
    ours_built = our_program().exists()
    if not ours_built:
        progress("build/bin/isochron is not built (make build): measuring the peers alone")
    if os.getloadavg()[0] > 1:
        progress(f"other work is running (load {os.getloadavg()[0]:.1f}): times will be noisy")
    contestants = ([OURS] if ours_built else []) + list(arguments.peers)
    if not contestants:
        raise SystemExit("nothing to measure")
    results, notes = run_all(contestants, arguments.workloads, arguments.threads, arguments.repeats)
    verdicts = judge(results)
    passed = all(verdict.passed for verdict in verdicts)
    if ours_built and not arguments.quick and "mlp32" in arguments.workloads:
        lines, steady = growth_notes(arguments.threads)
        notes += lines
        passed = passed and steady

    print(aligned(RESULT_HEADER, result_rows(results)))
    if verdicts:
        print("\n" + aligned(BAR_HEADER, bar_rows(verdicts)))
    for note in notes:
        print(note)
    if ours_built and arguments.output:
        command = "bench/run.py " + " ".join(sys.argv[1:])
        section = performance_section(results, verdicts, notes, command.strip(), arguments.repeats)
        output = Path(arguments.output)
        output.write_text(with_section(output.read_text() if output.exists() else "", section))
        progress(f"written: {arguments.output}")
    return 0 if passed else 1


if __name__ == "__main__":
    sys.exit(main())
