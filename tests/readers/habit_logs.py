"""How people print epochs in loops of their own: one line for each, or stamps before words."""
import datetime
import itertools
import json

LOGS = []
LATER, FIRST, EVEN = (90, 92, 91, 200, 203), (75, 30, 31, 30), (12.3, 12.2, 12.4, 12.3)
SYMPTOM = {LATER: "slower-later", FIRST: "slow-first", EVEN: "healthy"}


def each(name, times, line, head="", start=1, tail="", cause=None):
    """`line(epoch, seconds, seconds so far)` for every epoch."""
    lines = (line(e, s, t) for (e, s), t in zip(enumerate(times, start), itertools.accumulate(times)))
    LOGS.append((name, SYMPTOM[times], list(times), head + "".join(lines) + tail, cause))


def stamped(name, form, begin, end):
    """Epochs that are only announced, each line with a stamp, and a last word."""
    moments = [datetime.datetime(2026, 11, 15, 12, 58, 41, 123456) + datetime.timedelta(seconds=t)
               for t in itertools.accumulate(LATER, initial=0)]
    lines = [m.strftime(form) + begin.format(e) + "\n" for e, m in enumerate(moments[:-1], 1)]
    LOGS.append((name, "slower-later", list(LATER), "".join(lines) + moments[-1].strftime(form) + end + "\n", None))


def in_json(name, wrap):
    """Epochs that are only announced, each line inside a JSON object beside its time, and a last word."""
    moments = [1763211521.123456 + t for t in itertools.accumulate(LATER, initial=0)]
    words = [f"epoch {e} begins" for e in range(1, len(moments))] + ["training finished"]
    lines = (json.dumps(wrap(word, m, datetime.datetime.fromtimestamp(m, datetime.timezone.utc))) for word, m in zip(words, moments))
    LOGS.append((name, "slower-later", list(LATER), "\n".join(lines) + "\n", None))


in_json("docker", lambda word, m, t: {"log": f"{word}\n", "stream": "stdout", "time": t.strftime("%Y-%m-%dT%H:%M:%S.%f000Z")})
in_json("json-formatter", lambda word, m, t: {"asctime": t.strftime("%Y-%m-%d %H:%M:%S,%f")[:-3], "levelname": "INFO", "message": word})
in_json("json-unix-time", lambda word, m, t: {"level": "info", "ts": m, "caller": "train.py:33", "msg": word})
in_json("cloud", lambda word, m, t: {"insertId": "1x", "textPayload": word, "timestamp": t.isoformat(), "resource": {"type": "k8s_container"}})
in_json("beats", lambda word, m, t: {"@timestamp": t.strftime("%Y-%m-%dT%H:%M:%S.%fZ"), "message": word, "host": {"name": "a"}})
LOGS.append(("docker-cut-lines", "slow-first", list(FIRST), "".join(
    json.dumps({"log": part, "stream": "stdout", "time": "2026-11-15T12:58:41Z"}) + "\n"
    for e, s in enumerate(FIRST, 1) for part in (f"Epoch {e}/4 loss 0.3", f" time {s:.1f}s\n")), None))
LOGS.append(("structured-events", "slow-first", list(FIRST), json.dumps({"event": "start", "timestamp": "2026-11-15T12:58:41Z"}) + "\n" + "".join(
    json.dumps({"event": "epoch_end", "epoch": e, "seconds": s, "timestamp": f"2026-11-15T12:59:{e:02}Z"}) + "\n" for e, s in enumerate(FIRST, 1)), None))

stamped("stamps-slashes", "%Y/%m/%d %H:%M:%S ", "start epoch {}", "done")
stamped("stamps-syslog", "%b %d %H:%M:%S host train[123]: ", "epoch {} begins", "finished")
stamped("stamps-day-month-name", "%d-%b-%Y %H:%M:%S ", "epoch {} begins", "all done.")
stamped("stamps-zone", "%Y-%m-%d %H:%M:%S+01:00 ", "epoch {} begin", "training done")
stamped("stamps-zulu", "%Y-%m-%dT%H:%M:%S.%fZ ", "Epoch {}", "Finished!")
stamped("stamps-am-pm", "%m/%d/%Y %I:%M:%S %p - INFO - __main__ - ", "***** Epoch {} *****", "Training finished")
stamped("stamps-loguru", "%Y-%m-%d %H:%M:%S.123 | INFO     | __main__:train:42 - ", "Epoch {}/5", "Training finished")
stamped("stamps-glog", "I%m%d %H:%M:%S.%f 12345 train.py:33] ", "Begin epoch {}", "done")

each("per-ep", LATER, lambda e, s, t: f"ep {e:03} | loss 0.31 | acc 0.9 | {s:.2f}s/ep\n")
each("letter-and-number", LATER, lambda e, s, t: f"E{e} train 0.32 val 0.30 (took {s // 60}m{s % 60}s)\n")
each("hours-minutes-seconds", LATER, lambda e, s, t: f"Finished epoch {e} of 5 in 0h {s // 60}m {s % 60}s\n")
each("milliseconds-in-json", LATER, lambda e, s, t: f'{{"event": "epoch_end", "epoch": {e}, "duration_ms": {s * 1e3}, "loss": 0.3}}\n')
each("thousands", LATER, lambda e, s, t: f"epoch {e}: loss 0.3, {s * 1000:,} ms\n")
each("decimal-commas", LATER, lambda e, s, t: f"Epoche {e} - Verlust 0,312 - Dauer {s},00 s\n")
each("number-beside-a-name", LATER, lambda e, s, t: f"Epoch: {e:02} | Epoch Time: {s // 60}m {s % 60}s\n\tTrain Loss: 3.0 | Train PPL: 20\n")
each("end-of-epoch", LATER, lambda e, s, t: "".join(
    f"| epoch {e:3} | {i:5}/ 2928 batches | lr 20.00 | ms/batch {s / 3:5.2f} | loss 5.1\n" for i in (200, 400)) +
    f"-----\n| end of epoch {e:3} | time: {s:5.2f}s | valid loss 5.3\n-----\n")
each("time-of-day-at-the-end", EVEN, lambda e, s, t: f"epoch {e}/4 loss 0.3 in {s}s, finished at 22:{10 + e}:07\n")
each("markdown-table", FIRST, lambda e, s, t: f"| {e} | 0.3 | 0.4 | {s:.1f} |\n", "| epoch | loss | val_loss | secs |\n|---|---|---|---|\n")
each("tabs", FIRST, lambda e, s, t: f"{e}\t0.3\t0.4\t{s:.2f}\n", "epoch\tloss\tacc\tseconds\n")
each("table-with-a-clock", FIRST, lambda e, s, t: f"\x1b[J{e}           0.19        0.09            {t:.4f}\n",
     "epoch       main/loss   validation/main/loss  elapsed_time\n")
each("tensorflow-guide", FIRST, lambda e, s, t: f"\nStart of epoch {e}\nTraining loss (for one batch) at step 0: 1.2\n"
     f"Seen so far: 64 samples\nValidation acc: 0.91\nTime taken: {s:.2f}s\n", start=0)
each("time-for-epoch", FIRST, lambda e, s, t: f"Time for epoch {e} is {s + 0.1234} sec\n")
each("time-consuming", FIRST, lambda e, s, t: f"epoch {e}/4\n1/10, train_loss: 0.5, step time: 1.1\n"
     f"epoch {e} average loss: 0.45\ntime consuming of epoch {e} is: {s:.4f}\n")
each("parts-and-total", EVEN, lambda e, s, t: f"epoch {e} | data 1.1s | fwd 5.0s | bwd {s - 6.1:.1f}s | total {s}s\n")
each("parts-tell-input", EVEN, lambda e, s, t: f"epoch {e} | data 9.1s | fwd 1.0s | bwd {s - 10.1:.1f}s | total {s}s\n", cause="input.bound")
LOGS[-1] = (LOGS[-1][0], "slow-overall", *LOGS[-1][2:])
LOGS.append(("stamped-steps-after-a-wait", "healthy", [2.0, 2.0, 2.0, 2.0], "".join(
    f"2026-11-16 21:51:{20 + 2 * e + i * 0.004:09.6f} epoch {e} batch {i}/50 loss 0.3\n" for e in range(4) for i in range(0, 50, 10)), None))
each("number-in-brackets", FIRST, lambda e, s, t: f"[{e}] bce=0.69 lr=3.0e-04 elapsed={s:.2f}s\n", start=0, tail="training finished\n")
each("number-alone", LATER, lambda e, s, t: f"{e:3d} 1.2345e-03 {s:.3f}s\n", start=0)
each("unit-as-the-next-name", LATER, lambda e, s, t: f"epoch {e}\tloss 0.31\tmedian 3.9565\tsecs {s:.3f}\n")
each("wall-without-a-unit", LATER, lambda e, s, t: f"epoch {e} loss 0.0014 wall {s:.2f}\n", start=0)
LOGS.append(("numbers-that-count-nothing", "healthy", [], "1 shard loaded in 3.2s\n2 workers started in 1.1s\nloss 0.3\n", None))
LOGS.append(("bar-redrawn-below-messages", "healthy", [4.29], "".join(
    f"\r{n / 30:3.0f}%|###       | {n}/3000 [00:{n // 750:02}<00:03, 700.0it/s]" + (f"\r{' ' * 40}\rstep {n} loss 0.3\n"
    f"\r{n / 30:3.0f}%|###       | {n}/3000 [00:{n // 750:02}<00:03, 700.0it/s]" if n % 500 == 0 and n < 3000 else "") for n in range(0, 3001, 100)) + "\n", None))
LOGS.append(("snapshots", "uneven", [1.1, 1.2, 3.4, 1.0, 1.1, 3.3, 1.0, 1.2, 3.5], "".join(
    ("=> snapshot written to snap.pkl\n" if s > 3 else "") + f"epoch {e} finished after {s:.2f} seconds, loss 0.3\n"
    for e, s in enumerate((1.1, 1.2, 3.4, 1.0, 1.1, 3.3, 1.0, 1.2, 3.5))), "disk.checkpoint"))
each("ep-with-a-full-stop", LATER, lambda e, s, t: f"ep. {e}: loss 0.3 in {s:.2f}s\n")
each("pass-of-passes", LATER, lambda e, s, t: f"pass {e}/5: loss=0.3 time={s:.2f}s\n")
each("letter-for-time", LATER, lambda e, s, t: f"epoch {e} loss=0.3 dt={s:.3f}\n")
each("unit-that-is-a-name", LATER, lambda e, s, t: f"2026-11-15 22:{10 + t // 60:02}:{t % 60:02} [info     ] epoch done      epoch={e} loss=0.3 seconds={s:.2f}\n")
each("json-says-what-begins", LATER, lambda e, s, t: "".join(
    f'{{"ts": "2026-11-15T22:{10 + m // 60}:{m % 60:02}.000Z", "msg": "epoch {what}", "epoch": {e}}}\n' for m, what in ((t - s, "start"), (t, "end"))))
each("json-letter-for-time", LATER, lambda e, s, t: f'{{"epoch": {e}, "train": {{"loss": 0.3}}, "t": {s:.2f}}}\n')
each("time-on-a-line-of-its-own", LATER, lambda e, s, t: f"--- epoch {e} ---\n    loss 0.3\n    took {s:.2f} s\n")
each("key-and-value-lines", LATER, lambda e, s, t: f"epoch: {e}\nloss: 0.31\nseconds: {s:.2f}\n")
each("training-and-validation-below-a-header", EVEN, lambda e, s, t: f"Epoch {e}\n  train: loss 0.3 ({s - 0.4:.2f} s)\n  valid: loss 0.2 (0.40 s)\n")
each("training-and-validation-apart", EVEN, lambda e, s, t: f"epoch {e} train loss 0.3 time {s - 0.5:.2f}s\nepoch {e} valid loss 0.2 time 0.50s\n")
each("data-frame", FIRST, lambda e, s, t: f"{e - 1}      {e}   0.3  {s:.3f}\n", "   epoch  loss  time_s\n")
each("framed-table", FIRST, lambda e, s, t: f"│ {e}     │ 0.3  │ {s:.2f}s │\n",
     "┏━━━━━━━┳━━━━━━┳━━━━━━┓\n┃ epoch ┃ loss ┃ time ┃\n┡━━━━━━━╇━━━━━━╇━━━━━━┩\n", tail="└───────┴──────┴──────┘\n")
each("semicolons", FIRST, lambda e, s, t: f"{e};0.3;{s:.3f}\n", "epoch;loss;seconds\n")
each("stamps-since-the-start", LATER, lambda e, s, t: f"[{t:8.3f}] epoch {e} done loss 0.3\n", "[   0.000] start\n")
each("time-and-time-so-far", LATER, lambda e, s, t: f"epoch {e}/5 loss 0.3 {s:.2f}s / {t:.2f}s\n")
each("memory-beside-it", LATER, lambda e, s, t: f"epoch {e} | loss 0.3 | mem 1.2G | {s:.2f}s | rss 512M\n")
each("steps-in-brackets", LATER, lambda e, s, t: "".join(
    f"  [{i}/300] loss=0.3 {s * i / 300:.2f}s\n" for i in (100, 200, 300)) + f"Epoch {e}/5 done: {s:.2f}s\n")
each("not-a-number", LATER, lambda e, s, t: f"[{e}/5] loss=0.3 val=nan {s:.2f}s\n")
LOGS.append(("examples-beside-the-time", "slowing", [0.3, 0.6, 0.9, 1.2, 1.5, 1.8], "".join(
    f"epoch {e}: {4000 * e} examples, loss 0.3, {0.3 * e:.1f} s\n" for e in range(1, 7)) + "finished\n", "compute.more-work"))
LOGS.append(("examples-so-far", "slowing", [0.3, 0.6, 1.0, 1.2, 1.4, 1.8], "".join(
    f"epoch {e}: {4000 * e} examples seen, loss 0.3, {s:.2f} s\n" for e, s in enumerate((0.3, 0.6, 1.0, 1.2, 1.4, 1.8), 1)), "unknown"))
each("bracket-and-elapsed", LATER, lambda e, s, t: f"[{e}/5] loss=0.3 elapsed={s:.2f}s\n")
each("bracket-and-total", EVEN, lambda e, s, t: f"[{e}/4] loss=0.3 total={t:.2f}s\n")
each("seconds-by-name", LATER, lambda e, s, t: f"epoch={e} loss=0.3 samples_per_s={100000 // s} time_s={s:.3f}\n")
each("json-with-a-rate", LATER, lambda e, s, t: f'{{"epoch": {e}, "images_per_sec": {100000 // s}, "sec": {s:.2f}}}\n')
stamped("stamps-place-in-the-code", "%Y-%m-%d %H:%M:%S,%f INFO     trainer:train.py:88 ", "epoch {}/5 started", "training finished")
stamped("stamps-short-year", "%m/%d/%y %H:%M:%S ", "Epoch {}/5", "training complete")
stamped("stamps-of-file-names", "%Y%m%d-%H%M%S ", "start epoch {}", "done")
stamped("stamps-with-dashes", "%Y-%m-%d_%H-%M-%S INFO ", "epoch {} begins", "done")
stamped("stamps-ctime", "%a %b %d %H:%M:%S %Y ", "epoch {} begins", "done")
each("bars-cut-off-by-a-narrow-terminal", LATER, lambda e, s, t: "".join(
    f"\rTraining epoch {e}: {100 * n // 300:3}%|#| {n}/300 [{s * n // 300 // 60:02}:{s * n // 300 % 60:02}<{'00:0' if n == 300 else ''}"
    for n in (3, 90, 210, 300)) + "\n")
each("table-with-a-unit", FIRST, lambda e, s, t: f"{e:>6} {0.31:>8} {s:>12.2f}\n", "    ep     loss     time (s)\n")
each("table-with-units-in-its-cells", FIRST, lambda e, s, t: f"| {e}/4 | 0.31 | {s:.1f} s |\n", "| Epoch | Loss | Time |\n|-------|------|------|\n")
each("table-of-epochs-and-totals", FIRST, lambda e, s, t: f"{e}/4     0.5      {s // 60}m{s % 60}s\n", "Epoch   Loss     Duration\n=========================\n")
each("table-with-rates-and-units", FIRST, lambda e, s, t: f" {e} | {1e3 * s / 200:.1f}ms | 0.3ms | 91.2% | {s:.1f}s\n", " epoch | ms/step | data | acc | epoch time\n")
each("json-short-keys", LATER, lambda e, s, t: f'{{"ep": {e}, "loss": 0.31, "time_elapsed": {s:.2f}}}\n')
each("json-seconds-per-epoch", LATER, lambda e, s, t: f'{{"epoch": {e}, "loss": 0.31, "sec/epoch": {s:.2f}}}\n')

# No line says how many steps an epoch has, nor that it ended; the epochs before the last one do.
def steps_only(name, line, epochs=4, seconds=4.0, told_from=1):
    LOGS.append((name, "healthy", [(e, seconds) for e in range(told_from, epochs + 1)], "".join(
        f"2026-03-04 10:{15 + int(t) // 60:02}:{t % 60:06.3f} " + line(e, k) + "\n"
        for e in range(epochs) for k in range(4) for t in [2 + seconds * e + seconds / 4 * k]), None))


steps_only("steps-without-a-total", lambda e, k: f"epoch {e} step {10 * k} loss {2 - 0.1 * k:.3f}")
steps_only("steps-counted-on", lambda e, k: f"[Epoch {e + 1}] iter {40 * e + 10 * k + 10}: loss=0.53{k}", told_from=2)
steps_only("epoch-and-step-in-a-bracket", lambda e, k: f"[{e + 1}, {500 * (k + 1):5d}] loss: {2 - 0.1 * k:.3f}", told_from=2)
steps_only("epoch-and-step-in-two-brackets", lambda e, k: f"Train: [{e}/4][{25 * k}/100]  Loss {2 - 0.1 * k:.3f} (2.100)  lr 0.001")
LOGS.append(("steps-without-times", "healthy", [], "".join(f"epoch {e} step {10 * k} loss 0.{k}\n" for e in range(4) for k in range(4)), None))
LOGS.append(("steps-that-break-off", "stuck", [4.0, 4.0], "".join(
    f"2026-03-04 10:15:{2 + 4 * e + k:02} epoch {e} step {10 * k} loss 0.{k}\n" for e in range(3) for k in range(4 if e < 2 else 2)), None))
each("time-per-epoch", FIRST, lambda e, s, t: f"[{e}/4] train_loss=0.4 val_loss=0.5 time_per_epoch={s:.3f} eta=0:00:10\n")

# Only ends are told, and the line before the first of them is the profiler's, from the middle of that epoch.
LOGS.append(("profiler-speaks-in-the-first-epoch", "healthy", [(1, 10), (2, 40), (3, 41), (4, 40)],
             "USDT:2026-11-17 11:40:20 16808:16808 SyncActivityProfilerHandler.cpp:39] profiler_start\n" + "".join(
                 f"[2026-11-17 11:{40 + t // 60:02}:{t % 60:02},445][trainer][INFO] - epoch {e}/4 | train/loss 1.47\n"
                 for e, t in ((1, 30), (2, 70), (3, 111), (4, 151))), None))
LOGS.append(("import-speaks-long-before-the-first-epoch", "healthy", [(1, 90), (2, 40), (3, 41), (4, 40)],
             "2026-11-17 11:39:00.123456: I tensorflow/core/platform/cpu_feature_guard.cc:210] This TensorFlow binary is optimized\n" + "".join(
                 f"[2026-11-17 11:{40 + t // 60:02}:{t % 60:02},445][trainer][INFO] - epoch {e}/4 | train/loss 1.47\n"
                 for e, t in ((1, 30), (2, 70), (3, 111), (4, 151))), None))
each("time-below-the-line-of-its-epoch", FIRST, lambda e, s, t: f"Epoch {e} loss=0.31\nelapsed: {s:.2f} s\n")
each("time-before-the-word", FIRST, lambda e, s, t: f"{s:.2f} seconds for epoch {e} (loss 0.3)\n")
LOGS.append(("time-of-the-run-below-its-last-epoch", "healthy", [], "".join(f"Epoch {e} loss=0.31\n" for e in range(1, 6)) + "time: 17.2 s\n", None))
each("values-in-a-column", FIRST, lambda e, s, t: f"------ Epoch {e} ------\nTrain loss : 0.31\nVal loss   : 0.33\nTime       : {s:.2f} s\n")
LOGS.append(("a-bar-without-a-name-around-epochs", "slower-later", list(LATER), "\r  0%|          | 0/5 [00:00<?, ?it/s]" + "".join(
    f"\r {20 * e:3}%|███       | {e}/5 [{t // 60:02}:{t % 60:02}<01:00, {t / e:.2f}s/it, loss=0.3]" for e, t in enumerate(itertools.accumulate(LATER), 1)) + "\n", None))
LOGS.append(("a-bar-without-a-name-around-steps", "healthy", [40], "".join(
    f"\r {n:3}%|███       | {n}/100 [00:{4 * n // 10:02}<00:10,  2.50it/s]" for n in (0, 1, 5, 30, 60, 100)) + "\n", None))
LOGS.append(("interrupted-and-begun-anew", "healthy", list(EVEN), "".join(f"Epoch {e}/4 - {s:.1f}s - loss 0.3\n" for e, s in enumerate(EVEN[:2], 1)) +
             "Traceback (most recent call last):\n  File \"train.py\", line 30, in <module>\nKeyboardInterrupt\n" +
             "".join(f"Epoch {e}/4 - {s:.1f}s - loss 0.3\n" for e, s in enumerate(EVEN, 1)), None))
