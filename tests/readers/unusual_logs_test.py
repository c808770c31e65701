#!/usr/bin/env python3
"""Console logs as hostile as real ones: each must give its epochs' times (5 %, or the log's own resolution) and symptom.

    unusual_logs_test.py ISOCHRON [NAME...]
"""
import json
import subprocess
import sys

from cause_logs import LOGS as CAUSE_LOGS
from field_logs import LOGS as FIELD_LOGS
from habit_logs import LOGS as HABIT_LOGS
from library_logs import LOGS as LIBRARY_LOGS
from project_logs import LOGS as PROJECT_LOGS
from thread_logs import LOGS as THREAD_LOGS
from world_logs import LOGS as WORLD_LOGS

ESC, BACK = "\x1b", "\b"
LOGS = [*PROJECT_LOGS, *HABIT_LOGS, *CAUSE_LOGS, *WORLD_LOGS, *FIELD_LOGS, *THREAD_LOGS, *LIBRARY_LOGS]


def log(name, symptom, epochs, text, cause=None):
    """`epochs`: seconds in order, or (index, seconds); `cause`: of the first verdict, where the log tells it."""
    LOGS.append((name, symptom, epochs, text, cause))


def keras3(epoch, epochs, steps, first, rest, validation=True, warning=""):
    """What Keras 3 draws on a terminal: colours, carriage returns, backspaces, the time left first."""
    bar = f"{ESC}[1m{{}}{ESC}[0m {ESC}[32m━━━━━━━━━━{ESC}[0m{ESC}[37m{ESC}[0m {ESC}[1m{{}}{ESC}[0m {{}} - loss: 0.5"
    text = f"Epoch {epoch}/{epochs}\n"
    total = first + rest * (steps - 1)

    def shown(seconds):
        return f"{seconds:.0f}s" if seconds < 60 else f"{int(seconds) // 60}:{int(seconds) % 60:02}"

    def per(seconds):
        return f"{seconds * 1000:.0f}ms/step" if seconds < 1 else f"{seconds:.0f}s/step"
    text += "\r" + bar.format(f" 1/{steps}", shown(first * (steps - 1)), per(first))
    text += warning
    for step in range(2, steps + 1):
        text += BACK * 60 + "\r" + bar.format(f"{step:2}/{steps}", shown(rest * (steps - step)), per(rest))
    text += BACK * 60 + "\r" + bar.format(f"{steps}/{steps}", shown(total), per(rest))
    return text + (" - val_loss: 0.4\n" if validation else "\n")


log("keras3-terminal", "slow-first", [20, 10, 10, 10],
    "".join(keras3(e, 4, 20, 10.5 if e == 1 else 0.5, 0.5) for e in range(1, 5)), "startup.graph")
log("keras3-first-step-long-in-every-epoch", "slow-overall", [15.5, 15.5, 15.5, 15.5],
    "".join(keras3(e, 4, 12, 10, 0.5) for e in range(1, 5)), "input.shuffle-fill")
log("keras3-warning-in-the-bar", "healthy", [10, 10, 10],
    "".join(keras3(e, 3, 20, 0.5, 0.5, warning="\nWARNING:tensorflow:Callback method `on_train_batch_end` is fast\n" if e == 2 else "")
            for e in range(1, 4)))
log("keras2-pipe", "slow-first", [64, 36, 35, 36], "\n".join(
    f"Epoch {e}/4\n" + "\r".join(f"{n}/387 [{'=' * (n // 13)}>.....] - ETA: {387 - n}s - loss: 0.9" for n in (1, 100, 300)) +
    f"\r387/387 [==============================] - {s}s {s * 1000 // 387}ms/step - loss: 0.31 - accuracy: 0.91 - val_loss: 0.30"
    for e, s in enumerate((64, 36, 35, 36), 1)) + "\n")
log("keras1-samples", "healthy", [36, 35, 36], "\n".join(
    f"Epoch {e}/3\n60000/60000 [==============================] - {s}s - loss: 0.1 - acc: 0.9" for e, s in enumerate((36, 35, 36), 1)) + "\n")
log("keras-verbose2-minutes", "slower-later", [90, 88, 181, 190], "\n".join(
    f"Epoch {e}/4\n250/250 - {s}s - loss: 0.4 - {s}s/epoch - {s * 4}ms/step" for e, s in enumerate((90, 88, 181, 190), 1)) + "\n")
log("keras3-verbose2", "healthy", [6, 6, 6], "\n".join(
    f"Epoch {e}/3\n540/540 - 6s - 10ms/step - accuracy: 0.9 - loss: 0.3" for e in (1, 2, 3)) + "\n")
log("keras-checkpoint-in-the-bar", "uneven", [2, 10, 2, 10, 2, 10], "".join(
    f"Epoch {e}/6\n\r 1/50 [..] - ETA: 2s - loss: 0.9\r50/50 [=====] - ETA: 0s - loss: 0.4" +
    (f"\nEpoch {e}: saving model to model.{e:02}.keras\n" if e % 2 == 0 else "") +
    f"\r50/50 [==============================] - {10 if e % 2 == 0 else 2}s {200 if e % 2 == 0 else 40}ms/step - loss: 0.4\n"
    for e in range(1, 7)), "disk.checkpoint")
log("keras-two-fits", "healthy", [5, 5, 5], "".join(
    f"Epoch {e}/3\n100/100 [==============================] - 5s 50ms/step - loss: 0.4\n" for e in (1, 2, 3)) * 1 +
    "313/313 [==============================] - 1s 2ms/step - loss: 0.2\nTest accuracy: 0.91\n")
log("keras-cut-in-an-epoch", "stuck", [5, 5], "".join(
    f"Epoch {e}/9\n100/100 [==============================] - 5s 50ms/step - loss: 0.4\n" for e in (1, 2)) +
    "Epoch 3/9\n\r 37/100 [==========>...................] - ETA: 3s - loss: 0.4")
log("tqdm-per-epoch", "slowing", [10, 20, 30, 40, 50], "".join(
    "".join(f"\rEpoch {e}/5:  {p}%|{'█' * (p // 10):10}| {p}/100 [00:{s * p // 100:02}<00:{s - s * p // 100:02}, {100 / s:5.2f}it/s, loss=0.4]"
            for p in (1, 50, 100)) + "\n" for e, s in enumerate((10, 20, 30, 40, 50), 1)))
log("tqdm-ascii-s-it", "healthy", [631, 640, 628], "".join(
    f"train {e}/3: 100%|##########| 50/50 [{s // 60}:{s % 60:02}<00:00, {s / 50:.2f}s/it]\n" for e, s in enumerate((631, 640, 628), 1)))
log("tqdm-hours", "slower-later", [3725, 3700, 7400, 7500], "".join(
    f"Epoch {e}: 100%|██████████| 5000/5000 [{s // 3600}:{s // 60 % 60:02}:{s % 60:02}<00:00,  {5000 / s:.2f}batch/s, loss=1.2]\n"
    for e, s in enumerate((3725, 3700, 7400, 7500))))
log("tqdm-mojibake", "healthy", [30, 30, 31], "".join(
    f"Epoch {e}: 100%|â–ˆâ–ˆâ–ˆâ–ˆâ–ˆâ–ˆâ–ˆâ–ˆâ–ˆâ–ˆ| 300/300 [00:{s}<00:00, {300 / s:.2f}it/s]\n" for e, s in enumerate((30, 30, 31), 1)))
log("tqdm-epochs-bar", "slowing", [(2, 20), (3, 30), (4, 40), (5, 50)], "".join(
    f"\r{p}%|██    | {i}/5 [{t // 60:02}:{t % 60:02}<00:00, {t / i:.2f}s/epoch]" for i, t, p in
    ((1, 10, 20), (2, 30, 40), (3, 60, 60), (4, 100, 80), (5, 150, 100))) + "\n")
log("lightning-tqdm", "uneven", [10, 10, 30, 10, 10, 30], "".join(
    f"\rEpoch {e}: 100%|██████████| 100/100 [00:10<00:00, 10.00it/s, v_num=0]" +
    ("\n\rValidation: |          | 0/? [00:00<?, ?it/s]" + "".join(
        f"{ESC}[A\rValidation DataLoader 0: {p}%|███| {p}/100 [00:{p // 5:02}<00:00,  5.00it/s]" for p in (1, 50, 100)) +
     f"{ESC}[A\rEpoch {e}: 100%|██████████| 100/100 [00:30<00:00,  3.33it/s, v_num=0]" if e % 3 == 2 else "") + "\n"
    for e in range(6)), "train.validation")
log("lightning-rich", "slow-first", [9, 3, 3, 3], "Sanity Checking ━━━ 2/2 0:00:00 • 0:00:00 12.3it/s\n" + "".join(
    "".join(f"\r{ESC}[2K{ESC}[1A{ESC}[2KEpoch {e}/3  {ESC}[38;2;98;6;224m━━━━━━━━━━{ESC}[0m {n}/188 0:00:{s * n // 188:02} • 0:00:{s - s * n // 188:02} {188 / s:.2f}it/s v_num: 0.000"
            for n in (1, 40, 120, 188)) + "\n" for e, s in enumerate((9, 3, 3, 3))) +
    "`Trainer.fit` stopped: `max_epochs=4` reached.\n")
log("huggingface-dictionaries", "healthy", [], "".join(
    f"{{'loss': 0.{9 - i}, 'grad_norm': 1.2, 'learning_rate': 5e-05, 'epoch': {i * 0.5}}}\n" for i in range(1, 7)) +
    "{'train_runtime': 332.9, 'train_samples_per_second': 12.1, 'train_loss': 0.4, 'epoch': 3.0}\n")
log("huggingface-quoted-with-bar", "slower-later", [100, 100, 200, 205], "".join(
    f"\r {25 * i}%|███ | {100 * i}/400 [{t // 60:02}:{t % 60:02}<10:00, 1.00s/it]\n{{'loss': '0.3', 'grad_norm': '1.2', 'learning_rate': '4e-05', 'epoch': '{i}'}}\n"
    for i, t in ((1, 100), (2, 200), (3, 400), (4, 605))) +
    "{'train_runtime': '605.2', 'train_samples_per_second': '12.1', 'epoch': '4'}\n")
log("json-lines", "slowing", [10, 17, 31, 40], "".join(
    json.dumps({"epoch": float(i), "loss": 0.5, "step": 100 * i, "epoch_time": s}) + "\n" for i, s in ((1, 10), (2, 17), (3, 31), (4, 40))))
log("fastai-table", "slow-first", [137, 65, 64, 66],
    "epoch     train_loss  valid_loss  accuracy  time    \n" + "".join(
        f"{e}         0.512345    0.412345    0.912345  {s // 60:02}:{s % 60:02}    \n" for e, s in enumerate((137, 65, 64, 66))))
log("fastai-hours", "healthy", [5429, 5433],
    "epoch     train_loss  valid_loss  time    \n0         4.123456    3.912345    1:30:29     \n1         3.923456    3.812345    1:30:33     \n")
log("ultralytics", "healthy", [225, 224, 226], "".join(
    f"      Epoch    GPU_mem   box_loss   cls_loss   dfl_loss  Instances       Size\n"
    f"        {e}/3      5.66G      1.234      2.345      1.567         42        640: 100%|██████████| 1603/1603 [0{s // 60}:{s % 60:02}<00:00,  7.1it/s]\n"
    f"                 Class     Images  Instances      Box(P          R      mAP50  mAP50-95): 100%|██████████| 50/50 [00:00<00:00, 99.1it/s]\n"
    for e, s in enumerate((225, 224, 226), 1)) + "\n3 epochs completed in 0.188 hours.\n")
log("ultralytics-2025", "slower-later", [49, 48, 100, 102], "".join(
    f"\r{ESC}[K        {e}/4      2.1G     1.2     2.3     1.5     12     640: 50% ━━━━━━────── 168/337 6.9it/s 24.4s<24.0s"
    f"\r{ESC}[K        {e}/4      2.1G     1.2     2.3     1.5     12     640: 100% ━━━━━━━━━━━━ 337/337 {337 / s:.1f}it/s {s // 60}:{s % 60:02}<0.2s\n"
    if s >= 60 else
    f"\r{ESC}[K        {e}/4      2.1G     1.2     2.3     1.5     12     640: 100% ━━━━━━━━━━━━ 337/337 {337 / s:.1f}it/s {s:.1f}s<0.2s\n"
    for e, s in enumerate((49, 48, 100, 102), 1)))
log("imagenet-meters", "slow-overall", [225, 225, 225], "".join(
    f"Epoch: [{e}][{i:4}/1000]\tTime  0.225 ( 0.225)\tData  0.180 ( 0.180)\tLoss 6.9e+00 (7.0e+00)\tAcc@1   0.39 (  0.10)\n"
    for e in range(3) for i in range(0, 1000, 100)), "input.bound")
log("timm", "healthy", [34, 34], "".join(
    f"Train: {e} [{i:4}/73 ({100 * i // 72:3}%)]  Loss: 6.9 (6.9)  Time: 0.470s,  272.32/s  (0.470s,  272.10/s)  LR: 1.0e-05  Data: 0.017 (0.017)\n"
    for e in range(2) for i in (0, 50, 72)))
log("mmcv", "slower-later", [626, 626, 1252, 1252], "".join(
    f"2021-07-29 {10 + (t + i * s // 626) // 3600:02}:{(t + i * s // 626) // 60 % 60:02}:{(t + i * s // 626) % 60:02},123 - mmcls - INFO - Epoch [{e}][{i}/626]\tlr: 1.0e-02, eta: 1 day, 1:32:11, time: {s / 626:.3f}, data_time: 0.049, memory: 2943, loss: 1.1\n"
    for e, s, t in ((1, 626, 0), (2, 626, 626), (3, 1252, 1252), (4, 1252, 2504)) for i in (200, 400, 600)))
log("plain-took-ms", "slow-first", [10.754, 3.1, 3.2], "Epoch 0 took 10754ms\nEpoch 1 took 3100ms\nEpoch 2 took 3200ms\n")
log("plain-time-column", "healthy", [1041.32, 1040.2, 1043.9],
    "Epoch  1 | Loss 0.123 | Time 1041.3202 sec\nEpoch  2 | Loss 0.120 | Time 1040.2 sec\nEpoch  3 | Loss 0.119 | Time 1043.9 sec\n")
log("plain-h-mm-ss", "slower-later", [90, 92, 190, 200],
    "".join(f"[Epoch {e}/4] train_loss=0.3 val_loss=0.4 elapsed 0:{s // 60:02}:{s % 60:02}\n" for e, s in enumerate((90, 92, 190, 200), 1)))
log("running-clock", "healthy", [100, 101, 102, 101], "".join(
    f"epoch {e}: loss 0.4 ({t:.1f}s elapsed)\n" for e, t in ((1, 100.2), (2, 201.1), (3, 303.4), (4, 404.3))))
log("stamps-only", "slower-later", [120, 120, 250, 250], "".join(
    f"2021-07-29 15:{(3 * 60 + t) // 60:02}:{t % 60:02},746:INFO: Epoch {e} started\n" for e, t in ((1, 0), (2, 120), (3, 240), (4, 490))) +
    "2021-07-29 15:15:20,746:INFO: training finished\n")
log("stamps-over-midnight", "healthy", [600, 600, 600],
    "23:45:00 starting epoch 1\n23:55:00 epoch 1 done, loss 0.3\n23:55:00 starting epoch 2\n00:05:00 epoch 2 done, loss 0.3\n"
    "00:05:00 starting epoch 3\n00:15:00 epoch 3 done, loss 0.3\n")
log("interleaved-ranks", "healthy", [12, 12, 12], "".join(
    f"[rank0]: Epoch {e}/3 loss=0.4 time=12.0s\n[rank1]: Epoch {e}/3 loss=0.5 time=12.1s\n" for e in (1, 2, 3)))
log("mnist-example", "healthy", [], "".join(
    f"Train Epoch: {e} [{n}/60000 ({n * 100 // 60000}%)]\tLoss: 0.5\n" for e in (1, 2) for n in (0, 30000, 57600)) +
    "\nTest set: Average loss: 0.0456, Accuracy: 9851/10000 (99%)\n\n")
log("windows-lines", "slow-first", [30, 10, 10], "".join(f"Epoch {e}/3 - {s}s - loss: 0.4\r\n" for e, s in enumerate((30, 10, 10), 1)))
log("utf16", "slow-first", [30, 10, 10], ("\ufeff" + "".join(f"Epoch {e} finished in {s} s\r\n" for e, s in enumerate((30, 10, 10), 1))).encode("utf-16-le"))
log("traceback-of-a-thread", "healthy", [4, 4, 4],
    "Epoch 1 time: 4.0s\nException in thread Thread-3:\nTraceback (most recent call last):\n  File \"a.py\", line 3, in f\nValueError: bad\n"
    "Epoch 2 time: 4.0s\nEpoch 3 time: 4.1s\n")
log("died-of-memory", "died", [12, 12],
    "Epoch 1/5 time: 12.0s\nEpoch 2/5 time: 12.1s\nTraceback (most recent call last):\n  File \"train.py\", line 88, in <module>\n    loss.backward()\n"
    "torch.cuda.OutOfMemoryError: CUDA out of memory. Tried to allocate 2.00 GiB\n", "memory.leak")
log("died-resource-exhausted", "died", [12, 12],
    "Epoch 1/5 time: 12.0s\nEpoch 2/5 time: 12.1s\nTraceback (most recent call last):\n  File \"train.py\", line 88, in <module>\n    step(x)\n"
    "tensorflow.python.framework.errors_impl.ResourceExhaustedError: Graph execution error: failed to allocate memory\n", "memory.leak")
log("died-tensor-proto", "died", [],
    "W tensorflow/core/framework/cpu_allocator_impl.cc:82] Allocation of 8589934592 exceeds 10% of free system memory.\n"
    "E tensorflow/core/framework/tensor.cc:555] Cannot parse tensor from proto: dtype: DT_FLOAT\n", "memory.oversized")
log("killed-after-large-allocation", "died", [],
    "W tensorflow/core/framework/cpu_allocator_impl.cc:82] Allocation of 8589934592 exceeds 10% of free system memory.\nKilled\n", "memory.oversized")
log("large-allocation-survived", "healthy", [12, 12, 12],
    "W tensorflow/core/framework/cpu_allocator_impl.cc:82] Allocation of 188160000 exceeds 10% of free system memory.\n"
    + "".join(f"Epoch {e}/3 time: 12.0s\n" for e in (1, 2, 3)))
log("resumed-in-the-middle", "healthy", [4, 12, 12, 12], "=> loaded checkpoint 'last.pt' (step 90), training is resumed\n"
    + "".join(f"Epoch {e}/4 time: {s}.0s\n" for e, s in enumerate((4, 12, 12, 12), 1)))
log("weights-loaded", "slower-later", [4, 12, 12, 12], "=> loaded checkpoint 'resnet18.pt'\n"
    + "".join(f"Epoch {e}/4 time: {s}.0s\n" for e, s in enumerate((4, 12, 12, 12), 1)))
log("died-disk-full", "died", [12], "Epoch 1/5 time: 12.0s\nTraceback (most recent call last):\nOSError: [Errno 28] No space left on device: 'ckpt.pt'\n", "disk.full")
log("retracing", "slow-overall", [9, 9, 9],
    "WARNING:tensorflow:5 out of the last 5 calls to <function step at 0x7f2> triggered tf.function retracing. Tracing is expensive\n"
    "WARNING:tensorflow:6 out of the last 6 calls to <function step at 0x7f2> triggered tf.function retracing. Tracing is expensive\n"
    "Epoch 1 time: 9.0s\nEpoch 2 time: 9.1s\nEpoch 3 time: 9.0s\n", "compute.retrace")
log("cntk", "healthy", [21.741, 21.6], "".join(
    f"Finished Epoch[{e} of 2]: [Training] loss = 2.3 * 50000, metric = 80% * 50000 {s}s (2759.8 samples/s);\n" for e, s in ((1, 21.741), (2, 21.6))))
log("mxnet", "slow-first", [69.03, 20.1, 20.3], "".join(f"INFO:root:Epoch[{e}] Time cost={s}\n" for e, s in enumerate((69.03, 20.1, 20.3))))
log("nnunet", "healthy", [202.81, 201.2], "".join(
    f"2023-05-02 10:{10 + 4 * e:02}:11.123456: \n2023-05-02 10:{10 + 4 * e:02}:11.2: Epoch {e}\n2023-05-02 10:{13 + 4 * e:02}:34.1: Epoch time: {s} s\n"
    for e, s in ((0, 202.81), (1, 201.2))))
log("estimator", "healthy", [], "".join(
    f"INFO:tensorflow:global_step/sec: 10.1\nINFO:tensorflow:loss = 8.1, step = {100 * i} (9.901 sec)\n" for i in range(1, 8)))
log("nanogpt", "slow-first", [], "".join(f"iter {i}: loss 3.48, time {10538.35 if i == 0 else 512.3}ms, mfu 1.2%\n" for i in range(0, 24)))


def close(want, got):
    return abs(want - got["seconds"]) <= 0.05 * want + got.get("resolution", 0) + 0.01


def judge(told, symptom, epochs, cause):
    wanted = [(e if isinstance(e, tuple) else (i + 1, e)) for i, e in enumerate(epochs)]
    problems = []
    if told["symptom"] != symptom:
        problems.append(f"symptom {told['symptom']}, wanted {symptom}")
    if len(told["epochs"]) != len(wanted) or any(e["index"] != i or not close(s, e) for (i, s), e in zip(wanted, told["epochs"])):
        problems.append(f"epochs {[(e['index'], round(e['seconds'], 2)) for e in told['epochs']]}, wanted {wanted}")
    if cause and told["verdicts"][0]["cause"] != cause:
        problems.append(f"cause {told['verdicts'][0]['cause']}, wanted {cause}")
    return problems


def main():
    command, names = sys.argv[1], sys.argv[2:]
    wrong = 0
    for name, symptom, epochs, text, cause in LOGS:
        if names and name not in names:
            continue
        data = text if isinstance(text, bytes) else text.encode()
        out = subprocess.run([command, "doctor", "--json", "-"], input=data, capture_output=True, timeout=60)
        problems = judge(json.loads(out.stdout), symptom, epochs, cause) if out.returncode == 0 else [out.stderr.decode()]
        wrong += bool(problems)
        for problem in problems:
            print(f"{name}: {problem}")
    print(f"{len(names or LOGS) - wrong} of {len(names or LOGS)} logs read right")
    sys.exit(wrong > 0)


if __name__ == "__main__":
    main()
