#!/usr/bin/env python3
"""Runs the scenarios live under `isochron watch` and compares symptom and cause.

    tests/scenarios/run.py --isochron build/bin/isochron [--quick] [NAME…]
"""
import argparse
import json
import os
import signal
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from programs import SCENARIOS

CGROUP_V1, CGROUP_V2 = Path("/sys/fs/cgroup/cpu"), Path("/sys/fs/cgroup")


def cold_file(folder):
    """A file of 200 MB that is on the disk and not in memory."""
    path = folder / "data.bin"
    block = os.urandom(1 << 20)
    with open(path, "wb") as f:
        for _ in range(200):
            f.write(block)
        f.flush()
        os.fsync(f.fileno())
        os.posix_fadvise(f.fileno(), 0, 0, os.POSIX_FADV_DONTNEED)
    return path


class Quota:
    """A control group whose CPU quota can be set; None where we may not make one."""

    def __init__(self):
        self.v1 = (CGROUP_V1 / "cpu.cfs_quota_us").exists() or (CGROUP_V1 / "cpu.shares").exists()
        self.path = (CGROUP_V1 if self.v1 else CGROUP_V2) / f"isochron_{os.getpid()}"

    def make(self):
        try:
            self.path.mkdir()
            self.limit(None)
            return True
        except OSError:
            return False

    def limit(self, cores):
        if self.v1:
            (self.path / "cpu.cfs_quota_us").write_text(str(-1 if cores is None else int(cores * 100000)))
        else:
            (self.path / "cpu.max").write_text("max 100000" if cores is None else f"{int(cores * 100000)} 100000")

    def remove(self):
        try:
            self.path.rmdir()
        except OSError:
            pass


def run(scenario, isochron, folder):
    program = folder / "train.py"
    program.write_text(scenario.text())
    command = [sys.executable, str(program)]
    quota = None
    if scenario.needs == "disk":
        command.append(str(cold_file(folder)))
    if scenario.needs == "cgroup":
        quota = Quota()
        if not quota.make():
            return None
        command = ["sh", "-c", f'echo $$ > {quota.path}/cgroup.procs; exec "$@"', "sh", *command]
    result = folder / "diagnosis.json"
    watch = [isochron, "watch", "--quiet", "--stall", scenario.stall, "--json", str(result), "--fail-on", "stuck", "--"]
    watched = subprocess.Popen(watch + command, cwd=folder, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    burners = []
    try:
        kind, *numbers = scenario.disturb.split() or [""]
        if kind:
            time.sleep(float(numbers[0]))
        if kind == "burn":
            burners = [subprocess.Popen([sys.executable, "-c", "while True: pass"]) for _ in range(2 * os.cpu_count())]
        if kind == "quota":
            quota.limit(float(numbers[1]))
        watched.wait(120)
    finally:
        for burner in burners:
            burner.kill()
            burner.wait()
        if watched.poll() is None:
            watched.send_signal(signal.SIGTERM)
            watched.wait()
        if quota:
            quota.remove()
    return json.loads(result.read_text())


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--isochron", default="build/bin/isochron")
    parser.add_argument("--quick", action="store_true", help="only the few that every test run has")
    parser.add_argument("names", nargs="*")
    options = parser.parse_args()
    wanted = [s for s in SCENARIOS if (s.name in options.names if options.names else s.quick or not options.quick)]
    unknown = set(options.names) - {s.name for s in SCENARIOS}
    if unknown:
        parser.error(f"no scenario called {', '.join(sorted(unknown))}")
    wrong = 0
    for scenario in wanted:
        with tempfile.TemporaryDirectory(prefix="isochron_scenario_", ignore_cleanup_errors=True) as folder:
            found = run(scenario, os.path.abspath(options.isochron), Path(folder))
        if found is None:
            print(f"--    {scenario.name}: needs a {scenario.needs} this machine does not give")
            continue
        first = found["verdicts"][0]
        right = found["symptom"] == scenario.symptom and first["cause"] in [scenario.cause, *scenario.also]
        wrong += not right
        print(f"{'ok' if right else 'WRONG':5} {scenario.name}: {found['symptom']}, {first['cause']}", flush=True)
        if not right:
            print(f"      wanted {scenario.symptom}, {scenario.cause}; it says: {first['summary']}")
            print(f"      epochs {[round(e['seconds'], 2) for e in found['epochs']]}, causes {[v['cause'] for v in found['verdicts']]}")
    print(f"{len(wanted) - wrong} of {len(wanted)} right")
    sys.exit(wrong > 0)


if __name__ == "__main__":
    main()
