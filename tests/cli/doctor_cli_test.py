#!/usr/bin/env python3
"""The `isochron doctor` command as a user runs it: exit codes, plain output, JSON, HTML, standard input."""
import json
import os
import subprocess
import sys
import tempfile
import unittest
from pathlib import Path

COMMAND = sys.argv.pop(1)
RUNS = Path(__file__).parent.parent / "runs"


def doctor(*arguments, **options):
    return subprocess.run([COMMAND, "doctor", *map(str, arguments)], capture_output=True, text=True, **options)


class Doctor(unittest.TestCase):
    def test_text_is_plain_without_a_terminal(self):
        out = doctor(RUNS / "keras-gru-sensor")
        self.assertEqual(out.returncode, 0)
        self.assertTrue(out.stdout.startswith("Epoch 1 took"))
        self.assertNotIn("\x1b", out.stdout)
        for part in ("slow-first", "startup.graph", "What to do"):
            self.assertIn(part, out.stdout)

    def test_json_has_the_documented_shape(self):
        told = json.loads(doctor("--json", RUNS / "torch-doc-tagger").stdout)
        self.assertEqual(told["schema"], 1)
        self.assertEqual(told["framework"], "torch")
        self.assertEqual(told["symptom"], "slowing")
        self.assertEqual([e["index"] for e in told["epochs"]], [1, 2, 3, 4, 5, 6])
        self.assertEqual(set(told["verdicts"][0]), {"cause", "share", "confidence", "summary", "evidence", "fix"})

    def test_fail_on(self):
        self.assertEqual(doctor("--fail-on", "stuck,died", RUNS / "torch-vae-digits").returncode, 1)
        self.assertEqual(doctor("--fail-on", "stuck,died", RUNS / "keras-clothes-cnn").returncode, 0)
        wrong = doctor("--fail-on", "slow-frist", RUNS / "keras-clothes-cnn")
        self.assertEqual(wrong.returncode, 2)
        self.assertIn('did you mean "slow-first"', wrong.stderr)

    def test_nothing_to_read(self):
        self.assertEqual(doctor("no-such-file.log").returncode, 2)
        self.assertEqual(doctor().returncode, 2)
        with tempfile.TemporaryDirectory() as folder:
            out = doctor(folder)
            self.assertEqual(out.returncode, 2)
            self.assertIn("nothing to read", out.stderr)

    def test_standard_input(self):
        log = "Epoch 1 took 9 s\nEpoch 2 took 1 s\nEpoch 3 took 1 s\n"
        out = doctor("--json", "-", input=log)
        self.assertEqual(json.loads(out.stdout)["symptom"], "slow-first")

    def test_epochs_without_times_are_not_called_healthy(self):
        log = "Epoch 1/3 loss 0.5\nEpoch 2/3 loss 0.4\nEpoch 3/3 loss 0.3\n"
        with tempfile.TemporaryDirectory() as folder:
            page = Path(folder) / "report.html"
            out = doctor("--html", page, "-", input=log).stdout
            self.assertNotIn("healthy", page.read_text())
        self.assertTrue(out.startswith("3 epochs, but nothing here tells how long they took."), out)
        self.assertNotIn("healthy", out)
        self.assertIn("isochron watch -- python train.py", out)
        self.assertEqual(json.loads(doctor("--json", "-", input=log).stdout)["verdicts"][0]["confidence"], 0)
        # What it advises, `ts '%F %T'`, helps.
        stamped = "".join(f"2026-11-17 10:00:{2 * i:02} {line}\n" for i, line in enumerate(log.splitlines() + ["done"]))
        self.assertEqual(len(json.loads(doctor("--json", "-", input=stamped).stdout)["epochs"]), 2)

    def test_runs_that_count_steps_are_told_by_steps(self):
        def log(count, every):
            return "".join(f"iteration {i * every}/ 500000 | elapsed time per iteration (ms): {1200.0 if i <= count // 2 else 2520.0} | "
                           "lm loss: 2.3E+00 |\n" for i in range(1, count + 1))
        for count, every, evidence in ((10, 100, "10 readings of step times"), (48, 10, "48 readings of step times, of which each 4")):
            told = json.loads(doctor("--json", "-", input=log(count, every)).stdout)
            changed = (count // 2 + 1) * every
            self.assertIn(f"from step {changed} on steps take 2.1x as long: 1.2 s before", told["verdicts"][0]["summary"])
            self.assertTrue(any(evidence in line for line in told["verdicts"][0]["evidence"]), told)
            self.assertNotIn("epochs take", json.dumps(told))

    def test_html_stands_alone(self):
        with tempfile.TemporaryDirectory() as folder:
            page = Path(folder) / "report.html"
            self.assertEqual(doctor("--html", page, RUNS / "torch-fraud-encoder").returncode, 0)
            text = page.read_text()
        self.assertIn("memory.leak", text)
        self.assertIn('class="bars"', text)
        for outside in ("http://", "https://", "<script", "src="):
            self.assertNotIn(outside, text)

    def test_no_color(self):
        out = doctor(RUNS / "keras-gru-sensor", env={**os.environ, "NO_COLOR": "1", "LANG": "C", "LC_ALL": "C"})
        self.assertIn("####", out.stdout)
        self.assertNotIn("\u2588", out.stdout)


if __name__ == "__main__":
    unittest.main()
