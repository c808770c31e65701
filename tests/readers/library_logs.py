"""How libraries beyond the usual ones print, in Python and elsewhere: their own bars, tables, clocks and parts of epochs."""
import itertools

from log_parts import EVEN, FIRST, GROWING, LATER, Logs, clock, steps

LOGS = Logs()
log, each = LOGS.log, LOGS.each


def begun(times):
    """(epoch, seconds, seconds before it)"""
    return [(e, s, t - s) for (e, s), t in zip(enumerate(times, 1), itertools.accumulate(times))]


def hms(t):
    return f"{int(t) // 3600}:{int(t) // 60 % 60:02}:{int(t) % 60:02}"


def ms(t):
    return f"{int(t) // 60:02}:{int(t) % 60:02}"


def fastprogress(label, total, seconds):
    """fastai's bar outside of notebooks, which wipes itself away."""
    drawn = "".join(f"\r{label} : |{'█' * int(40 * i / total)}{'-' * (40 - int(40 * i / total))}| {100 * i / total:.2f}% [{i}/{total} {ms(seconds * i / total)}<" +
                    ("?]" if i == 0 else f"{ms(seconds - seconds * i / total)}... 1.1{i:03}]") for i in range(0, total + 1, 5))
    return f"█\r\r{drawn}\r{label} : {' ' * 80}\r\r{label} : {' ' * 80}\r"


VALIDATED = (60, 60, 150, 60, 60, 150)

# Training and validation in lines of their own.
log("detr", "slower-later", [0.8 * s for s in LATER], "".join(
    "".join(f"Epoch: [{e - 1}]  [{i:4}/100]  eta: {hms(s * 0.8 * (100 - i) / 100)}  lr: 0.000100  class_error: 98.13  loss: 45.2013 (45.9021)  time: {s * 0.008:.4f}  data: 0.0103  max mem: 5002\n"
            for i in (0, 10, 50, 99)) +
    f"Epoch: [{e - 1}] Total time: {hms(s * 0.8)} ({s * 0.008:.4f} s / it)\nAveraged stats: lr: 0.000100  class_error: 80.1  loss: 21.1 (30.2)\n" +
    "".join(f"Test:  [{i:3}/20]  eta: 0:00:0{i % 9}  class_error: 70.1  loss: 20.2 (20.3)  time: {s * 0.01:.4f}  data: 0.0091  max mem: 5002\n" for i in (0, 10, 19)) +
    f"Test: Total time: {hms(s * 0.2)} ({s * 0.01:.4f} s / it)\nAveraged stats: class_error: 70.1  loss: 20.2 (20.3)\nAccumulating evaluation results...\nDONE (t=0.12s).\n"
    " Average Precision  (AP) @[ IoU=0.50:0.95 | area=   all | maxDets=100 ] = 0.123\n" for e, s, _ in begun(LATER)) + f"Training time {hms(sum(LATER))}\n")
log("recbole", "slower-later", LATER, "".join(
    f"Thu 15 Oct 2026 {clock(t + s)} INFO  epoch {e - 1} training [time: {s * 0.9:.2f}s, train loss: 412.1234]\n"
    f"Thu 15 Oct 2026 {clock(t + s)} INFO  epoch {e - 1} evaluating [time: {s * 0.1:.2f}s, valid_score: 0.213100]\nThu 15 Oct 2026 {clock(t + s)} INFO  valid result: \nrecall@10 : 0.21    mrr@10 : 0.41\n"
    for e, s, t in begun(LATER)))
log("segmentation-models", "uneven", VALIDATED, "".join(
    f"\nEpoch: {e - 1}\n\rtrain: 100%|██████████| 46/46 [01:00<00:00,  1.31s/it, dice_loss - 0.51, iou_score - 0.62]\n" +
    (f"\rvalid: 100%|██████████| 12/12 [01:30<00:00,  7.51s/it, dice_loss - 0.49, iou_score - 0.63]\n" if s == 150 else "") for e, s, _ in begun(VALIDATED)), "train.validation")
log("mindcv", "slow-first", FIRST, "".join(
    f"[2026-11-15 {clock(t + s // 2)}] mindcv.utils.callbacks INFO - Epoch: [{e}/4], batch: [100/200], loss: 6.912, lr: 0.1, time: {s * 0.45:.3f}s\n"
    f"[2026-11-15 {clock(t + s)}] mindcv.utils.callbacks INFO - Epoch: [{e}/4], batch: [200/200], loss: 6.712, lr: 0.1, time: {s * 0.45:.3f}s\n"
    f"[2026-11-15 {clock(t + s)}] mindcv.utils.callbacks INFO - Validation Top_1_Accuracy: 12.1%, time: {s * 0.1:.3f}s\n"
    f"[2026-11-15 {clock(t + s)}] mindcv.utils.callbacks INFO - Total time since last epoch: {s:.3f}(train: {s * 0.9:.3f}, val: {s * 0.1:.3f})s, ETA: 120.1s\n"
    for e, s, t in begun(FIRST)))
each("mindyolo", LATER, lambda e, s, t:
     f"2026-11-15 {clock(t - s / 2)},123 [INFO] Epoch {e}/5, Step 100/200, imgsize (640, 640), loss: 7.1, lbox: 0.1, lobj: 4.2, cur_lr: 0.1\n"
     f"2026-11-15 {clock(t)},123 [INFO] Epoch {e}/5, epoch time: {s / 60:.2f} min.")
each("word-language-model", LATER, lambda e, s, t:
     f"| epoch {e:3} |   200/ 400 batches | lr 20.00 | ms/batch {s * 2.45:.2f} | loss  7.63 | ppl  2054.10\n{'-' * 89}\n| end of epoch {e:3} | time: {s:.2f}s | valid loss  5.71 | valid ppl   301.10\n{'-' * 89}")
each("lua-torch-resnet", LATER, lambda e, s, t: "\n".join(
     f" | Epoch: [{e}][{i}/100]    Time {s / 100:.3f}  Data 0.004  Err 6.9012  top1  99.219  top5  96.094" for i in range(1, 101)) +
     f"\n * Finished epoch # {e}     top1:  61.102  top5:  31.201\n")
each("kaggle-elapsed-and-remain", FIRST, lambda e, s, t: "\n".join(
     f"Epoch: [{e}][{i}/1000] Elapsed {int(s * i / 1000) // 60}m {int(s * i / 1000) % 60}s (remain 0m {int(s - s * i / 1000) % 60}s) Loss: 0.7012(0.7101) Grad: 1.2012  LR: 0.00002000" for i in (0, 500, 999)) +
     f"\nEVAL: [0/200] Elapsed 0m 0s (remain 0m 1s) Loss: 0.3101(0.3101)\nEVAL: [199/200] Elapsed 0m 0s (remain 0m 0s) Loss: 0.3101(0.3101)\n"
     f"Epoch {e} - avg_train_loss: 0.4103  avg_val_loss: 0.3013  time: {s}s\nEpoch {e} - Score: 0.8412")
log("wenet", "slower-later", LATER, "".join(
    f"2026-11-15 {clock(t)},001 INFO Epoch {e - 1} TRAIN info lr 4e-08\n" + "".join(
        f"2026-11-15 {clock(t + s * i / 4)},012 DEBUG TRAIN Batch {e - 1}/{i * 100} loss 112.1 loss_att 98.2 loss_ctc 130.1 lr 0.00010 rank 0\n" for i in (1, 2, 3)) +
    f"2026-11-15 {clock(t + s)},001 INFO Epoch {e - 1} CV info cv_loss 12.10\n2026-11-15 {clock(t + s)},002 INFO Checkpoint: save to checkpoint exp/{e - 1}.pt\n"
    for e, s, t in begun(LATER)))
# Clocks that run on.
each("matlab-table", FIRST, lambda e, s, t:
     f"|       {e} |          {e * 50} |       {clock(t, hour=0)} |       39.38% |       3.1012 |          0.0100 |",
     "Training on single CPU.\nInitializing input data normalization.\n|========================================================================================|\n"
     "|  Epoch  |  Iteration  |  Time Elapsed  |  Mini-batch  |  Mini-batch  |  Base Learning  |\n|         |             |   (hh:mm:ss)   |   Accuracy   |     Loss     |      Rate       |\n"
     "|========================================================================================|\n|       1 |           1 |       00:00:00 |        9.38% |       3.1012 |          0.0100 |\n",
     tail="|========================================================================================|\nTraining finished: Max epochs completed.\n")
each("matlab-trainnet", LATER, lambda e, s, t:
     f"{e * 50:13}{e:9}{clock(t, hour=0):>15}{0.01:13}{2.6533:16}{2.7:18}",
     "    Iteration    Epoch    TimeElapsed    LearnRate    TrainingLoss    ValidationLoss\n    _________    _____    ___________    _________    ____________    ______________\n"
     f"{0:13}{0:9}{'00:00:00':>15}{0.01:13}{'':16}{13.488:18}\n{1:13}{1:9}{'00:00:01':>15}{0.01:13}{13.974:16}\n", tail="Training stopped: Max epochs completed\n")
each("spinning-up", EVEN, lambda e, s, t:
     f"---------------------------------------\n|             Epoch |{e - 1:16} |\n|      AverageEpRet |{21.9:16} |\n|      TotalEnvInteracts |{4000 * e:10} |\n|              Time |{t:16.1f} |\n---------------------------------------")
each("chainer-report", LATER, lambda e, s, t: f"{e:<12}0.190978    0.0945                0.942           0.971                     {t:<12.4f}",
     "epoch       main/loss   validation/main/loss  main/accuracy  validation/main/accuracy  elapsed_time\n")
each("chainer-bars", GROWING, lambda e, s, t:
     f"\x1b[J{e:<12}0.190978    0.942           {t:<12.4f}\n\x1b[J     total [{'#' * e:50}] {e * 100 // 6:5.2f}%\nthis epoch [..................................................]  0.00%\n{e * 100:10} iter, {e} epoch / 6 epochs\n{100 / s:10.5g} iters/sec. Estimated time to finish: 0:01:12.\n\x1b[4A",
     "epoch       main/loss   main/accuracy  elapsed_time\n")
each("tabnet-clock", LATER, lambda e, s, t: f"epoch {e - 1:<3}| loss: 0.71212 | val_0_auc: 0.81212 |  {hms(t)}s")
each("deep-text-recognition", EVEN, lambda e, s, t: f"[{e * 300}/1200] Train loss: 3.10123, Valid loss: 3.20123, Elapsed_time: {t:.5f}\nCurrent_accuracy : 12.100, Current_norm_ED  : 0.31")
LOGS[-1] = (LOGS[-1][0], "healthy", [(300 * e, s / 300) for e, s in enumerate(EVEN, 1)], *LOGS[-1][3:])
log("ml-agents-is-no-epoch", "healthy", [], "".join(
    f"[INFO] 3DBall. Step: {12000 * i}. Time Elapsed: {31.21 * i:.3f} s. Mean Reward: {1.2 + i}. Std of Reward: 0.712. Training.\n" for i in range(1, 20)))
log("stylegan-ticks", "healthy", [], "Training for 25000 kimg...\n\n" + "".join(
    f"tick {i:<5} kimg {4.0 * i:<8.1f} time {int(32 + 121 * i) // 60}m {int(32 + 121 * i) % 60:02}s       sec/tick 121.1   sec/kimg 30.27   maintenance 0.2    cpumem 5.21   gpumem 10.91  reserved 11.02  augment 0.012\n" for i in range(1, 14)))

# Bars of epochs, bars within bars.
log("scvi-bar-names-its-epoch", "healthy", [10] * 8, "".join(
    f"\rEpoch {min(e + 1, 8)}/8:  {100 * e // 8:2}%|{'█' * e:8}| {e}/8 [{ms(10 * e)}<{ms(80 - 10 * e)}, 10.00s/it, v_num=1, train_loss_step=512, train_loss_epoch=523]" for e in range(0, 9)) + "\n`Trainer.fit` stopped: `max_epochs=8` reached.\n")
log("pykeen-bar", "slowing", [(e, s) for e, s, _ in begun(GROWING) if e > 1], "".join(
    f"\rTraining epochs on cpu: {100 * e // 6:3}%|{'█' * e:6}| {e}/6 [{ms(t + s)}<01:00, {(t + s) / e:.2f}s/epoch, loss=1.01, prev_loss=1.12]" for e, s, t in begun(GROWING)) + "\n")
log("sentence-transformers-2", "slower-later", LATER, "\rEpoch:   0%|          | 0/5 [00:00<?, ?it/s]\n" + "".join(
    "".join(f"\rIteration: {p:3}%|{'█' * (p // 10):10}| {p * 36 // 10}/360 [{ms(s * p / 100)}<{ms(s - s * p / 100)}, {360 / s:.2f}it/s]" for p in (0, 10, 50, 100)) + "\x1b[A" +
    f"\rEpoch: {20 * e:3}%|{'██' * e:10}| {e}/5 [{ms(t + s)}<00:00, {(t + s) / e:.2f}s/it]\n" for e, s, t in begun(LATER)))
log("simpletransformers", "slow-first", FIRST, "".join(
    f"\rEpochs {e - 1}/4. Running Loss:    0.6931:   0%|          | 0/250 [00:00<?, ?it/s]" + "".join(
        f"\rEpochs {e - 1}/4. Running Loss:    0.4123: {p:3}%|{'█' * (p // 10):10}| {p * 25 // 10}/250 [{ms(s * p / 100)}<{ms(s - s * p / 100)}, {250 / s:.2f}it/s]" for p in (10, 60, 100)) + "\n"
    for e, s, _ in begun(FIRST)))
log("hf-flax", "slow-first", FIRST, "".join(
    "".join(f"\rTraining...: {p:3}%|{'█' * (p // 10):10}| {p}/100 [{ms(s * p / 100)}<{ms(s - s * p / 100)}, {100 / s:.2f}it/s]" for p in (1, 50, 100)) +
    f"\rEpoch ... ({e}/4 | Loss: 3.1012, Learning Rate: 0.0001)\n\rEpoch ... : {25 * e:3}%|██        | {e}/4 [{ms(t + s)}<01:00, {(t + s) / e:.2f}s/it]\n" for e, s, t in begun(FIRST)))
log("nemo", "slower-later", LATER, "".join(
    "".join(f"\rEpoch {e - 1}: : {p:3}%|{'█' * (p // 10):10}| {p}/100 [{ms(s * p / 100)}<{ms(s - s * p / 100)}, {100 / s:.2f}it/s, v_num=1, reduced_train_loss=7.120, global_step={(e - 1) * 100 + p}.0]" for p in (1, 50, 100)) + "\n" for e, s, _ in begun(LATER)))
log("diffusers-steps", "healthy", [600], "11/15/2026 09:00:00 - INFO - __main__ - ***** Running training *****\n11/15/2026 09:00:00 - INFO - __main__ -   Num Epochs = 10\n" + "".join(
    f"\rSteps: {p:3}%|{'█' * (p // 10):10}| {p * 10}/1000 [{ms(6 * p)}<{ms(600 - 6 * p)},  1.67it/s, lr=1e-5, step_loss=0.12]" for p in range(0, 101, 4)) +
    "\n11/15/2026 09:10:01 - INFO - accelerate.accelerator - Saving current state to sd-model/checkpoint-1000\n")
each("tensorflow-js", LATER, lambda e, s, t: f"Epoch {e} / 5\neta=0.0 ===========================================================================> \n{s * 1000}ms {s * 20}us/step - acc=0.912 loss=0.312 val_acc=0.912 val_loss=0.301 ")
each("r-luz", FIRST, lambda e, s, t: f"Epoch {e}/4\n\r[=============>----------------] 46/100 - ETA: {s // 2}s - Loss: 0.4123 - Acc: 0.9 \r                                          \rTrain metrics: Loss: 0.3123 - Acc: 0.9\nValid metrics: Loss: 0.3013 - Acc: 0.91")
LOGS[-1] = (LOGS[-1][0], "healthy", [], *LOGS[-1][3:])

each("fastai-console", FIRST, lambda e, s, t: fastprogress(f"Epoch {e}/4", 20, s - 3) + fastprogress(f"Epoch {e}/4", 30, 3) + f"{e - 1:<10}1.242844    1.231886    {ms(s)}     ",
     "█\repoch     train_loss  valid_loss  time    \n")

# Other words and other languages.
each("lasagne", LATER, lambda e, s, t: f"Epoch {e} of 5 took {s:.3f}s\n  training loss:\t\t1.123123\n  validation loss:\t\t0.912312\n  validation accuracy:\t\t91.12 %")
each("nolearn", FIRST, lambda e, s, t: f"{e:7}       2.10312       1.90312      1.10508         0.31212  {s:.2f}s",
     "# Neural Network with 9202 learnable parameters\n\n  epoch    train loss    valid loss    train/val    valid acc  dur\n-------  ------------  ------------  -----------  -----------  -----\n")
each("deeplearning4j", LATER, lambda e, s, t: f"{clock(t)}.123 [main] INFO  o.d.o.l.ScoreIterationListener - Score at iteration {e * 100} is 0.3121231\n{clock(t)}.124 [main] INFO  org.example.Train - Epoch {e - 1} complete. Time: {s * 1000} ms")
log("dl4j-performance", "healthy", [], "".join(
    f"09:00:{i * 2:02}.123 [main] INFO  o.d.o.l.PerformanceListener - ETL: 0 ms; iteration {i * 10}; iteration time: 212 ms; samples/sec: 301.88; batches/sec: 4.72; score: 0.31\n" for i in range(1, 25)))
log("ml-net", "healthy", [], "".join(
    f"Phase: Training, Dataset used: {d}, Batch Processed Count: {13 if d == 'Validation' else 52}, Epoch: {e}, Accuracy: 0.6123\n" for e in range(0, 8) for d in ("     Train", "Validation")))
each("tf-benchmark-metric", EVEN, lambda e, s, t:
     f"I1115 {clock(t)}.123456 140 keras_utils.py:145] TimeHistory: {s:.2f} seconds, {51200 / s:.2f} examples/second between steps {(e - 1) * 200} and {e * 200}")
LOGS[-1] = (LOGS[-1][0], "healthy", [], *LOGS[-1][3:])
log("model-garden", "healthy", [], "".join(
    f"I1115 {clock(60 * i)}.123456 140 controller.py:290] train | step: {200 * i:6} | steps/sec:    3.3 | output: \n    {{'learning_rate': 0.0012, 'training_loss': 2.3123}}\ntrain | step: {200 * i:6} | steps/sec:    3.3 | output: \n    {{'learning_rate': 0.0012, 'training_loss': 2.3123}}\n" for i in range(1, 16)))
log("stanza", "healthy", [], "".join(f"2026-11-15 {clock(6 * i)} INFO: Finished STEP {20 * i}/50000, loss = 3.101231 (0.301 sec/batch), lr: 0.003000\n" for i in range(1, 30)))
log("gpt-neox", "slow-first", [], "".join(
    f" samples/sec: {(1.2 if i == 1 else 31.2):.3f} | iteration {i:8}/  320000 | elapsed time per iteration (ms): {(15012.3 if i == 1 else 512.3):.1f} | learning rate: 1.5E-04 | approx flops per GPU: 50.1TFLOPS | lm_loss: 9.1E+00 | number of skipped iterations:   0 |\n" for i in range(1, 30)))
log("detectron-json-stats", "healthy", [], "".join(
    f'json_stats: {{"accuracy_cls": "0.912", "eta": "3:12:11", "iter": {20 * i}, "loss": "0.912312", "lr": "0.002500", "mb_qsize": 64, "mem": 5012, "time": "0.312312"}}\n' for i in range(1, 25)))
each("fairseq-json", LATER, lambda e, s, t:
     f'2026-11-15 {clock(t - s)} | INFO | fairseq.trainer | begin training epoch {e}\n'
     f'2026-11-15 {clock(t - s / 2)} | INFO | train_inner | {{"epoch": {e}, "update": {e - 0.5}, "loss": "11.3", "ppl": "2512", "wps": "21000", "ups": "1.2", "lr": "0.0005", "train_wall": "{s // 2}", "wall": "{t - s // 2}"}}\n'
     f'2026-11-15 {clock(t - 4)} | INFO | valid | {{"epoch": {e}, "valid_loss": "9.1", "valid_ppl": "512", "valid_wps": "41000", "valid_best_loss": "9.1"}}\n'
     f'2026-11-15 {clock(t)} | INFO | train | {{"epoch": {e}, "train_loss": "11.1", "train_ppl": "2112", "train_wps": "21000", "train_ups": "1.2", "train_num_updates": "{e * 100}", "train_lr": "0.0005", "train_train_wall": "{s - 6}", "train_wall": "{t}"}}')
each("icefall-stamps", LATER, lambda e, s, t:
     f"2026-11-15 {clock(t - s)},001 INFO [train.py:996] (0/2) Epoch {e}, batch 0, loss[loss=1.2, simple_loss=1.1, over 8112.00 frames. ], tot_loss[loss=1.2, over 8112.00 frames. ], batch size: 32, lr: 2.2e-02\n"
     f"2026-11-15 {clock(t - s / 2)},001 INFO [train.py:996] (0/2) Epoch {e}, batch 50, loss[loss=1.2, simple_loss=1.1, over 8112.00 frames. ], tot_loss[loss=1.2, over 8112.00 frames. ], batch size: 32, lr: 2.2e-02\n"
     f"2026-11-15 {clock(t)},001 INFO [checkpoint.py:75] (0/2) Saving checkpoint to exp/epoch-{e}.pt")
log("mmdet2-validates", "uneven", VALIDATED, "2026-11-15 09:00:00,001 - mmdet - INFO - Start running, host: a@b\n" + "".join(
    "".join(f"2026-11-15 {clock(t + 60 * i / 100)},012 - mmdet - INFO - Epoch [{e}][{i}/100]\tlr: 2.000e-02, eta: 0:12:11, time: 0.600, data_time: 0.010, memory: 3890, loss_rpn_cls: 0.1, loss: 0.91\n" for i in (50, 100)) +
    (f"2026-11-15 {clock(t + 60)},512 - mmdet - INFO - Saving checkpoint at {e} epochs\n[>>>>>>>>>>>>>>>>>>>>>>>>>>>>>>] 5000/5000, 55.6 task/s, elapsed: 90s, ETA:     0s2026-11-15 {clock(t + 149)},712 - mmdet - INFO - Evaluating bbox...\n"
     f"2026-11-15 {clock(t + 150)},012 - mmdet - INFO - Epoch(val) [{e}][5000]\tbbox_mAP: 0.2120, bbox_mAP_50: 0.3910\n" if s == 150 else "") for e, s, t in begun(VALIDATED)), "train.validation")
log("lightning-profiler", "slow-overall", [5] * 4, "".join(
    f"\rEpoch {e}: 100%|██████████| 20/20 [00:05<00:00,  4.00it/s, v_num=0]\n" for e in range(4)) + "`Trainer.fit` stopped: `max_epochs=4` reached.\nFIT Profiler Report\n\n" +
    "".join(f"|  {name:60}\t|  {mean:15}\t|  {calls:15}\t|  {total:15}\t|  {share:15}\t|\n" for name, mean, calls, total, share in (
        ("Action", "Mean duration (s)", "Num calls", "Total time (s)", "Percentage %"), ("Total", "-", 5773, 31.5, "100 %"), ("run_training_epoch", 5.01, 4, 20.04, 63.6),
        ("[_TrainingEpochLoop].train_dataloader_next", 0.2021, 80, 16.17, 51.3), ("run_training_batch", 0.0444, 80, 3.55, 11.3))), "input.bound")
log("died-and-the-bar-drawn-again", "died", [], "\r  0%|          | 0/80 [00:00<?, ?it/s]\r  9%|▉         | 7/80 [00:03<00:33,  2.21it/s]Traceback (most recent call last):\n"
    '  File "train.py", line 21, in <module>\n    trainer.train()\nValueError: The batch received was empty\n\r  9%|▉         | 7/80 [00:04<00:45,  1.60it/s]\n')
log("died-behind-a-bar", "died", [5], "\rEpoch 0: 100%|██████████| 20/20 [00:05<00:00,  4.00it/s]\rEpoch 1:  35%|███▌      | 7/20 [00:01<00:03,  4.00it/s]Traceback (most recent call last):\n"
    '  File "train.py", line 21, in <module>\n    loss.backward()\nRuntimeError: CUDA error: device-side assert triggered\n')
def trainer_epoch(e, epochs, begin, training, evaluation, saving):
    """Hugging Face's Trainer, one epoch of 20 steps in four lines, its bar below each; an evaluation; a checkpoint."""
    def bar(step, t):
        return f"\r {100 * step // (20 * epochs)}%|██        | {step}/{20 * epochs} [{ms(t)}<00:10,  9.49it/s]"
    text = "".join(bar(20 * e - 20 + 5 * i - 1, begin + training * i / 4) + f"\r{' ' * 40}\r{{'loss': '0.69', 'grad_norm': '0.15', 'learning_rate': '4.2e-05', 'epoch': '{e - 1 + i / 4:g}'}}\n" +
                   bar(20 * e - 20 + 5 * i, begin + training * i / 4) for i in (1, 2, 3, 4))
    text += "".join(f"\n\r{10 * i:3}%|{'█' * i:10}| {i}/10 [{ms(evaluation * i / 10)}<00:00,  2.72it/s]\x1b[A" for i in (0, 2, 5, 8, 10))
    text += f"\r{' ' * 40}\r\n\r{' ' * 40}\r\x1b[A{{'eval_loss': '0.69', 'eval_runtime': '{evaluation}', 'eval_samples_per_second': '10.82', 'epoch': '{e}'}}\n"
    return text + bar(20 * e, begin + training + evaluation) + f"\n\r100%|██████████| 10/10 [{ms(evaluation)}<00:00,  2.72it/s]\x1b[A\n\r{' ' * 40}\x1b[A\n"


for name, symptom, evaluation, saving, cause in (("evaluates", "slow-overall", 12, 0, "train.validation"), ("saves", "healthy", 2, 6, None)):
    log(f"huggingface-{name}", symptom, [8 + evaluation + saving] * 4, "".join(
        trainer_epoch(e, 4, (e - 1) * (8 + evaluation + saving), 8, evaluation, saving) for e in range(1, 5)) +
        f"\r100%|██████████| 80/80 [01:00<00:00,  1.5it/s]\n{{'train_runtime': '{4 * (8 + evaluation + saving)}.1', 'train_samples_per_second': '12.1', 'train_loss': '0.69', 'epoch': '4'}}\n", cause)
for name in ("evaluator", "ignite.engine.engine.Engine"):
    log(f"ignite-evaluates-{name}", "uneven", VALIDATED, f"2026-11-15 09:00:00,001 {name} INFO: Engine run starting with max_epochs=6.\n" + "".join(
        (f"2026-11-15 {clock(t + 60)},012 {name} INFO: Engine run starting with max_epochs=1.\n2026-11-15 {clock(t + s)},012 {name} INFO: Epoch[1] Complete. Time taken: 00:01:30.012\n"
         f"2026-11-15 {clock(t + s)},013 {name} INFO: Engine run finished. Time taken: 00:01:30.013\n" if s == 150 else "") +
        f"2026-11-15 {clock(t + s)},014 {name} INFO: Epoch[{e}] Complete. Time taken: 00:0{s // 60}:{s % 60:02}.012\n" for e, s, t in begun(VALIDATED)), "train.validation")
log("huggingface-writes-shards", "healthy", [], "".join(
    "".join(f"{{'loss': '0.69', 'grad_norm': '0.15', 'learning_rate': '4.2e-05', 'epoch': '{e - 1 + i / 4:g}'}}\n" for i in (1, 2, 3, 4)) +
    f"{{'eval_loss': '0.69', 'eval_runtime': '0.26', 'epoch': '{e}'}}\n\rWriting model shards:   0%|          | 0/1 [00:00<?, ?it/s]\rWriting model shards: 100%|██████████| 1/1 [00:00<00:00, 553.48it/s]\n" for e in range(1, 5)) +
    "{'train_runtime': '20.44', 'train_samples_per_second': '15.66', 'train_loss': '0.6931', 'epoch': '4'}\n")

# Scripts of one's own.
each("script-seconds-by-name", LATER, lambda e, s, t: f"[epoch {e:02d}] train_loss=0.31 val_loss=0.41 lr=1.0e-03 epoch_s={s:.2f} data_s={s*.01:.2f}")
each("script-parts-below-dashes", FIRST, lambda e, s, t: f"Epoch {e}/4  ----------\n  train  loss 0.312  acc 0.912   {s*.9:.1f}s\n  val    loss 0.301  acc 0.921   {s*.1:.1f}s")
each("script-wall-and-cpu", FIRST, lambda e, s, t: f"{clock(t)} epoch {e} finished: loss=0.3121 (wall {s}.02 s, cpu {s*2}.1 s)")
each("script-steps-in", LATER, lambda e, s, t: f"INFO:train:epoch {e}: 100 steps in {s}.01s ({s*10:.1f} ms/step), loss=0.31")
each("script-best-and-minutes", LATER, lambda e, s, t: f">> epoch {e} :: train 0.31 | valid 0.30 | best 0.30 @ epoch {max(1,e-1)} | {int(s)//60}m{int(s)%60:02}s")
each("script-duration-and-eta", FIRST, lambda e, s, t: f"Finished epoch {e} | duration: 0:{s//60:02}:{s%60:02} | train loss: 0.31 | eta: 0:10:00")
each("script-first-step-behind", FIRST, lambda e, s, t: f"epoch {e}: {s}.21 s  (step 1: {s*.5:.2f} s, mean step: {s/100:.3f} s)")
each("script-parts-and-total-below", LATER, lambda e, s, t: f"== Epoch {e} ==\nforward  {s*.4:.2f}s\nbackward {s*.5:.2f}s\noptim    {s*.1:.2f}s\ntotal    {s:.2f}s")
each("script-thousands-of-images", FIRST, lambda e, s, t: f"epoch {e} | 1,250 batches | 40,000 images | {s:.1f} s | {40000/s:,.1f} img/s")
each("script-done-in-below", LATER, lambda e, s, t: f"Training epoch {e}...\n  ...done in {s}.1s. Loss: 0.31. Validating...\n  ...val loss 0.3 in 0.0s")
log("script-train-val-total", "uneven", VALIDATED, "".join(
    f"epoch {e} train 60.0s" + (" val 90.0s" if s == 150 else "") + f" total {s}.0s loss 0.3\n" for e, s, _ in begun(VALIDATED)), "train.validation")
each("script-grows-evenly", GROWING, lambda e, s, t: f"epoch {e}  time {s}.0{e}  mem {500 + e * 100} MB  graph nodes {e * 1000}")
each("script-clock-nobody-reset", EVEN, lambda e, s, t: f"Epoch {e} completed in {t}.41 seconds")

# Rich: its log handler leaves out times that stand above; bars with one clock, and those of track().
def rich_handler(times):
    lines, last, t = [], None, 0

    def say(text, place):
        nonlocal last
        stamp = f"[{clock(t)}]"
        lines.append(f"{stamp if stamp != last else ' ' * len(stamp)} INFO     {text:<50} {place:>9}\n")
        last = stamp

    say("Starting training", "run.py:6")
    for e, s in enumerate(times, 1):
        say(f"Epoch {e}/{len(times)}", "run.py:8")
        for k in range(4):
            t += s / 4
            say(f"  step {10 * k}/40 loss {2 - k / 10:.3f}", "run.py:9")
        say(f"Epoch {e} done, val_loss=0.5", "run.py:10")
    say("Training finished", "run.py:11")
    return "".join(lines)


log("rich-handler", "slower-later", LATER, rich_handler(LATER))
each("rich-one-clock", LATER, lambda e, s, t: "".join(
    f"\r\x1b[2KEpoch {e}/5 ━━━━━━━━━━━━╺━━━━━━━ {n}/50 {hms(s * n / 50)}" for n in (1, 20, 40, 50)))
each("rich-track", LATER, lambda e, s, t: "".join(
    f"\r\x1b[2KEpoch {e} ━━━━━━━━━━━━╺━━━━━━━ {n:3}% {hms(s - s * n / 100 if n < 100 else s)}" for n in (2, 40, 80, 100)))

# One bar of the whole run, drawn once more behind the last line about an epoch.
log("a-bar-of-the-run-that-ends", "slow-first", FIRST, "".join(
    f"\rep {e} loss 0.3: {25 * e}%|███| {30 * e}/120 [{ms(t + s)}<00:10, 4.8it/s]\r{' ' * 60}\rEpoch {e - 1} | train_loss 0.31 | {s:.1f} s/epoch\n"
    for e, s, t in begun(FIRST)) + f"\rep 4 loss 0.3: 100%|███| 120/120 [{ms(sum(FIRST))}<00:00, 4.8it/s]" * 2 + "\n")

# Whole seconds that grow by one are too coarse for a clock that nobody reset.
log("few-seconds-that-grow", "slowing", [1, 2, 3, 4, 5], "".join(
    f"Epoch: {e:02} | Time: 0m {e}s\n\tTrain Loss: 3.1 | Train PPL: 22.1\n\t Val. Loss: 3.3 |  Val. PPL: 27.1\n" for e in range(1, 6)))
each("parts-told-below-a-header", FIRST, lambda e, s, t:
     f"Epoch {e} of 4\n  [{'=' * 25}] 100%  loss: 0.040\n  train done in {0.9 * s:.2f}s\n  valid done in {0.1 * s:.2f}s  acc: 0.8")
