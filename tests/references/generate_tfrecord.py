"""Writes tfrecord/: examples by TensorFlow as TFRecord files, plain and gzip, and what they hold as JSON.

With --check FILE it reads a file of ours instead (written by test_files) and says whether TensorFlow finds the same.
"""

import json
import os
import sys
from pathlib import Path

os.environ["TF_CPP_MIN_LOG_LEVEL"] = "3"
import tensorflow as tf

folder = Path(__file__).parent / "tfrecord"
folder.mkdir(exist_ok=True)


def feature(value):
    if isinstance(value[0], float):
        return tf.train.Feature(float_list=tf.train.FloatList(value=value))
    if isinstance(value[0], int):
        return tf.train.Feature(int64_list=tf.train.Int64List(value=value))
    return tf.train.Feature(bytes_list=tf.train.BytesList(value=[v.encode() for v in value]))


rows = []
for i in range(50):
    row = {
        "pixels": [i + k / 8 for k in range(6)],
        "label": [i * 10**9 - 7],
        "name": [f"row {i}"],
        "raw": ["".join(chr(65 + (i + k) % 26) for k in range(4))],
        "unused": ["x" * i] if i else ["-"],
    }
    if i % 3:
        row["tags"] = list(range(-(i % 5), 1))
    if i % 2:
        row["weight"] = [i / 4]
    rows.append(row)


def serialized(row):
    example = tf.train.Example(features=tf.train.Features(feature={k: feature(v) for k, v in row.items()}))
    return example.SerializeToString(deterministic=True)


if sys.argv[1:2] == ["--check"]:
    found = [r.numpy() for r in tf.data.TFRecordDataset(sys.argv[2], "GZIP" if sys.argv[2].endswith(".gz") else "")]
    same = [tf.train.Example.FromString(r) for r in found] == [tf.train.Example.FromString(serialized(r)) for r in rows]
    print(f"{len(found)} records, the same as TensorFlow's" if same else "DIFFERENT")
    sys.exit(0 if same else 1)

for name, packing in (("plain.tfrecord", ""), ("packed.tfrecord.gz", "GZIP")):
    with tf.io.TFRecordWriter(str(folder / name), packing) as writer:
        for row in rows:
            writer.write(serialized(row))
(folder / "expected.json").write_text(json.dumps(rows, indent=None, separators=(",", ":")) + "\n")
