#!/usr/bin/env python3
"""The command where its streams and paths fail it: full, closed, pipes and devices in place of files."""
import json
import os
import subprocess
import sys
import tempfile
import unittest
from pathlib import Path

COMMAND = sys.argv.pop(1)
LOG = Path(__file__).parent.parent / "runs/keras-logs-seq/console.log"


def run(*arguments, **options):
    return subprocess.run([COMMAND, *map(str, arguments)], text=True, timeout=60, **options)


def in_shell(redirections, *arguments):
    """As a shell starts it, with `2>&-` and the like."""
    return subprocess.run(["sh", "-c", f'"$@" {redirections}', "sh", COMMAND, *map(str, arguments)],
                          capture_output=True, text=True, timeout=60)


class Streams(unittest.TestCase):
    def test_output_that_is_lost_is_no_success(self):
        for arguments in (["doctor", LOG], ["doctor", "--json", LOG], ["report", LOG], ["clean"], ["--help"]):
            with self.subTest(arguments), open("/dev/full", "w") as full:
                out = run(*arguments, stdout=full, stderr=subprocess.PIPE)
                self.assertEqual(out.returncode, 2)
                self.assertEqual(out.stderr, "isochron: standard output could not be written: No space left on device\n")

    def test_closed_streams(self):
        out = in_shell(">&-", "doctor", LOG)
        self.assertEqual((out.returncode, out.stderr),
                         (2, "isochron: standard output could not be written: Bad file descriptor\n"))
        self.assertEqual(in_shell("2>&-", "doctor", "/no/such/file").returncode, 2)
        out = in_shell("2>&-", "watch", "--", "sh", "-c", "echo hi; exit 3")
        self.assertEqual((out.returncode, out.stdout), (3, "hi\n"))
        # Nothing is printed into a file that got the number of a closed stream.
        with tempfile.TemporaryDirectory() as folder:
            page = Path(folder) / "told.json"
            out = in_shell("<&- >&- 2>&-", "watch", "--json", page, "--", "sh", "-c", "exit 3")
            self.assertEqual(out.returncode, 3)
            json.loads(page.read_text())

    def test_pipes_and_devices_are_written_to_and_never_replaced(self):
        with tempfile.TemporaryDirectory() as folder:
            pipe = Path(folder) / "pipe"
            os.mkfifo(pipe)
            reader = subprocess.Popen(["cat", pipe], stdout=subprocess.PIPE)
            self.assertEqual(run("doctor", "--html", pipe, LOG, capture_output=True).returncode, 0)
            self.assertIn(b"<!doctype html>", reader.communicate(timeout=60)[0].lower())
            self.assertTrue(pipe.is_fifo())
            self.assertEqual(os.listdir(folder), ["pipe"])
            out = run("watch", "--quiet", "--json", "/dev/stdout", "--", "true", capture_output=True)
            self.assertEqual(json.loads(out.stdout)["schema"], 1)


class Watch(unittest.TestCase):
    def test_a_report_that_cannot_be_written_is_told_before_the_command_runs(self):
        with tempfile.TemporaryDirectory() as folder:
            ran = Path(folder) / "ran"
            for option in ("--report", "--json", "--record"):
                out = run("watch", option, f"{folder}/missing/file", "--", "touch", ran, capture_output=True)
                self.assertEqual(out.returncode, 2)
                self.assertIn("missing/file: No such file or directory", out.stderr)
                self.assertFalse(ran.exists())

    def test_a_report_that_is_lost_at_the_end_loses_neither_diagnosis_nor_status(self):
        with tempfile.TemporaryDirectory() as folder:
            place = Path(folder) / "place"
            for status, expected in ((7, 7), (0, 2)):
                place.mkdir()
                out = run("watch", "--report", place / "run.html", "--", "sh", "-c",
                          f'echo "Epoch 1 took 9 s"; rm -r {place}; exit {status}', capture_output=True)
                self.assertEqual(out.returncode, expected)
                self.assertIn("One epoch of 9.0 s" if status == 0 else "exit status 7", out.stderr)
                self.assertIn("run.html: No such file or directory", out.stderr)

    def test_it_does_not_advise_itself_and_names_signals(self):
        out = run("watch", "--", "sh", "-c", "kill -PIPE $$", capture_output=True)
        self.assertEqual(out.returncode, 128 + 13)
        self.assertIn("by signal 13 (SIGPIPE)", out.stderr)
        self.assertNotIn("isochron watch", out.stderr)
        self.assertNotIn("isochron watch", run("watch", "--", "true", capture_output=True).stderr)

    def test_a_full_disk_below_the_output_does_not_end_the_command(self):
        with open("/dev/full", "w") as full:
            out = run("watch", "--quiet", "--", "sh", "-c", "for i in 1 2 3; do echo $i; sleep 0.2; done; exit 5",
                      stdout=full, stderr=subprocess.PIPE)
        self.assertEqual(out.returncode, 5)
        self.assertEqual(out.stderr.count("No space left on device"), 1)


class Usage(unittest.TestCase):
    def test_bench_knows_before_it_measures_that_a_file_cannot_be_written(self):
        for option in ("--record", "--trace"):
            out = run("bench", "deep1000", option, "/no/such/folder/file", capture_output=True)
            self.assertEqual((out.returncode, out.stdout), (2, ""))
            self.assertIn("/no/such/folder/file: No such file or directory", out.stderr)

    def test_a_limit_that_is_no_number_guards_nothing(self):
        for limit in ("nan", "inf"):
            out = run("compare", "--fail-above", limit, LOG, LOG, capture_output=True)
            self.assertEqual(out.returncode, 2)
            self.assertIn("--fail-above must be a number of percent", out.stderr)

    def test_standard_input_is_one_run_not_two(self):
        out = run("compare", "-", "-", input="Epoch 1/2\n", capture_output=True)
        self.assertEqual(out.returncode, 2)
        self.assertIn("standard input holds one run", out.stderr)

    def test_json_of_names_that_are_no_utf8(self):
        with tempfile.TemporaryDirectory() as folder:
            environment = {**os.environb, b"ISOCHRON_TMPDIR": folder.encode() + b"/a\xff"}
            told = subprocess.run([COMMAND, "clean", "--json"], env=environment, capture_output=True, timeout=60).stdout
            self.assertIn("a\ufffd", json.loads(told.decode("utf-8"))["root"])

    def test_commands_that_do_not_exist_are_named(self):
        out = run("doktor", LOG, capture_output=True)
        self.assertEqual(out.returncode, 2)
        self.assertIn('unknown command "doktor"; did you mean "doctor"?', out.stderr)
        out = run(capture_output=True)
        self.assertEqual((out.returncode, out.stdout), (2, ""))
        self.assertIn("Subcommands:", out.stderr)

    def test_numbers_below_zero(self):
        for arguments in (["demo", "--threads", "-1"], ["demo", "--epochs", "-3"], ["watch", "--live", "-5", "--", "true"]):
            out = run(*arguments, capture_output=True)
            self.assertEqual((out.returncode, out.stdout), (2, ""))
            self.assertIn("must not be negative", out.stderr)

    @unittest.skipUnless(os.path.exists("/proc/kmsg"), "needs a file that never ends")
    def test_files_of_proc_that_never_end_are_passed_over_in_folders(self):
        with tempfile.TemporaryDirectory() as folder:
            (Path(folder) / "kmsg").symlink_to("/proc/kmsg")
            self.assertEqual(run("doctor", folder, capture_output=True).returncode, 2)


if __name__ == "__main__":
    unittest.main()
