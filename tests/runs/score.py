#!/usr/bin/env python3
"""Scores `isochron doctor` on labelled runs.

    score.py ISOCHRON [FOLDER...] [--verbose]

Each folder is one run with a label.json (see README.md). The command gets what a user would have: the console
log, traces and event files. A cause counts as right if it is the label's or one of its `also_ok`; where the label
says that only watching the live process can tell, the right symptom and the advice to run `isochron watch` count too.
Exits with 1 if a bar is missed: cause 90 %, symptom 95 %, no alarm on healthy runs, epoch times within 5 %.
"""
import json
import subprocess
import sys
from collections import Counter
from pathlib import Path

BARS = {"cause": 0.90, "symptom": 0.95, "epochs": 1.0}


def inputs(folder):
    kinds = {"console.log": "log", "xplane": "trace", "events": "events"}
    found = {folder / name: kind for name, kind in kinds.items() if (folder / name).exists()}
    found.update({path: "trace" for path in folder.glob("trace*.json.gz")})
    return found


def epochs_right(label, told):
    """Epochs whose time is within 5 % of the label's, or within the log's own resolution. The label's first epoch is
    measured from outside and may hold start-up the log leaves out."""
    right = 0
    for position, (want, got) in enumerate(zip(label["epochs_s"], told)):
        slack = 0.05 * want + got.get("resolution", 0) + 0.01
        right += abs(want - got["seconds"]) <= slack or (position == 0 and got["seconds"] < want)
    return right, max(len(label["epochs_s"]), len(told))


def score(command, folder):
    label = json.loads((folder / "label.json").read_text())
    paths = inputs(folder)
    out = subprocess.run([command, "doctor", "--json", *map(str, paths)], capture_output=True, text=True, timeout=120)
    if out.returncode != 0:
        print(folder.name, out.stderr, file=sys.stderr)
        return None
    told = json.loads(out.stdout)
    first = told["verdicts"][0]
    enough = any(kind in label["evidence"] for kind in paths.values())
    fair = {label["cause"], *label["also_ok"]}
    cause_right = first["cause"] in fair
    if not enough and first["cause"] == "unknown" and "isochron watch" in first["fix"]:
        cause_right = told["symptom"] == label["symptom"]
    good, count = epochs_right(label, told["epochs"])
    return {"name": folder.name, "label": label, "told": told, "cause": first["cause"], "enough": enough,
            "cause_right": cause_right, "symptom_right": told["symptom"] == label["symptom"],
            "epochs_good": good, "epochs": count}


def main():
    arguments = [a for a in sys.argv[1:] if not a.startswith("--")]
    command, folders = arguments[0], [Path(a) for a in arguments[1:]]
    if not folders:
        folders = sorted(p.parent for p in Path(__file__).parent.glob("*/label.json"))
    rows = [row for row in (score(command, folder) for folder in folders) if row]
    width = max(len(row["name"]) for row in rows)
    print(f"{'run':{width}}  {'symptom':12} {'told':12}  {'cause':20} {'told':20} {'from':5} epochs")
    for row in rows:
        label = row["label"]
        marks = ("" if row["symptom_right"] else " SYMPTOM") + ("" if row["cause_right"] else " CAUSE")
        marks += "" if row["epochs_good"] == row["epochs"] else " EPOCHS"
        if "--verbose" not in sys.argv and not marks and len(rows) > 200:
            continue
        print(f"{row['name']:{width}}  {label['symptom']:12} {row['told']['symptom']:12}  {label['cause']:20} {row['cause']:20} "
              f"{'files' if row['enough'] else 'live':5} {row['epochs_good']}/{row['epochs']}{marks}")
    confused = Counter((r["label"]["symptom"], r["told"]["symptom"]) for r in rows if not r["symptom_right"])
    confused.update((r["label"]["cause"], r["cause"]) for r in rows if not r["cause_right"])
    for (want, got), times in confused.most_common():
        print(f"  {want} taken for {got}: {times}")
    alarms = [r["name"] for r in rows if r["label"]["symptom"] == "healthy" and r["told"]["symptom"] != "healthy"]
    shares = {"cause": sum(r["cause_right"] for r in rows) / len(rows),
              "symptom": sum(r["symptom_right"] for r in rows) / len(rows),
              "epochs": sum(r["epochs_good"] for r in rows) / max(sum(r["epochs"] for r in rows), 1)}
    print("  ".join(f"{name} {share:.1%} (bar {BARS[name]:.0%})" for name, share in shares.items()),
          f" alarms on healthy runs: {len(alarms)}")
    sys.exit(any(shares[name] < bar for name, bar in BARS.items()) or bool(alarms))


if __name__ == "__main__":
    main()
