#!/usr/bin/env python3
"""`isochron report`, `compare` and the studies of `bench`: text, JSON, exit codes.

    report_cli_test.py ISOCHRON
"""
import json
import subprocess
import sys
import tempfile
import unittest
from pathlib import Path

COMMAND = sys.argv.pop(1)


def isochron(*arguments):
    return subprocess.run([COMMAND, *map(str, arguments)], capture_output=True, text=True, timeout=120)


def record(seconds):
    start, epochs = 0, []
    for index, length in enumerate(seconds, 1):
        epochs.append({"index": index, "start": start, "seconds": length, "steps": 10, "phases": {"forward": length}})
        start += length
    return {"schema": 1, "source": "isochron", "framework": "isochron", "seconds": start, "epochs": epochs}


class Report(unittest.TestCase):
    def setUp(self):
        self.temporary = tempfile.TemporaryDirectory(prefix="isochron_report_")
        self.folder = Path(self.temporary.name)
        for name, seconds in (("a", [1.5, 1, 1, 1]), ("b", [1.5, 1.2, 1.2, 1.2])):
            (self.folder / f"{name}.json").write_text(json.dumps(record(seconds)))

    def tearDown(self):
        self.temporary.cleanup()

    def test_report(self):
        out = isochron("report", self.folder / "a.json", "--html", self.folder / "a.html")
        self.assertEqual(out.returncode, 0, out.stderr)
        self.assertIn("Epoch 1 took 1.50x the median of the others", out.stdout)
        self.assertIn("Epochs by phase", (self.folder / "a.html").read_text())
        told = json.loads(isochron("report", self.folder / "a.json", "--json").stdout)
        self.assertEqual(told["figures"]["later epochs, median"], 1)
        self.assertEqual(len(told["epochs"]), 4)

    def test_compare(self):
        before, after = self.folder / "a.json", self.folder / "b.json"
        out = isochron("compare", before, after)
        self.assertEqual(out.returncode, 0, out.stderr)
        self.assertIn("Epochs take 20.0 % longer", out.stdout)
        told = json.loads(isochron("compare", before, after, "--json").stdout)
        self.assertAlmostEqual(told["worst_change"], 0.2)
        self.assertEqual(isochron("compare", before, after, "--fail-above", 25).returncode, 0)
        self.assertEqual(isochron("compare", before, after, "--fail-above", 10).returncode, 1)
        self.assertEqual(isochron("compare", after, before, "--fail-above", 0).returncode, 0)

    def test_what_is_not_there(self):
        for arguments in (("report", "nowhere.json"), ("compare", self.folder / "a.json", "nowhere.json"), ("compare", self.folder / "a.json")):
            out = isochron(*arguments)
            self.assertEqual(out.returncode, 2)
            self.assertNotEqual(out.stderr, "")
        (self.folder / "cut.json").write_text((self.folder / "a.json").read_text()[:100])
        self.assertEqual(isochron("report", self.folder / "cut.json").returncode, 2)

    def test_what_is_no_run(self):
        letter = self.folder / "letter.txt"
        letter.write_text("Dear reader,\nthis is no log.\n")
        for arguments in (("report", letter), ("report", letter, "--html", self.folder / "no.html"), ("compare", self.folder / "a.json", letter)):
            out = isochron(*arguments)
            self.assertEqual(out.returncode, 2)
            self.assertIn("nothing of a training run", out.stderr)
        self.assertFalse((self.folder / "no.html").exists())
        # Something of a run, and nothing to judge by: a guard must not pass.
        letter.write_text("RuntimeError: CUDA out of memory. Tried to allocate 2.00 GiB\n")
        out = isochron("compare", self.folder / "a.json", letter, "--fail-above", 10)
        self.assertEqual(out.returncode, 2)
        self.assertIn("--fail-above", out.stderr)

    def test_bench_refuses_options_that_would_change_nothing(self):
        for workload, option in (("lengths", "--record"), ("soak", "--trace"), ("pipeline-csv", "--estimate"), ("linreg", "--folder")):
            value = [] if option == "--estimate" else [self.folder / "file"]
            out = isochron("bench", workload, option, *value)
            self.assertEqual(out.returncode, 2)
            self.assertIn(f"{workload} has no {option}", out.stderr)

    def test_bench_writes_a_record_and_a_trace(self):
        out = isochron("bench", "linreg", "--epochs", 3, "--record", self.folder / "run.json", "--trace", self.folder / "trace.json")
        self.assertEqual(out.returncode, 0, out.stderr)
        self.assertIn("# of Calls", out.stdout)
        self.assertEqual(len(json.loads((self.folder / "run.json").read_text())["epochs"]), 3)
        self.assertIn("traceEvents", json.loads((self.folder / "trace.json").read_text()))
        self.assertEqual(isochron("report", self.folder / "run.json").returncode, 0)

    def test_soak(self):
        folder = self.folder / "soak"
        folder.mkdir()
        told = json.loads(isochron("bench", "soak", "--epochs", 30, "--folder", folder, "--json").stdout)
        for key in ("epochs_ms", "rss_mb", "open_files", "threads", "disk_bytes"):
            self.assertEqual(len(told[key]), 30, key)
        self.assertEqual(told["open_files"][1], told["open_files"][-1])
        self.assertEqual(told["threads"][1], told["threads"][-1])
        self.assertEqual(len((folder / "log.csv").read_text().splitlines()), 31)
        text = isochron("bench", "soak", "--epochs", 3).stdout
        self.assertIn("open files", text)
        told = json.loads(isochron("bench", "overhead", "--epochs", 1, "--json").stdout)
        self.assertIn("profiler_percent", told)


if __name__ == "__main__":
    unittest.main()
