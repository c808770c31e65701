"""The bars we hold ourselves to, judged on medians over the repeats.

`results` everywhere is {(workload, threads): {contestant: [Run, ...]}}.
"""

import statistics
from dataclasses import dataclass

from contestants import OURS, PEERS, UNJUDGED

START_MS = {"mlp32": 20, "cnn": 40, "transformer": 40, "resnet": 60}
START_AGAINST_LIBTORCH = {"mlp32": 1 / 15}
STEP_AGAINST_BEST = {"mlp32": 0.35, "mlp1": 0.15, "cnn": 0.70, "transformer": 0.70, "lstm": 0.70, "resnet": 0.80}
RESIDENT_MB = {"mlp32": 40, "mlp1": 40, "linreg": 40, "cnn": 120, "transformer": 90}
TOTAL_AGAINST_BEST, ACCURACY = {"mnist": 0.60}, {"mnist": 0.98}
COMPILING_SHARE = {"lengths": 0.02}  # of the first epoch
FIRST_EPOCH_RATIO, FIRST_EPOCH_EXTRA_MS = 1.10, 2.0


@dataclass(frozen=True)
class Verdict:
    workload: str
    threads: int
    measure: str
    ours: str
    against: str
    value: str
    bar: str
    passed: bool


def median_of(runs, field):
    return statistics.median(getattr(run, field) for run in runs)


def best_peer(contestants, field):
    """Name and median of the peer with the smallest value, or None when no peer ran."""
    judged = [name for name in PEERS if name not in UNJUDGED and contestants.get(name)]
    peers = {name: median_of(contestants[name], field) for name in judged}
    return min(peers.items(), key=lambda item: item[1]) if peers else None


def judge(results):
    """Every bar that the results allow to be judged, in the order of the workloads."""
    return [verdict for key, contestants in results.items() if contestants.get(OURS) for verdict in judge_one(*key, contestants)]


def judge_one(workload, threads, contestants):
    runs = contestants[OURS]
    start, step, rss = (median_of(runs, field) for field in ("start_ms", "step_us", "rss_mb"))
    first, later = median_of(runs, "first_ms"), median_of(runs, "later_ms")

    def verdict(measure, ours, against, value, bar, passed):
        return Verdict(workload, threads, measure, ours, against, value, bar, passed)

    if workload in START_MS:
        limit = START_MS[workload]
        yield verdict("start to first step", f"{start:.1f} ms", "", f"{start:.1f} ms", f"<= {limit} ms", start <= limit)
    if workload in START_AGAINST_LIBTORCH and contestants.get("libtorch"):
        theirs, limit = median_of(contestants["libtorch"], "start_ms"), START_AGAINST_LIBTORCH[workload]
        against = f"libtorch {theirs:.0f} ms"
        faster = f"{theirs / start:.1f}x faster"
        yield verdict("start to first step", f"{start:.1f} ms", against, faster, f">= {1 / limit:.0f}x", start <= limit * theirs)
    ratio = first / later
    even = ratio <= FIRST_EPOCH_RATIO or first - later <= FIRST_EPOCH_EXTRA_MS
    yield verdict(
        "first epoch",
        f"{first:.2f} ms",
        f"later {later:.2f} ms",
        f"{ratio:.2f}x",
        f"<= {FIRST_EPOCH_RATIO:.2f}x or {FIRST_EPOCH_EXTRA_MS:.0f} ms more",
        even,
    )
    if workload in COMPILING_SHARE:
        compiling, limit = median_of(runs, "compile_ms"), COMPILING_SHARE[workload]
        share = compiling / first
        yield verdict("compiling", f"{compiling:.1f} ms", f"epoch {first:.0f} ms", f"{share:.1%}", f"<= {limit:.0%}", share <= limit)
    best = best_peer(contestants, "step_us")
    if workload in STEP_AGAINST_BEST and best:
        limit, (name, theirs) = STEP_AGAINST_BEST[workload], best
        against = f"{name} {theirs:.0f} us"
        yield verdict("step", f"{step:.1f} us", against, f"{step / theirs:.3f}x", f"<= {limit:.2f}x", step <= limit * theirs)
    if workload in TOTAL_AGAINST_BEST:
        accuracy, limit = median_of(runs, "accuracy"), ACCURACY[workload]
        yield verdict("accuracy", f"{accuracy:.4f}", "", f"{accuracy:.4f}", f">= {limit}", accuracy >= limit)
        best = best_peer({n: [r for r in p if r.accuracy >= limit] for n, p in contestants.items()}, "total_ms")
        if best:
            total, limit, (name, theirs) = median_of(runs, "total_ms"), TOTAL_AGAINST_BEST[workload], best
            against, ratio = f"{name} {theirs / 1e3:.1f} s", f"{total / theirs:.3f}x"
            yield verdict("start to accuracy", f"{total / 1e3:.1f} s", against, ratio, f"<= {limit:.2f}x", total <= limit * theirs)
    if workload in RESIDENT_MB:
        limit = RESIDENT_MB[workload]
        yield verdict("resident memory", f"{rss:.1f} MB", "", f"{rss:.1f} MB", f"<= {limit} MB", rss <= limit)


# Pipelines: how many times faster than which peers, in the first pass (files that are parsed once) or in the median one.
PIPELINE_BARS = {
    "pipeline-jpeg": (("median", 1.3, ("tf.data", "DataLoader-0", "DataLoader-2", "grain")),),
    "pipeline-csv": (("first", 5.0, ("pandas",)), ("first", 3.0, ("tf.data",))),
    "pipeline-tfrecord": (("median", 3.0, ("tf.data",)),),
    "pipeline-images": (("median", 4.0, ("tf.data",)),),
    "pipeline-loader": (("median", 20.0, ("DataLoader-0", "DataLoader-2")),),
    "pipeline-sleep": (),
    "pipeline-overhead": (),
}
# Measured too, but no bar is judged against them.
SHOWN_BESIDE = {"pipeline-images": ("grain",), "pipeline-loader": ("grain",)}
# Limits of our own: what is measured, of which runs, in which unit, at most.
MEMORY = ("peak memory", lambda run: run["rss_mb"] / run["expected_mb"], "x program, data and buffers", 1.2)
PIPELINE_LIMITS = {
    "pipeline-images": (
        ("first batch", lambda run: run["first_batch_ms"], "ms", 10),
        ("first pass / later", lambda run: run["passes_ms"][0] / statistics.median(run["passes_ms"][1:]), "x", 1.05),
        MEMORY,
    ),
    "pipeline-loader": (MEMORY,),
    "pipeline-jpeg": (MEMORY,),
    "pipeline-csv": (MEMORY,),
    "pipeline-tfrecord": (MEMORY,),
    "pipeline-sleep": (("first pass", lambda run: run["passes_ms"][0], "ms", 250),),
    "pipeline-overhead": (("per element", lambda run: 1e9 / run["elements_per_s"], "ns", 100),),
}


def pass_ms(runs, which):
    """The first or the median pass of each run, and the median of those."""
    chosen = (run["passes_ms"][0] if which == "first" else statistics.median(run["passes_ms"]) for run in runs)
    return statistics.median(chosen)


def judge_pipelines(results):
    """`results` is {workload: {contestant: [JSON of a run, ...]}}."""
    for workload, contestants in results.items():
        for measure, value_of, unit, limit in PIPELINE_LIMITS.get(workload, ()) if contestants.get(OURS) else ():
            value = statistics.median(value_of(run) for run in contestants[OURS])
            text = f"{value:.3g} {unit}"
            threads = contestants[OURS][0]["threads"]
            yield Verdict(workload, threads, measure, text, "", text, f"<= {limit:g} {unit}", value <= limit)
        for which, bar, peers in PIPELINE_BARS.get(workload, ()):
            times = {peer: pass_ms(contestants[peer], which) for peer in peers if contestants.get(peer)}
            if not times or not contestants.get(OURS):
                continue
            best = min(times, key=times.get)
            ours = pass_ms(contestants[OURS], which)
            ratio = times[best] / ours
            yield Verdict(
                workload,
                contestants[OURS][0]["threads"],
                f"{which} pass",
                f"{ours:.0f} ms",
                f"{best} {times[best]:.0f} ms",
                f"{ratio:.1f}x faster",
                f">= {bar:g}x",
                ratio >= bar,
            )
