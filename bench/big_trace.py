#!/usr/bin/env python3
"""Makes a large profile out of a small one, to measure `isochron doctor` on it.

    big_trace.py TRACE.json.gz OUT.json [GIGABYTES]      PyTorch: the events again and again, later each time
    big_trace.py PLANE.xplane.pb OUT.xplane.pb [GIGABYTES]   TensorFlow: the planes again and again
    /usr/bin/time -v isochron doctor OUT.json
"""
import gzip
import json
import sys


def main():
    source, out = sys.argv[1:3]
    size = int(float(sys.argv[3] if len(sys.argv) > 3 else 1) * 1e9)
    if not source.endswith(".json.gz"):
        data = open(source, "rb").read()
        with open(out, "wb") as f:
            while f.tell() < size:
                f.write(data)  # protocol buffers that follow each other are one message
        return
    trace = json.loads(gzip.open(source).read())
    events = trace.pop("traceEvents")
    length = max(e["ts"] + e.get("dur", 0) for e in events if "ts" in e) - min(e["ts"] for e in events if e.get("ts"))
    with open(out, "w") as f:
        f.write(json.dumps(trace, indent=1)[:-2] + ',\n "traceEvents": [\n')
        turn = 0
        while f.tell() < size:
            f.write((",\n" if turn else "") + ",\n".join(json.dumps(e, indent=1) for e in events))
            for e in events:
                if "ts" in e:
                    e["ts"] += length
            turn += 1
        f.write("\n]}\n")


if __name__ == "__main__":
    main()
