#!/usr/bin/env python3
"""`isochron doctor` on damaged and hostile input: a clear message or an answer, in bounded time and memory.

    bad_input_test.py ISOCHRON

Every call has 1 GB of address space; one that hangs or needs more fails the test.
"""
import gzip
import json
import os
import random
import resource
import subprocess
import sys
import tempfile
import threading
import unittest
from pathlib import Path

COMMAND = sys.argv.pop(1)
RUNS = Path(__file__).parent.parent / "runs"
LOG = "".join(f"Epoch {e}/4 took {s} s\n" for e, s in ((1, 9), (2, 3), (3, 3), (4, 3))).encode()


def limit():
    resource.setrlimit(resource.RLIMIT_AS, (1 << 30, 1 << 30))


def doctor(*arguments, **options):
    return subprocess.run([COMMAND, "doctor", "--json", *map(str, arguments)], capture_output=True, timeout=90, preexec_fn=limit, **options)


class BadInput(unittest.TestCase):
    def setUp(self):
        self.temporary = tempfile.TemporaryDirectory(prefix="isochron_bad_")
        self.folder = Path(self.temporary.name)

    def tearDown(self):
        self.temporary.cleanup()

    def read(self, name, data):
        path = self.folder / name
        path.write_bytes(data)
        return doctor(path)

    def answer(self, out):
        self.assertEqual(out.returncode, 0, out.stderr)
        return json.loads(out.stdout)

    def refusal(self, out, *words):
        self.assertEqual(out.returncode, 2, out.stderr)
        for word in words:
            self.assertIn(word, out.stderr.decode())

    def test_cut_gzip_counts_up_to_the_cut(self):
        data = gzip.compress(LOG * 20000 + os.urandom(40000).hex().encode())
        out = self.read("train.log.gz", data[:len(data) // 2])
        self.answer(out)
        self.assertIn("read up to there", out.stderr.decode())

    def test_damaged_gzip(self):
        data = bytearray(gzip.compress(os.urandom(100000)))
        data[5000:5100] = b"\0" * 100
        self.assertIn(self.read("trace.json.gz", bytes(data)).returncode, (0, 2))

    def test_junk(self):
        self.refusal(self.read("junk", random.Random(1).randbytes(300000)), "nothing to read", "not a log")

    def test_empty(self):
        self.refusal(self.read("empty.log", b""), "empty")

    def test_cut_traces(self):
        whole = gzip.decompress((RUNS / "torch-slots-clf" / "trace.json.gz").read_bytes())
        self.assertGreater(len(self.answer(self.read("cut.json", whole[:len(whole) // 3]))["verdicts"]), 0)
        plane = next((RUNS / "tf-bandit-policy").glob("xplane/**/*.pb")).read_bytes()
        self.answer(self.read("cut.xplane.pb", plane[:len(plane) // 3]))
        events = next((RUNS / "keras-clothes-cnn").glob("events/train/*")).read_bytes()
        self.answer(self.read("events.out.tfevents.1", events[:len(events) // 2]))

    def test_cut_documents(self):
        for name, text in (("n.ipynb", b'{"nbformat": 4, "cells": [{"cell_type": "code", "outputs": [{"text": ["Epo'),
                           ("trainer_state.json", b'{"log_history": [{"epoch": 1.0, "loss"'),
                           ("run.json", b'{"schema": 1, "epochs": [{"index": 1, "seconds"')):
            self.refusal(self.read(name, text), name)

    def test_deep_nesting(self):
        for start in (b'{"traceEvents": ', b'{"nbformat": 4, "cells": ', b'{"schema": 1, "epochs": ', b'{"log_history": '):
            self.assertIn(self.read("deep.json", start + b"[" * 2_000_000).returncode, (0, 2))

    def test_one_endless_line(self):
        reader = subprocess.Popen([COMMAND, "doctor", "--json", "-"], stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                                  stderr=subprocess.PIPE, preexec_fn=limit)
        reader.stdin.write(LOG)
        piece = b"loss 0.5 of step 100 [ 3/10 " * 37450
        for _ in range(300):
            reader.stdin.write(piece)
        out, _ = reader.communicate(timeout=90)
        self.assertEqual(len(json.loads(out)["epochs"]), 4)

    def test_holes(self):
        path = self.folder / "sparse.log"
        path.write_bytes(LOG)
        os.truncate(path, 2 << 30)
        self.assertEqual(len(self.answer(doctor(path))["epochs"]), 4)

    def test_bomb(self):
        member = gzip.compress(b"x" * (1 << 24))
        out = self.read("bomb.log.gz", gzip.compress(LOG) + member * 100)
        self.assertIn(out.returncode, (0, 2))
        self.assertIn("times its size", out.stderr.decode())

    def test_absurd_numbers(self):
        lines = ["99999-99-99 25:61:61 Epoch 1 started", "0000-00-00 00:00:00 Epoch 2 started", "Epoch 99999999999999999999 took 3 s",
                 "Epoch 3 took 1e308 s", "Epoch 4 took -5 s", "Epoch 5 took nan s", "Epoch 6 took inf s", "Epoch -7 took 3 s",
                 "Epoch 1/0 took 0 s", "9223372036854775807/9223372036854775807 [=====] - 99999999999d 1e99s/step",
                 "100%|###| 5/0 [99:99:99<-1:00, 0.00it/s]", "{'epoch': 1e400, 'loss': 'nan', 'train_runtime': '-1'}",
                 "2106-02-07 06:28:16 epoch 8 done", "1901-12-13 20:45:52 epoch 9 done"]
        told = self.answer(self.read("absurd.log", "\n".join(lines * 3).encode()))
        for epoch in told["epochs"]:
            self.assertGreaterEqual(epoch["seconds"], 0)
            self.assertLess(epoch["seconds"], 1e10)

    def test_many_epochs(self):
        text = "".join(f"Epoch {e} took 1.0 s\n" for e in range(300_000)).encode()
        self.assertEqual(self.answer(self.read("many.log", text))["symptom"], "healthy")

    def test_links_and_loops(self):
        (self.folder / "run").mkdir()
        (self.folder / "run" / "train.log").write_bytes(LOG)
        (self.folder / "run" / "again").symlink_to(self.folder / "run")
        (self.folder / "run" / "log2").symlink_to(self.folder / "run" / "train.log")
        self.assertEqual(len(self.answer(doctor(self.folder / "run"))["epochs"]), 4)
        (self.folder / "a").symlink_to(self.folder / "b")
        (self.folder / "b").symlink_to(self.folder / "a")
        self.refusal(doctor(self.folder / "a"), "no such file")

    def test_pipes(self):
        pipe = self.folder / "pipe"
        os.mkfifo(pipe)
        self.refusal(doctor(pipe), "nothing came through this pipe")
        writer = threading.Thread(target=lambda: pipe.write_bytes(LOG))
        writer.start()
        self.assertEqual(len(self.answer(doctor(pipe))["epochs"]), 4)
        writer.join()
        (self.folder / "train.log").write_bytes(LOG)  # a pipe in a folder is left alone
        self.assertEqual(len(self.answer(doctor(self.folder))["epochs"]), 4)

    def test_devices(self):
        self.refusal(doctor("/dev/zero"), "not a log")
        self.refusal(doctor("/dev/null"), "empty")

    def test_file_that_grows(self):
        path, going = self.folder / "train.log", True
        path.write_bytes(LOG)

        def write():
            with open(path, "ab") as f:
                while going:
                    f.write(b"a warning that repeats itself\n" * 10000)
        writer = threading.Thread(target=write)
        writer.start()
        try:
            out = doctor(path)
        finally:
            going = False
            writer.join()
        self.assertEqual(len(self.answer(out)["epochs"]), 4)

    def test_mutations(self):
        """What the rules make of logs nobody wrote: an answer, always."""
        chance = random.Random(7)
        logs = [path.read_bytes()[-20000:] for path in sorted(RUNS.glob("*/console.log"))]
        for _ in range(60):
            data = bytearray(chance.choice(logs))
            for _ in range(chance.randrange(1, 60)):
                at = chance.randrange(len(data))
                kind = chance.randrange(4)
                if kind == 0:
                    data[at] = chance.randrange(256)
                elif kind == 1:
                    del data[at:at + chance.randrange(200)]
                elif kind == 2:
                    data[at:at] = data[chance.randrange(len(data)):][:chance.randrange(400)]
                else:
                    data[at:at] = str(chance.choice([0, -1, 1e30, 7, 10**18])).encode()
                if not data:
                    data = bytearray(b"x")
            self.assertIn(self.read("mutant.log", bytes(data)).returncode, (0, 2))


if __name__ == "__main__":
    unittest.main()
