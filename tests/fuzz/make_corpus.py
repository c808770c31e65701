#!/usr/bin/env python3
"""Makes the seed corpus from the labelled runs and reference files: small beginnings of every kind of file. make_corpus.py"""
import gzip
import json
import io
import struct
from pathlib import Path

import h5py
import numpy

HERE = Path(__file__).resolve().parent
RUNS, REFERENCES = HERE.parent / "runs", HERE.parent / "references"


def seed(reader, name, data):
    folder = HERE / "corpus" / reader
    folder.mkdir(parents=True, exist_ok=True)
    (folder / name).write_bytes(data)


for log in sorted(RUNS.glob("*/console.log"))[::3]:
    seed("console", log.parent.name, log.read_bytes()[-3000:])
for path in sorted(RUNS.glob("*/trace.json.gz"))[:3]:
    trace = json.loads(gzip.decompress(path.read_bytes()))
    trace["traceEvents"] = [e for e in trace["traceEvents"] if e.get("ph") == "X"][:25]
    seed("kineto", path.parent.name, json.dumps(trace, indent=1).encode()[:8000])
for path in sorted(RUNS.glob("*/xplane/**/*.pb")):
    seed("xplane", path.parts[len(RUNS.parts)], path.read_bytes()[:6000])
for path in sorted(RUNS.glob("*/events/**/*tfevents*"))[:4]:
    seed("tfevents", path.name.split(".")[3], path.read_bytes()[:3000])
seed("wrapped", "docker.log", b'{"log":"Epoch 1/2\\n","stream":"stdout","time":"2026-11-15T12:58:41.1Z"}\n{"log":"Epoch 2/2","stream":"stdout","time":"2026-11-15T12:58:52.1Z"}\n')
seed("wrapped", "message.jsonl", b'{"ts": 1763211521.3, "message": "epoch 1 took 3 s"}\n{"event": "epoch_end", "epoch": 2, "seconds": 3.5}\nplain\n')
seed("table", "keras.csv", b"epoch,accuracy,loss,val_loss\n0,0.5,1.2,1.3\n1,0.6,1.1,1.2\n2,0.7,1.0,1.1\n")
seed("table", "lines.jsonl", b'{"epoch": 1.0, "loss": 0.5, "step": 100, "epoch_time": 10}\n{"epoch": 2.0, "loss": 0.4, "step": 200, "time": "0:01:30"}\n')
seed("document", "notebook.ipynb", json.dumps({"nbformat": 4, "cells": [{"cell_type": "code", "outputs": [
    {"text": ["Epoch 1/2\n", "10/10 - 3s - loss: 0.4\n"]}, {"data": {"text/plain": "x"}}, {"traceback": ["ValueError: x"]}]}]}).encode())
seed("document", "trainer_state.json", json.dumps({"log_history": [{"epoch": 1.0, "loss": 0.3, "step": 10}, {"train_runtime": 33.1}]}).encode())
seed("record", "run.json", json.dumps({"schema": 1, "source": "watch", "framework": "keras", "seconds": 9.5, "planned_epochs": 3, "epochs": [
    {"index": 1, "start": 0.5, "seconds": 4.0, "steps": 10, "phases": {"trace": 1.5}, "metrics": {"loss": 0.4}}, {"index": 2, "start": 4.5, "seconds": 2.5}],
    "steps": [], "spans": [{"name": "import", "phase": "start", "start": 0.0, "seconds": 0.5, "epoch": 0, "thread": 0}],
    "samples": [{"time": 0.1, "values": {"rss_bytes": 1e8}}], "facts": [{"key": "exit", "value": "0", "source": "watch"}]}, indent=1).encode())

# Formats of data. Seeds of npy, image and tfrecord are the files in tests/references themselves.
for archive in ("plain.npz", "packed.npz"):
    seed("npz", archive, (REFERENCES / "npy" / archive).read_bytes())
records = (REFERENCES / "tfrecord" / "plain.tfrecord").read_bytes()
for number in range(4):
    (length,) = struct.unpack_from("<Q", records)
    seed("example", f"record{number}", records[12 : 12 + length])
    records = records[16 + length :]
rows = b'id,size,name,ok\n1,2.5,"a ""b"", c",true\n-7,1e-3,"x\ny",false\n,nan,z,true\n12,7,w,false\n'
for name, choice, text in [
    ("plain", 0, rows),
    ("semicolons", 1, rows.replace(b",", b";")),
    ("no_header", 2, rows.split(b"\n", 1)[1]),
    ("defaults", 4, b"a,b\n1,2\n,3\n4,\r\n5,6"),
    ("long_row", 8, b"a,b\n" + b"1" * 80 + b",2\n"),
    ("features", 16, b"a,b,c\n1,2.5,3\n4,1e30,-6\n"),
]:
    seed("csv", name, bytes([choice]) + text)
for name, dtype in [("float32", "<f4"), ("int8", "i1"), ("bool", "?"), ("bfloat16", "V2")]:
    file = io.BytesIO()
    with h5py.File(file, "w") as weights:
        weights["layers/dense/vars/0"] = numpy.arange(6).astype("<f4").reshape(2, 3)
        weights["layers/dense/vars/1"] = numpy.zeros(3, dtype)
    seed("hdf5", name, file.getvalue())


def safetensors(header, data):
    text = json.dumps(header).encode()
    return struct.pack("<Q", len(text)) + text + data


def tensor(dtype, shape, begin, end):
    return {"dtype": dtype, "shape": shape, "data_offsets": [begin, end]}


seed("safetensors", "two", safetensors({"__metadata__": {"format": "pt"}, "a": tensor("F32", [2, 3], 0, 24), "b": tensor("BOOL", [2], 24, 26)}, bytes(26)))
seed("safetensors", "narrow", safetensors({"a": tensor("I8", [3], 0, 3), "b": tensor("U16", [2], 3, 7), "c": tensor("U32", [1], 7, 11)}, bytes(range(11))))
seed("safetensors", "empty", safetensors({"a": tensor("BF16", [0, 7], 0, 0), "b": tensor("F64", [], 0, 8)}, bytes(8)))
seed("manifest", "manifest.json", json.dumps({"format": "isochron-checkpoint", "version": 1, "model": "sequential", "epoch": 3, "step": 0,
    "total_steps": 300, "threads": 2, "logs": {"loss": 0.5, "accuracy": None}, "saved_at": "2026-01-02T03:04:05Z", "saved_at_ns": 1767323045000000000,
    "state": {"file": "state.safetensors", "bytes": 1024, "crc32c": "1234abcd"}}, indent=1)[:-2].encode())
seed("idx", "bytes", struct.pack(">HBBIII", 0, 8, 3, 2, 2, 2) + bytes(range(8)))
seed("idx", "floats", struct.pack(">HBBI3f", 0, 13, 1, 3, 1, -2, 3.5))
seed("idx", "packed", gzip.compress(struct.pack(">HBBI", 0, 8, 1, 4) + b"abcd", mtime=0))
