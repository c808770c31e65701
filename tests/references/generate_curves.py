"""100 training losses under every optimizer and loss, and schedule values, from Keras 3 and PyTorch -> curves.json.

README.md describes the model and the fields. Run: bench/.venv/bin/python tests/references/generate_curves.py
"""

import json
import subprocess
import sys
from pathlib import Path

from curve_problem import BATCHES, batches, weights
from reference_io import tensor, write


def answers(script):
    """TensorFlow and PyTorch bring an LLVM each and do not share a process."""
    command = [sys.executable, Path(__file__).with_name(script)]
    return json.loads(subprocess.run(command, check=True, stdout=subprocess.PIPE).stdout)


if __name__ == "__main__":
    parts = [answers("curves_torch.py"), answers("curves_keras.py")]
    write(
        "curves.json",
        {
            "weights": {name: tensor(value) for name, value in weights.items()},
            "batches": [{name: tensor(values[index]) for name, values in batches.items()} for index in range(BATCHES)],
            "curves": [curve for part in parts for curve in part["curves"]],
            "schedules": [schedule for part in parts for schedule in part["schedules"]],
            "minimizations": parts[0]["minimizations"],
        },
    )
