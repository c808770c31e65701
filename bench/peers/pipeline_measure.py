"""What the pipeline peers share: arguments, timed passes, the JSON line with the keys of `isochron bench pipeline-…`."""

import argparse
import json
import os
import statistics
import time


def parse_arguments(modes):
    parser = argparse.ArgumentParser()
    parser.add_argument("--workload", required=True)
    parser.add_argument("--mode", choices=modes, default=modes[0])
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--epochs", type=int, default=4, help="passes")
    parser.add_argument("--folder", required=True, help="with the files that `isochron bench` has made")
    parser.add_argument("--json", action="store_true", help="the only output there is; accepted like ours")
    arguments = parser.parse_args()
    os.environ["OMP_NUM_THREADS"] = str(arguments.threads)
    os.environ["CUDA_VISIBLE_DEVICES"] = "-1"
    os.environ["TF_CPP_MIN_LOG_LEVEL"] = "3"
    return arguments


def peak_resident_mb():
    with open("/proc/self/status") as status:
        line = next(line for line in status if line.startswith("VmHWM"))
    return round(int(line.split()[1]) / 1024, 1)


def run(arguments, make, rows_of, peer, version):
    """Times passes over what `make()` gives; `rows_of(batch)` is the number of elements of a batch."""
    passes, first_batch, elements = [], 0.0, 0
    start = time.monotonic()
    batches = make()
    for number in range(arguments.epochs):
        if number:
            start = time.monotonic()
        elements = 0
        for batch in batches:
            if number == 0 and elements == 0:
                first_batch = time.monotonic() - start
            elements += rows_of(batch)
        passes.append(time.monotonic() - start)
    result = {
        "workload": arguments.workload,
        "threads": arguments.threads,
        "first_batch_ms": round(first_batch * 1e3, 3),
        "passes_ms": [round(seconds * 1e3, 3) for seconds in passes],
        "elements_per_s": round(elements / statistics.median(passes), 1),
        "rss_mb": peak_resident_mb(),
        "peer": peer,
        "version": version,
    }
    print(json.dumps(result))
