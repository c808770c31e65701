"""Logs as people paste them into issues and notebooks: tutorials, competitions, speech, language models; and how runs die."""
import itertools

from field_logs import short
from log_parts import EVEN, FIRST, GROWING, LATER, Logs, clock

LOGS = Logs()
log, each = LOGS.log, LOGS.each


def minutes(s):
    return f"{int(s) // 60}m {int(s) % 60}s"


# Times on lines of their own, or by another word.
each("running-epoch-then-time", FIRST, lambda e, s, t: f"Running Epoch {e}...\nEpoch {e:02}, Loss: 1.84, Approx. Train: 0.48\nEpoch time: {s * 1000}.4916 ms\n\n==============================", start=0)
each("time-this-epoch", (1.75, 1.87, 2.05, 2.4, 2.56, 2.68, 2.9, 3.1), lambda e, s, t: f"Epoch: {e:04} cost= 29.860479714\ntime this epoch= {s:.6f}", symptom="slowing")
each("cost-is-a-time", FIRST, lambda e, s, t: f"2023-05-04 {clock(t)},031\t44k\tINFO\t====> Epoch: {6018 + e}, cost {s}.93 s")
LOGS[-1] = (*LOGS[-1][:2], [(6018 + e, s + 0.93) for e, s in enumerate(FIRST, 1)], *LOGS[-1][3:])
each("at-a-clock", EVEN, lambda e, s, t: f"Epoch #{e} at {t}.6s, lr=1.00e-05\n  - generator total=1.30e+05 prcpt=1.29e+05\n  - discriminator 0.732835 15 -0.732835 15")
each("stamp-and-delta", LATER, lambda e, s, t: f"INFO:model:====> Epoch: {e} [2023-06-06 {clock(t)}] | (0:{short(s)}.123456)")
each("keras-scheduler-below-the-header", LATER, lambda e, s, t: f"Epoch {e}/120\n\nEpoch 0000{e}: LearningRateScheduler setting learning rate to 0.001.\n1000/1000 [==============================] - {s}s {s}ms/step - loss: 3.8920 - val_loss: 3.2299\n\nEpoch 0000{e}: val_loss did not improve from 3.22992")
log("keras-eta-only", "healthy", [], "Train on 60000 samples, validate on 10000 samples\n" + "".join(
    f"Epoch {e}/3\n60000/60000 [==============================] - ETA: 0s - loss: 0.3375 - acc: 0.8974 - val_loss: 0.0830 - val_acc: 0.9744\n" for e in (1, 2, 3)))
each("kaggle", LATER, lambda e, s, t: "".join(f"Epoch: [{e}][{i}/400] Elapsed {minutes(s * i / 440)} (remain {minutes(s - s * i / 440)}) Loss: 0.6912(0.6912) Grad: 1.2012  LR: 0.00002000  \n" for i in (0, 100, 200, 300, 399)) +
     f"EVAL: [0/40] Elapsed 0m 0s (remain 0m 5s) Loss: 0.61(0.61) \nEVAL: [39/40] Elapsed 0m 5s (remain 0m 0s) Loss: 0.60(0.61) \nEpoch {e} - avg_train_loss: 0.5123  avg_val_loss: 0.4123  time: {s}s\nEpoch {e} - Score: 0.8123\nEpoch {e} - Save Best Score: 0.8123 Model")
# Meters.
log("meters-never-reset", "healthy", (30, 30, 30), "".join(
    f"Epoch: [{e}][{i}/48]\tTime {30 / 48:.3f} ({1.2 / e:.3f})\tData 0.002 (0.004)\tLoss 3.21 (37.09)\t\n" for e in (11, 12, 13) for i in range(1, 49)))
LOGS[-1] = (*LOGS[-1][:2], [(11, 30), (12, 30), (13, 30)], *LOGS[-1][3:])
log("meters-data-and-batch", "slow-overall", (390, 390), "".join(
    f"[2021-11-22 {clock(390 * (e - 1) + i * 3.9)},523 INFO train.py line 338 28028] Epoch: [{e}/2][{i}/100] Data 2.002 (2.874) Batch 3.818 (3.900) Remain 436:08:39 Loss 11.8774 Accuracy 0.3469.\nINFO:main-logger:Epoch: [{e}/2][{i}/100] Data 2.002 (2.874) Batch 3.818 (3.900) Remain 436:08:39 Loss 11.8774 Accuracy 0.3469.\n"
    for e in (1, 2) for i in range(10, 101, 10)), "input.bound")
log("samples-as-steps", "healthy", (38, 38, 38), "".join(
    f"Mon Nov 16 {clock(38 * e + i / 2)} 2020 Epoch: {e} Sample {i}/76 Loss: 30482.7207\n" for e in range(3) for i in range(0, 76, 5)))
# Tutorials.
log("quickstart", "healthy", [], "".join(f"Epoch {e}\n-------------------------------\n" + "".join(f"loss: 2.303494  [{i:5}/60000]\n" for i in range(64, 60000, 6400)) +
    "Test Error: \n Accuracy: 37.9%, Avg loss: 2.213415 \n\n" for e in (1, 2, 3)) + "Done!\n")
log("time-for-steps", "slow-first", [], "".join(f"Time taken for 1000 steps: {s:.2f} sec\n\nStep: {k}k\n...................................................................................................." for k, s in enumerate((95, 31, 30, 31, 30, 31, 30, 30))) + "\n")
log("mingpt", "slow-first", FIRST, "".join("".join(f"\repoch {e} iter {i - 1}: train loss 1.23000. lr 6.000000e-04: {i:3}%|{'█' * (i // 10):10}| {i}/100 [{short(s * i / 100)}<{short(s - s * i / 100)},  1.25it/s]" for i in (1, 50, 100)) + "\n" for e, s in enumerate(FIRST, 1)))
log("llm-c", "slower-later", [], "".join(f"step {i:4}/{2000} | loss 4.{i % 10}21 (+nanz)| norm 12.3 (+nanz)| lr 1.00e-04 | {(350.12 if i <= 30 else 1050.2):.2f} ms | 50.2% bf16 MFU | 11702 tok/s\n" for i in range(1, 61)))
log("nanochat", "healthy", [], "".join(f"step {i:05}/21400 ({i / 214:.2f}%) | loss: 9.123 | grad norm: 1.2 | lrm: 1.00 | dt: {500 + i % 3}.12ms | tok/sec: 1,048,000 | mfu: 47.1 | total time: {i / 120:.2f}m\n" for i in range(0, 40)))
log("torchtitan", "slower-later", [], "".join(f"[rank0]:[titan] 2024-11-15 {clock(t)},123 - root - INFO - step: {10 * i:2}  loss:  7.9123  grad_norm:  1.2012  memory: 47.12GiB(50.1%)  tps: 1,200  tflops: 10.12  mfu: 20.1%\n"
    for i, t in enumerate(itertools.accumulate([10] * 10 + [40] * 10), 1)))
log("maxtext", "slow-first", [], "".join(f"completed step: {i}, seconds: {30.123 if i == 0 else 1.234}, TFLOP/s/device: 50.1, Tokens/s/device: 1200.1, total_weights: 4096, loss: 10.1\n" for i in range(0, 20)))
# Bars of other shapes.
log("bar-of-epochs-named-epoch", "slowing", GROWING, "".join(
    f"\rEpoch {e}/6:  {100 * (e - 1) // 6}%|██   | {e - 1}/6 [{short(t - s)}<03:13,  {s:.2f}s/it, v_num=1, train_loss_step=1.1e+3]" +
    f"\rEpoch {e}/6:  {100 * e // 6}%|███  | {e}/6 [{short(t)}<03:13,  {s:.2f}s/it, v_num=1, train_loss_step=1.1e+3]"
    for (e, s), t in zip(enumerate(GROWING, 1), itertools.accumulate(GROWING))) + "\n`Trainer.fit` stopped: `max_epochs=6` reached.\n")
log("gluonts", "slow-first", FIRST, "learning rate from ``lr_scheduler`` has been overwritten\n" + "".join(
    f"\r 50%|█████     | 25/50 [{short(s / 2)}<{short(s / 2)},  1.2it/s, epoch={e}/4, avg_epoch_loss=5.3]\r100%|██████████| 50/50 [{short(s)}<00:00,  {50 / s:.2f}it/s, epoch={e}/4, avg_epoch_loss=5.2]\n" for e, s in enumerate(FIRST, 1)))
each("gluonts-logger", FIRST, lambda e, s, t: f"INFO:gluonts.trainer:Epoch[{e}] Learning rate is 0.001\nINFO:gluonts.trainer:Epoch[{e}] Elapsed time {s}.456 seconds\nINFO:gluonts.trainer:Epoch[{e}] Evaluation metric 'epoch_loss'=5.212", start=0)
log("ignite-bar", "slow-first", FIRST, "".join(
    "".join(f"\rEpoch [{e}/4]: [{i}/200] {i // 2:3}%|{'█' * (i // 20):10}, loss=0.312 [{short(s * i / 200)}<{short(s - s * i / 200)}]" for i in (1, 100, 200)) + "\n" for e, s in enumerate(FIRST, 1)))
each("gensim", FIRST, lambda e, s, t: f"2024-03-01 {clock(t - s / 2)},120 : INFO : EPOCH {e} - PROGRESS: at 45.10% examples, 456789 words/s, in_qsize 5, out_qsize 0\n2024-03-01 {clock(t)},120 : INFO : EPOCH {e}: training on 1234567 raw words (987654 effective words) took {s}.3s, 7000 effective words/s", start=0)
each("mozilla-speech", FIRST, lambda e, s, t: f"\rEpoch {e} |   Training | Elapsed Time: 0:00:0{(s - 5) // 20} | Steps: 25 | Loss: 13.3\rEpoch {e} |   Training | Elapsed Time: 0:{short(s - 5)} | Steps: 100 | Loss: 12.312345                   \n\rEpoch {e} | Validation | Elapsed Time: 0:00:05 | Steps: 10 | Loss: 10.112345 | Dataset: dev.csv\nI Saved new best validating model with loss 10.1 to: /tmp/best_dev-100", "I Could not find best validating checkpoint.\nI STARTING Optimization\n", start=0, tail="I FINISHED optimization in 0:02:21.123456\n")
log("tacotron", "healthy", (20, 20, 20), "".join(f"Epoch: {e}\n" + "".join(f"Train loss {10 * e + i} 0.431234 Grad Norm 1.212345 2.00s/it\n" for i in range(10)) + "Validation loss 10: 0.51  \n" for e in range(3)))
log("fasttext-is-no-epoch", "healthy", [], "Read 12M words\nNumber of words:  123456\n" + "".join(f"\rProgress: {p:5.1f}% words/sec/thread: 123456 lr: 0.0{50 - p // 2} avg.loss: 2.3 ETA: 0h 0m{(100 - p) // 10:2}s" for p in range(0, 101, 10)) + "\n")
log("annotated-transformer", "stuck", [], "[GPU0] Epoch 0 Training ====\n" + "".join(f"Epoch Step: {i:6} | Accumulation Step: {i // 10:3} | Loss: {7.6:6.2f} | Tokens / Sec: {2701.9:7.1f} | Learning Rate: 5.4e-07\n" for i in range(1, 400, 40)) +
    "| ID | GPU | MEM |\n------------------\n|  0 | 95% | 61% |\n[GPU0] Epoch 0 Validation ====\n(tensor(3.9), <__main__.TrainState object at 0x7f>)\n")
# How runs die.
TWO = "".join(f"Epoch {e}/10 loss 0.31 time {s}s\n" for e, s in ((1, 20), (2, 21)))
for name, cause, end in (
        ("elastic", None, "E1115 12:00:00.123000 140123 torch/distributed/elastic/multiprocessing/api.py:833] failed (exitcode: -9) local_rank: 0 (pid: 4711) of binary: /usr/bin/python\n"
         "Traceback (most recent call last):\n  File \"/usr/bin/torchrun\", line 8, in <module>\n    sys.exit(main())\ntorch.distributed.elastic.multiprocessing.errors.ChildFailedError: \n=====\ntrain.py FAILED\n"),
        ("pycharm", None, "\nProcess finished with exit code 137 (interrupted by signal 9: SIGKILL)\n"),
        ("kubectl", None, "command terminated with exit code 137\n"),
        ("zsh", None, "zsh: killed     python train.py\n"),
        ("kubernetes", "memory.leak", "Last State: Terminated  Reason: OOMKilled  Exit Code: 137\n"),
        ("aborted", None, "malloc(): corrupted top size\nAborted (core dumped)\n"),
        ("cpu-allocator", "memory.leak", "Traceback (most recent call last):\n  File \"t.py\", line 3, in <module>\nRuntimeError: [enforce fail at alloc_cpu.cpp:114] data. DefaultCPUAllocator: not enough memory: you tried to allocate 17179869184 bytes.\n"),
        ("jax", "memory.leak", "Traceback (most recent call last):\njaxlib.xla_extension.XlaRuntimeError: RESOURCE_EXHAUSTED: Out of memory while trying to allocate 12884901888 bytes.\n"),
        ("cuda-assert", None, "/pytorch/aten/src/ATen/native/cuda/Loss.cu:250: nll_loss_forward_reduce_cuda_kernel_2d: block: [0,0,0], thread: [3,0,0] Assertion `t >= 0 && t < n_classes` failed.\n"
         "Traceback (most recent call last):\n  File \"t.py\", line 3, in <module>\nRuntimeError: CUDA error: device-side assert triggered\n"),
        ("disk-of-a-logger", "disk.full", "Traceback (most recent call last):\n  File \"t.py\", line 3, in <module>\nOSError: [Errno 122] Disk quota exceeded\n")):
    log("died-" + name, "died", (20, 21), TWO + end, cause)
