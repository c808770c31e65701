#!/usr/bin/env python3
"""Runs the scripts of the labelled runs again, live under `isochron watch`, and scores what it says.

    live.py ISOCHRON [NAME...] [--python PYTHON] [--keep FOLDER] [--timeout SECONDS]

PYTHON has TensorFlow, PyTorch and Lightning. Epoch times differ from machine to machine, so only symptom and cause are
compared. Runs that need what this machine does not give (a control group, a mount) are named and left out.
"""
import argparse
import json
import os
import shutil
import subprocess
import sys
import tempfile
import time
from pathlib import Path

RUNS = Path(__file__).resolve().parent
sys.path.insert(0, str(RUNS.parent / "scenarios"))
import stage  # noqa: E402


def without_tensorflow(python, folder):
    """A path on which TensorBoard does not load TensorFlow, which PyTorch's own LLVM does not bear in one process."""
    where = subprocess.check_output([python, "-c", "import os, tensorboard; print(os.path.dirname(tensorboard.__file__))"], text=True)
    shutil.copytree(where.strip(), folder / "path" / "tensorboard")
    (folder / "path" / "tensorboard" / "compat" / "notf.py").touch()
    return str(folder / "path")


def middle_of_training(label, command, folder, environment):
    """Seconds until some epochs have ended and others are to come, on this machine: the run alone is timed first."""
    calm = label["counterfactual"]
    before, after = calm["startup_s"] + sum(calm["epochs_s"][:3]), sum(calm["epochs_s"][3:])
    begin = time.monotonic()
    subprocess.run(command, cwd=folder, check=True, capture_output=True, env={**os.environ, **environment})
    shutil.rmtree(folder / "out", ignore_errors=True)
    return (time.monotonic() - begin) * before / (before + after)


def run(isochron, python, name, folder, timeout):
    label = json.loads((RUNS / name / "label.json").read_text())
    shutil.copy(RUNS / name / "run.py", folder)
    command = [python, "run.py", "out"]
    environment = {key: str(value) for key, value in label.get("env", {}).items()}
    if label["framework"] not in ("keras", "tensorflow"):
        environment["PYTHONPATH"] = without_tensorflow(python, folder)
    limits, _, _ = label.get("command", "").rpartition("; ")
    if limits.startswith("ulimit "):
        command = ["sh", "-c", limits + '; exec "$@"', "sh", *command]
    setup, arranged, disturb = label.get("setup") or "", None, None
    try:
        if "--prepare" in setup:
            subprocess.run([*command, "--prepare"], cwd=folder, check=True, capture_output=True, env={**os.environ, **environment})
            for path in (folder / "out").iterdir():
                stage.evict(path)
        if "--stop-after" in setup:
            subprocess.run([*command, "--stop-after", setup.split()[-1]], cwd=folder, check=True, capture_output=True, env={**os.environ, **environment})
        if "tmpfs" in setup:
            arranged = stage.SmallDisk(folder / "out", 24)
            if not arranged.mounted:
                return label, None
        if "disturb.sh" in setup and "quota" in (RUNS / name / "disturb.sh").read_text():
            arranged = stage.Quota()
            if not arranged.make():
                return label, None
            disturb = (middle_of_training(label, command, folder, environment), lambda: arranged.limit(0.55))
            command = arranged.inside(command)
        elif "disturb.sh" in setup:
            disturb = (middle_of_training(label, command, folder, environment), "burn")
        told = stage.watch(isochron, command, folder, stall="15s", timeout=timeout, disturb=disturb, environment=environment)
        return label, told
    finally:
        if arranged:
            arranged.remove()


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("isochron")
    parser.add_argument("names", nargs="*")
    parser.add_argument("--python", default=sys.executable)
    parser.add_argument("--keep", help="leave records and diagnoses here")
    parser.add_argument("--timeout", type=float, default=400, help="seconds after which a run is ended as a user would")
    options = parser.parse_intermixed_args()
    python = os.path.abspath(shutil.which(options.python) or parser.error(f"--python: there is no program {options.python}"))
    names = options.names or sorted(path.parent.name for path in RUNS.glob("*/label.json"))
    right = {"symptom": 0, "cause": 0}
    judged = alarms = 0
    for name in names:
        with tempfile.TemporaryDirectory(prefix="isochron_live_", ignore_cleanup_errors=True) as folder:
            label, told = run(os.path.abspath(options.isochron), python, name, Path(folder), options.timeout)
            if told and options.keep:
                for part in ("diagnosis.json", "record.json", "console.txt"):
                    Path(options.keep).mkdir(parents=True, exist_ok=True)
                    shutil.copy(Path(folder) / part, Path(options.keep) / f"{name}.{part}")
        if told is None:
            print(f"--    {name}: this machine does not let us arrange it", flush=True)
            continue
        judged += 1
        first = told["verdicts"][0]
        symptom = told["symptom"] == label["symptom"]
        cause = first["cause"] in [label["cause"], *label["also_ok"]]
        right["symptom"] += symptom
        right["cause"] += cause
        alarms += label["symptom"] == "healthy" and not symptom
        mark = "ok   " if symptom and cause else "WRONG"
        print(f"{mark} {name:22} {label['symptom']:12} {told['symptom']:12} {label['cause']:20} {first['cause']}", flush=True)
        if not (symptom and cause):
            print(f"      {first['summary']}\n      epochs {[round(e['seconds'], 2) for e in told['epochs']]}", flush=True)
    shares = {key: value / max(judged, 1) for key, value in right.items()}
    print(f"live: cause {shares['cause']:.1%} (bar 90%)  symptom {shares['symptom']:.1%} (bar 95%)  alarms on healthy runs: {alarms}")
    sys.exit(shares["cause"] < 0.9 or shares["symptom"] < 0.95 or alarms > 0)


if __name__ == "__main__":
    main()
