"""Fails when an op of the library has no case: check_op_cases.py LIST_OPS TESTS_FOLDER STAMP

LIST_OPS prints the names of all ops and composites. A case is `.op = "name"`, or a call of a helper whose first argument
is the name, in tests/ops/op_cases/*.cpp. An op whose tests cannot be rows of that table (a fused node, an optimizer's
update) has a line `// tests of op: name` in the test that checks it, anywhere under tests/.
"""

import pathlib
import re
import subprocess
import sys


def main():
    list_ops, tests, stamp = sys.argv[1], pathlib.Path(sys.argv[2]), pathlib.Path(sys.argv[3])
    ops = subprocess.run([list_ops], check=True, capture_output=True, text=True).stdout.split()
    covered = set()
    for path in sorted((tests / "ops" / "op_cases").glob("*.cpp")):
        covered |= set(re.findall(r'^\s*(?:\{\.op = |\w+\()"(\w+)"', path.read_text(), re.MULTILINE))
    for path in sorted(tests.rglob("*.cpp")):
        for names in re.findall(r"// tests of op: (.+)", path.read_text()):
            covered |= set(re.split(r"[,\s]+", names.strip()))
    missing = sorted(set(ops) - covered)
    if missing:
        sys.exit("tests/ops: no case for " + ", ".join(missing) + "; add one to tests/ops/op_cases/")
    stamp.write_text(f"{len(ops)} ops\n")


if __name__ == "__main__":
    main()
