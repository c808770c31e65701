"""Who takes part in the benchmark, how each is installed and started, and one measured run of it."""

import json
import os
import statistics
import subprocess
import sys
import time
from dataclasses import dataclass
from pathlib import Path

from idle import wait_until_idle

BENCH = Path(__file__).resolve().parent
ROOT = BENCH.parent
VENV = BENCH / ".venv"
PYTHON = VENV / "bin" / "python"
OURS = "isochron"
LIBTORCH_BUILD = VENV / "libtorch_peer"
PEERS = ("tf-fit", "tf-function", "tf-xla", "torch", "torch-compile", "libtorch", "jax", "jax-resident")
# Works on a second core whatever the thread count, and knows no loss before the end of an epoch: shown, not judged against.
UNJUDGED = ("jax-resident",)
TIMEOUT_SECONDS = 600


class RunFailed(Exception):
    """A contestant did not finish or printed no result; the text says why."""


@dataclass(frozen=True)
class Run:
    """One process from start to end, in the units of the report."""

    start_ms: float  # process start to the first step's loss
    first_ms: float  # first epoch
    later_ms: float  # median of the later epochs
    step_us: float
    compile_ms: float
    rss_mb: float
    epochs_ms: tuple
    version: str
    total_ms: float = 0.0  # process start to the accuracy on test data, where there is one
    accuracy: float = 0.0
    percent_of_peak: float = 0.0  # the model's operations against multiply-adds in registers; ours alone measures the peak


def install_peers(progress):
    """Creates the peers' Python environment, once; a changed requirements.txt is installed again."""
    requirements = BENCH / "requirements.txt"
    stamp = VENV / "installed-requirements.txt"
    if stamp.exists() and stamp.read_text() == requirements.read_text():
        return
    progress("installing the peers into bench/.venv (some gigabytes, once)")
    try:
        subprocess.run([sys.executable, "-m", "venv", VENV], check=True)
    except subprocess.CalledProcessError:
        raise SystemExit("python3 cannot create environments; install the package python3-venv") from None
    subprocess.run([PYTHON, "-m", "pip", "install", "--quiet", "-r", requirements], check=True)
    stamp.write_text(requirements.read_text())


def build_libtorch_peer(progress):
    progress("building the libtorch peer")
    locate = "import importlib.util as u; print(u.find_spec('torch').submodule_search_locations[0])"
    torch_dir = subprocess.run([PYTHON, "-c", locate], check=True, text=True, stdout=subprocess.PIPE).stdout.strip()
    source = BENCH / "peers" / "libtorch"
    configure = ["cmake", "--fresh", "-S", source, "-B", LIBTORCH_BUILD, f"-DTORCH_DIR={torch_dir}"]
    subprocess.run(configure, check=True, stdout=subprocess.DEVNULL)
    subprocess.run(["cmake", "--build", LIBTORCH_BUILD, "-j", "2"], check=True, stdout=subprocess.DEVNULL)


def our_program():
    return ROOT / "build" / "bin" / "isochron"


def command(contestant, workload, threads):
    if contestant == OURS:
        return [our_program(), "bench", workload, "--threads", str(threads), "--json"]
    common = ["--workload", workload, "--threads", str(threads), "--json"]
    if contestant == "libtorch":
        return [LIBTORCH_BUILD / "libtorch_peer", *common]
    family, _, mode = contestant.partition("-")
    script = {"tf": "tensorflow_peer.py", "torch": "torch_peer.py", "jax": "jax_peer.py"}[family]
    return [PYTHON, BENCH / "peers" / script, *common, *(["--mode", mode] if mode else [])]


def measure(contestant, workload, threads, extra=()):
    """Runs one contestant; the clock starts before its process exists."""
    environment = dict(os.environ)
    if contestant != OURS:
        environment["OMP_NUM_THREADS"] = str(threads)
        environment["TORCHINDUCTOR_CACHE_DIR"] = str(VENV / "inductor_cache")
    return to_run(*run_json([*command(contestant, workload, threads), *extra], environment))


def run_json(arguments, environment=None):
    """Runs a command on an idle machine; the line of JSON it printed, and when it was started."""
    wait_until_idle()
    start_ns = time.monotonic_ns()
    try:
        # close_fds=False lets Python spawn without copying its page tables, which would count against a 20 ms start.
        process = subprocess.run(
            [str(part) for part in arguments],
            env=environment,
            capture_output=True,
            text=True,
            timeout=TIMEOUT_SECONDS,
            close_fds=False,
        )
    except subprocess.TimeoutExpired:
        raise RunFailed(f"no result after {TIMEOUT_SECONDS} s") from None
    lines = [line for line in process.stdout.splitlines() if line.startswith("{")]
    if process.returncode != 0 or not lines:
        last_words = process.stderr.strip().splitlines()[-1:] or ["no output"]
        raise RunFailed(f"exit code {process.returncode}: {last_words[0]}")
    return json.loads(lines[-1]), start_ns


def to_run(result, start_ns):
    epochs = result["epochs_ms"]
    return Run(
        start_ms=(result["first_step_monotonic_ns"] - start_ns) / 1e6,
        first_ms=epochs[0],
        later_ms=statistics.median(epochs[1:] or epochs),
        step_us=result["step_us"],
        compile_ms=result["compile_ms"],
        rss_mb=result["rss_mb"],
        epochs_ms=tuple(epochs),
        version=result.get("version", ""),
        total_ms=max(0, result.get("evaluated_monotonic_ns", 0) - start_ns) / 1e6,
        accuracy=result.get("accuracy", 0.0),
        percent_of_peak=result.get("percent_of_peak", 0.0),
    )
