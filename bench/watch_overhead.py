#!/usr/bin/env python3
"""What `isochron watch` costs: a Keras and a PyTorch script, bare and watched in turn.

    watch_overhead.py [--isochron build/bin/isochron] [--python PYTHON] [--rounds 5]

Prints medians of wall time, their ratio (bar: 1.02), and the CPU time of the watcher itself as a share of one core
(bar: 1 %). On a machine with other work only the latter is steady.
"""
import argparse
import json
import os
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path

SCRIPTS = {
    "keras": """
import os
os.environ["TF_CPP_MIN_LOG_LEVEL"] = "2"
import numpy as np, keras
model = keras.Sequential([keras.Input((64,)), keras.layers.Dense(512, "relu"), keras.layers.Dense(512, "relu"), keras.layers.Dense(10)])
model.compile("adam", keras.losses.SparseCategoricalCrossentropy(from_logits=True))
model.fit(np.random.rand(30000, 64).astype("float32"), np.random.randint(0, 10, 30000), epochs=6)
""",
    "torch": """
import time, torch
from torch import nn
model = nn.Sequential(nn.Linear(64, 512), nn.ReLU(), nn.Linear(512, 512), nn.ReLU(), nn.Linear(512, 10))
optimizer = torch.optim.Adam(model.parameters())
x, y = torch.randn(30000, 64), torch.randint(0, 10, (30000,))
for epoch in range(6):
    start = time.time()
    for i in range(0, 30000, 32):
        optimizer.zero_grad()
        nn.functional.cross_entropy(model(x[i:i + 32]), y[i:i + 32]).backward()
        optimizer.step()
    print(f"epoch {epoch + 1}/6 time {time.time() - start:.2f}s", flush=True)
""",
}


def seconds_of(command, folder):
    start = time.monotonic()
    subprocess.run(command, cwd=folder, check=True, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    return time.monotonic() - start


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--isochron", default="build/bin/isochron")
    parser.add_argument("--python", default=str(Path(__file__).parent / ".venv/bin/python"))
    parser.add_argument("--rounds", type=int, default=5)
    options = parser.parse_args()
    isochron, python, missed = os.path.abspath(options.isochron), os.path.abspath(options.python), False
    for name, script in SCRIPTS.items():
        bare, watched, shares = [], [], []
        with tempfile.TemporaryDirectory(prefix="isochron_overhead_") as folder:
            (Path(folder) / "train.py").write_text(script)
            command = [python, "train.py"]
            for _ in range(options.rounds):
                bare.append(seconds_of(command, folder))
                watched.append(seconds_of([isochron, "watch", "--quiet", "--record", "record.json", "--", *command], folder))
                facts = {f["key"]: f["value"] for f in json.loads((Path(folder) / "record.json").read_text())["facts"]}
                shares.append(float(facts["watch.cpu_seconds"]) / watched[-1])
        ratio = statistics.median(watched) / statistics.median(bare)
        missed = missed or ratio > 1.02 or statistics.median(shares) > 0.01
        print(f"{name:6} bare {statistics.median(bare):6.2f} s  watched {statistics.median(watched):6.2f} s  ratio {ratio:.3f} (bar 1.02)  "
              f"watcher {statistics.median(shares):.2%} of a core (bar 1%)", flush=True)
    sys.exit(missed)


if __name__ == "__main__":
    main()
