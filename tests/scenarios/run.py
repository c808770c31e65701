#!/usr/bin/env python3
"""Runs programs with one fault each live under `isochron watch` and compares symptom and cause.

    run.py --isochron build/bin/isochron [--quick] [NAME…]             programs.py: plain Python
    run.py --isochron build/bin/isochron --frameworks PYTHON [NAME…]   frameworks/: TensorFlow and PyTorch

A program of frameworks/ begins with what must be found: `# symptom: …`, `# cause: …`, and perhaps `# also: …` (other
fair causes) and `# stall: 8s`.
"""
import argparse
import os
import re
import shutil
import sys
import tempfile
from dataclasses import dataclass, field
from pathlib import Path

import stage
from programs import SCENARIOS

FRAMEWORKS = Path(__file__).resolve().parent / "frameworks"


@dataclass
class Program:
    name: str
    symptom: str
    cause: str
    source: str
    also: list = field(default_factory=list)
    stall: str = "60s"
    needs: str = ""
    disturb: str = ""

    def text(self):
        return self.source


def framework_programs():
    for path in sorted(FRAMEWORKS.glob("*.py")):
        source = path.read_text()
        said = dict(re.findall(r"^# (\w+): (.*)$", source, re.MULTILINE))
        yield Program(path.stem, said["symptom"], said["cause"], source, re.findall(r"[\w.-]+", said.get("also", "")), said.get("stall", "60s"))


def run(scenario, isochron, python, folder):
    (folder / "train.py").write_text(scenario.text())
    command = [python, "train.py"]
    quota = disturb = None
    if scenario.needs == "disk":
        command.append(str(stage.cold_file(folder)))
    if scenario.needs == "cgroup":
        quota = stage.Quota()
        if not quota.make():
            return None
        command = quota.inside(command)
    kind, *numbers = scenario.disturb.split() or [""]
    if kind == "burn":
        disturb = (float(numbers[0]), "burn")
    if kind == "quota":
        disturb = (float(numbers[0]), lambda: quota.limit(float(numbers[1])))
    try:
        return stage.watch(isochron, command, folder, stall=scenario.stall, disturb=disturb)
    finally:
        if quota:
            quota.remove()


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--isochron", default="build/bin/isochron")
    parser.add_argument("--quick", action="store_true", help="only the few that every test run has")
    parser.add_argument("--frameworks", metavar="PYTHON", help="the programs of frameworks/, run by this Python")
    parser.add_argument("--keep", help="leave records and diagnoses here")
    parser.add_argument("names", nargs="*")
    options = parser.parse_intermixed_args()
    programs = list(framework_programs()) if options.frameworks else SCENARIOS
    wanted = [p for p in programs if (p.name in options.names if options.names else not options.quick or p.quick)]
    unknown = set(options.names) - {p.name for p in programs}
    if unknown:
        parser.error(f"no scenario called {', '.join(sorted(unknown))}")
    python = options.frameworks or sys.executable
    python = os.path.abspath(shutil.which(python) or parser.error(f"--frameworks: there is no program {python}"))
    wrong = []
    for scenario in wanted:
        with tempfile.TemporaryDirectory(prefix="isochron_scenario_", ignore_cleanup_errors=True) as folder:
            found = run(scenario, os.path.abspath(options.isochron), python, Path(folder))
            if found and options.keep:
                os.makedirs(options.keep, exist_ok=True)
                for part in ("diagnosis.json", "record.json", "console.txt"):
                    shutil.copy(Path(folder) / part, Path(options.keep) / f"{scenario.name}.{part}")
        if found is None:
            print(f"--    {scenario.name}: needs a {scenario.needs} this machine does not give")
            continue
        first = found["verdicts"][0]
        right = found["symptom"] == scenario.symptom and first["cause"] in [scenario.cause, *scenario.also]
        print(f"{'ok' if right else 'WRONG':5} {scenario.name}: {found['symptom']}, {first['cause']}", flush=True)
        if not right:
            wrong.append(scenario)
            print(f"      wanted {scenario.symptom}, {scenario.cause}; it says: {first['summary']}")
            print(f"      epochs {[round(e['seconds'], 2) for e in found['epochs']]}, causes {[v['cause'] for v in found['verdicts']]}", flush=True)
    print(f"{len(wanted) - len(wrong)} of {len(wanted)} right")
    # Real programs on a shared machine: the bar of the labelled runs, and no alarm where nothing is wrong.
    tolerated = len(wanted) // 10 if options.frameworks else 0
    sys.exit(len(wrong) > tolerated or any(p.symptom == "healthy" for p in wrong))


if __name__ == "__main__":
    main()
