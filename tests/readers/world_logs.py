"""How trainers of the world print: detection, language models, tuning, tables, and what machines put before each line."""
import itertools

from log_parts import EVEN, FIRST, GROWING, LATER, Logs, clock, steps

LOGS = Logs()
log, each = LOGS.log, LOGS.each

# Ways to write a time or an epoch.
each("quotes-for-minutes", LATER, lambda e, s, t: f"epoch {e}/5: loss 0.31 ({s // 60}'{s % 60:02}\")")
each("quotes-for-seconds", FIRST, lambda e, s, t: f"Epoch {e} - loss 0.31 - {s}\"")
each("ordinal-with-full-stop", LATER, lambda e, s, t: f"{e}. epoch: loss 0.31, time {s:.1f}s")
each("ordinal-in-words", FIRST, lambda e, s, t: f"{e}{'st nd rd th'.split()[e - 1]} epoch done, loss 0.31, {s:.1f} sec")
each("of-epochs-in", LATER, lambda e, s, t: f"Completed {e} of 5 epochs in {s:.1f}s", symptom="slower-later")
each("of-epochs-in-all", EVEN, lambda e, s, t: f"Completed {e} of 4 epochs in {t:.1f}s")
each("bars-between-keys", LATER, lambda e, s, t: f"epoch|{e}|loss|0.312|time|{s:.2f}")
each("bars-between-keys-with-spaces", FIRST, lambda e, s, t: f"epoch | {e} | loss | 0.312 | sec | {s:.2f}")
each("decimal-comma", FIRST, lambda e, s, t: f"Epoch {e}/4: perte 0,412 - durée {s},25 s")
each("iso-duration", FIRST, lambda e, s, t: f"epoch={e} loss=0.31 duration=PT{s}.25S")
each("go-duration", LATER, lambda e, s, t: f"epoch {e} finished loss=0.31 took=" + (f"{s // 60}m{s % 60}.125s" if s >= 60 else f"{s}.125s"))
each("tensor-value", LATER, lambda e, s, t: f"Epoch {e}, loss tensor(0.3121, grad_fn=<NllLossBackward0>), time {s:.3f}")
each("time-delta", LATER, lambda e, s, t: f"Epoch {e} time: datetime.timedelta(seconds={s}, microseconds=120000)")
each("emoji", FIRST, lambda e, s, t: f"🚀 Epoch {e}/4 ✅ loss=0.31 ⏱ {s:.1f}s")
each("stamp-behind-the-words", LATER, lambda e, s, t: f"Epoch {e} begins at 2026-11-15 {clock(t - s)}", tail="Training finished at 2026-11-15 09:08:03\n")
each("stamp-in-brackets-behind", FIRST, lambda e, s, t: f"Epoch {e} done. (Nov 15 {clock(t)} 2026)", "Started (Nov 15 09:00:00 2026)\n")
each("scientific", FIRST, lambda e, s, t: f"epoch {e} loss 3.1e-01 time {s * 1000:.2e} ms")

# What stands before each line.
each("docker-stamps", EVEN, lambda e, s, t: f"2026-11-15T{clock(t)}.123456789Z stdout F Epoch {e} done, loss 0.31", "2026-11-15T09:00:00.123456789Z stdout F starting\n")
each("kubectl-prefix", LATER, lambda e, s, t: f"[pod/train-0/trainer] Epoch {e}/5 loss=0.31 time={s:.1f}s")
each("slurm-two-tasks", LATER, lambda e, s, t: "\n".join(f"{r}: epoch {e} loss 0.31 time {s + r * 0.3:.1f}s" for r in (0, 1)))
each("torchrun-ranks", LATER, lambda e, s, t: "\n".join(f"[rank{r}]:Epoch {e}/5 loss 0.31 time {s:.1f}s" for r in (0, 1)))
each("horovod-prefix", FIRST, lambda e, s, t: "\n".join(f"[1,{r}]<stdout>:Epoch {e}/4, loss 0.31, {s:.1f} s" for r in (0, 1)))
each("accelerate-logger", EVEN, lambda e, s, t: f"11/15/2026 {clock(t)} - INFO - __main__ - epoch {e}: {{'accuracy': 0.91}}", "11/15/2026 09:00:00 - INFO - __main__ - ***** Running training *****\n11/15/2026 09:00:00 - INFO - __main__ -   Num Epochs = 4\n")
each("journald", FIRST, lambda e, s, t: f"Nov 15 {clock(t)} node7 python[4711]: epoch {e} finished, loss 0.31", "Nov 15 09:00:00 node7 python[4711]: start\n")
each("ansi-coloured-logger", LATER, lambda e, s, t: f"\x1b[32m[2026-11-15 {clock(t)}]\x1b[0m \x1b[1;34mINFO\x1b[0m Epoch \x1b[33m{e}\x1b[0m/5 took \x1b[33m{s}.2s\x1b[0m")
each("carriage-return-lines", FIRST, lambda e, s, t: f"Epoch {e}/4 loss 0.31 time {s}.0s", end="\r\n")
log("utf-16-with-stamps", "slow-first", FIRST, ("\ufeff2026-11-15 09:00:00 begin\r\n" + "".join(
    f"2026-11-15 {clock(t)} epoch {e} done, loss 0.31\r\n" for e, t in enumerate(itertools.accumulate(FIRST), 1))).encode("utf-16-le"))
each("notebook-copied", LATER, lambda e, s, t: f"Epoch {e}/5\n100/100 ━━━━━━━━━━━━━━━━━━━━ {s}s {s * 10}ms/step - accuracy: 0.91 - loss: 0.31", "In [7]:\nmodel.fit(x, y, epochs=5)\n\nOut[7]:\n", tail="<keras.src.callbacks.history.History at 0x7f31c0>\n")
each("jupyter-prompt", FIRST, lambda e, s, t: f"Epoch {e}: loss 0.31, {s}s", ">>> train(model)\n", tail=">>> \n")
each("systemd-no-date", LATER, lambda e, s, t: f"{clock(t)} | epoch {e} | loss 0.31 | {s} s")

# Projects.
log("mmdet3", "slower-later", LATER, steps(LATER, 500, lambda e, i, s, t:
    f"11/15 {clock(t)} - mmengine - INFO - Epoch(train)  [{e}][{i}/500]  lr: 2.0e-02  eta: 1:22:11  time: {s:.4f}  data_time: 0.0061  memory: 3890  loss: 0.91"))
log("detectron2-steps", "healthy", [], "".join(
    f"[11/15 {clock(20 * i)} d2.utils.events]:  eta: 0:10:05  iter: {20 * i - 1}  total_loss: 0.71  loss_cls: 0.2  time: 1.0012  last_time: 1.0010  data_time: 0.0071  last_data_time: 0.006   lr: 0.0002  max_mem: 3001M\n" for i in range(1, 25)))
log("fairseq-train-inner", "slower-later", [(e, s) for e, s in enumerate(LATER, 1) if e > 1], steps(LATER, 400, lambda e, i, s, t:
    f"2026-11-15 {clock(t)} | INFO | train_inner | epoch {e:03}: {i:6} / 400 loss=5.1, ppl=34.2, wps=21000, ups={1 / s:.2f}, wpb=3500, lr=0.0005, train_wall=10, wall={t:.0f}"))
log("nanogpt-evaluates", "uneven", [], "".join(
    (f"step {i}: train loss 3.1, val loss 3.2\nsaving checkpoint to out\n" if i % 20 == 0 else "") +
    f"iter {i}: loss 3.1012, time {(9120.5 if i % 20 == 0 else 512.2):.2f}ms, mfu 12.10%\n" for i in range(0, 100)))
log("deepspeed", "healthy", [90], "".join(
    f"[2026-11-15 {clock(5 * i)},123] [INFO] [logging.py:96:log_dist] [Rank 0] step={10 * i}, skipped=0, lr=[1e-05], mom=[[0.9, 0.999]]\n"
    f"[2026-11-15 {clock(5 * i)},124] [INFO] [timer.py:215:stop] epoch=0/micro_step={10 * i}/global_step={10 * i}, RunningAvgSamplesPerSec=64.1, CurrSamplesPerSec=64.0, MemAllocated=1.2GB, MaxMemAllocated=4.5GB\n"
    for i in range(1, 20)))
log("megatron", "slow-first", [], "".join(
    f" iteration {i:8}/     100 | consumed samples: {i * 16:12} | elapsed time per iteration (ms): {(15012.3 if i == 1 else 512.3):.1f} | learning rate: 1.5E-04 | global batch size:    16 | lm loss: 9.1E+00 | number of nan iterations:   0 |\n" for i in range(1, 30)))
log("paddle-detection", "slow-overall", [50, 50, 50], "".join(
    f"[11/15 {clock(t)}] ppdet.engine INFO: Epoch: [{e}] [{i:3}/100] learning_rate: 0.001 loss: 0.91 eta: 0:22:11 batch_cost: 0.5012 data_cost: 0.4102 ips: 15.9 images/s\n"
    for e, i, t in ((e, i, e * 50 + i * 0.5) for e in range(3) for i in (0, 20, 40, 60, 80))), "input.bound")
each("mxnet-module", LATER, lambda e, s, t: f"INFO:root:Epoch[{e}] Batch [20]\tSpeed: 1210.20 samples/sec\taccuracy=0.91\nINFO:root:Epoch[{e}] Train-accuracy=0.92\nINFO:root:Epoch[{e}] Time cost={s:.3f}\nINFO:root:Epoch[{e}] Validation-accuracy=0.90", start=0)
log("catboost-is-no-epoch", "healthy", [], "Learning rate set to 0.05\n" + "".join(
    f"{100 * i}:\tlearn: 0.{68 - i}1\ttest: 0.{69 - i}2\tbest: 0.{69 - i}2 ({100 * i})\ttotal: {1.2 * i + 0.1:.1f}s\tremaining: {12 - 1.2 * i:.1f}s\n" for i in range(0, 10)) + "bestTest = 0.60\nbestIteration = 900\n")
log("lightgbm-info-is-no-epoch", "healthy", [], "[LightGBM] [Info] Number of positive: 212, number of negative: 357\n" + "".join(
    f"[{50 * i}]\tvalid_0's binary_logloss: 0.{60 - i}1\n" for i in range(1, 9)) + "Did not meet early stopping. Best iteration is:\n[400]\tvalid_0's binary_logloss: 0.521\n")
log("spacy-table", "healthy", [], "ℹ Pipeline: ['tok2vec', 'ner']\nE    #       LOSS TOK2VEC  LOSS NER  ENTS_F  SCORE \n---  ------  ------------  --------  ------  ------\n" + "".join(
    f"{e:3}  {200 * i:6}  {52.08:12}  {1500.70 - i:8.2f}  {61.2:6}  {0.61:6}\n" for i, e in enumerate((0, 0, 1, 1, 2, 2, 3))) + "✔ Saved pipeline to output directory\nmodel-last\n")
each("ignite", EVEN, lambda e, s, t: f"2026-11-15 {clock(t)},120 ignite.engine.engine.Engine INFO: Epoch[{e}] Complete. Time taken: 00:00:{s:02}.120")
each("skorch", FIRST, lambda e, s, t: f"{e:7}        \x1b[36m0.6905\x1b[0m       \x1b[32m0.6150\x1b[0m        \x1b[35m0.6749\x1b[0m  {s:.4f}",
     "  epoch    train_loss    valid_acc    valid_loss     dur\n-------  ------------  -----------  ------------  ------\n")
log("flair", "slower-later", LATER, "".join(
    f"2026-11-15 {clock(t - s + s * i / 4)},012 epoch {e} - iter {i * 10}/40 - loss 2.1 - time (sec): {s * i / 4:.2f} - samples/sec: 110.21 - lr: 0.100000\n" +
    (f"2026-11-15 {clock(t)},013 ----------------------------------------------------------------------------------------------------\n2026-11-15 {clock(t)},014 EPOCH {e} done: loss 2.0 - lr: 0.1\n" if i == 4 else "")
    for (e, s), t in zip(enumerate(LATER, 1), itertools.accumulate(LATER)) for i in (1, 2, 3, 4)))
log("keras-tuner", "healthy", [5, 5, 5], "".join(
    f"\nSearch: Running Trial #{k}\n\nValue             |Best Value So Far |Hyperparameter\n{64 * k}               |128               |units\n\n" + "".join(
        f"Epoch {e}/3\n100/100 [==============================] - 5s 50ms/step - loss: 0.31 - val_loss: 0.30\n" for e in (1, 2, 3)) +
    f"\nTrial {k} Complete [00h 00m 15s]\nval_loss: 0.30\n\nBest val_loss So Far: 0.30\nTotal elapsed time: 00h 0{k - 1}m {15 * k % 60}s\n" for k in (1, 2, 3)))
log("ray-tune-tables", "healthy", [], "".join(
    f"== Status ==\nCurrent time: 2026-11-15 {clock(10 * i)} (running for 00:00:{10 * i:02}.12)\nMemory usage on this node: 3.1/15.6 GiB\nUsing FIFO scheduling algorithm.\n"
    "+-------------------+----------+-------+--------+--------+------------------+\n| Trial name        | status   | loc   |     lr |   iter |   total time (s) |\n"
    f"| train_1a2b_00000  | RUNNING  |       | 0.0010 |     {i:2} |        {10.1 * i:9.4f} |\n+-------------------+----------+-------+--------+--------+------------------+\n\n" for i in range(1, 6)))
each("ray-prefix-pid", LATER, lambda e, s, t: f"(train_fn pid=4711) epoch {e}/5 loss 0.31 time {s}.1s")
log("rich-progress-lines", "slow-first", FIRST, "".join(
    f"Epoch {e}/4 ━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━ 100% 0:00:00 {200}/200 0:{s // 60:02}:{s % 60:02}\n" for e, s in enumerate(FIRST, 1)))
log("timm-epochs", "slower-later", LATER, "".join(
    f"Train: {e} [{i:4}/200 ({i * 100 // 199:3}%)]  Loss: 6.91 (6.92)  Time: {s / 200:.3f}s, {128 * 200 / s:7.2f}/s  ({s / 200:.3f}s, {128 * 200 / s:7.2f}/s)  LR: 1.000e-05  Data: 0.010 (0.012)\n"
    for e, s in enumerate(LATER) for i in (0, 50, 100, 150, 199)))
log("yolov7", "slow-first", FIRST, "".join(
    f"\n     Epoch   gpu_mem       box       obj       cls     total    labels  img_size\n     {e}/3     10.1G   0.04563   0.01794   0.01972   0.08329        53       640: 100%|██████████| 80/80 [0{(s - 2) // 60}:{(s - 2) % 60:02}<00:00,  1.03it/s]\n"
    "               Class      Images      Labels           P           R      mAP@.5  mAP@.5:.95: 100%|██████████| 4/4 [00:02<00:00,  2.01it/s]\n"
    for e, s in enumerate(FIRST)) + "4 epochs completed in 0.039 hours.\n")
log("gluon-cv", "slower-later", LATER, "".join(
    f"INFO:root:[Epoch {e}][Batch 99], Speed: 210.1 samples/sec, ObjLoss=2.1\nINFO:root:[Epoch {e}] Training cost: {s:.3f}, ObjLoss=2.0\n" for e, s in enumerate(LATER)))
each("kohya-steps", LATER, lambda e, s, t: f"\nepoch {e}/5\n" + "".join(
    f"\rsteps: {p:3}%|██        | {20 * (e - 1) + p // 5}/100 [{int(t - s + s * p / 100) // 60:02}:{int(t - s + s * p / 100) % 60:02}<05:00,  3.01s/it, avr_loss=0.1]" for p in (20, 60, 100)))
log("stable-baselines-is-no-epoch", "healthy", [], "".join(
    f"---------------------------------\n| rollout/           |          |\n|    ep_len_mean     | 22.1     |\n|    ep_rew_mean     | 22.1     |\n| time/              |          |\n|    fps             | 1201     |\n|    iterations      | {i}        |\n|    time_elapsed    | {2 * i}        |\n|    total_timesteps | {2048 * i}     |\n---------------------------------\n" for i in range(1, 9)))
log("whisper-hf-progress", "healthy", [], "".join(f"\r{i}%|{'█' * (i // 10):10}| {10 * i}/1000 [{15 * i // 60:02}:{15 * i % 60:02}<{(1500 - 15 * i) // 60:02}:{(1500 - 15 * i) % 60:02},  1.50s/it]" for i in range(0, 101, 10)) +
    "\n{'train_runtime': 1500.1, 'train_samples_per_second': 10.7, 'train_steps_per_second': 0.667, 'train_loss': 0.3, 'epoch': 3.0}\n")
log("axolotl-jumps", "slow-first", [], "".join(
    f"{{'loss': 1.{9 - i}, 'grad_norm': 0.5, 'learning_rate': 2e-05, 'epoch': {i / 10}}}\n" for i in range(1, 2)) + "".join(
    f"iter {i}: loss 1.1, time {20011.0 if i == 0 else 510.0}ms\n" for i in range(0, 12)))
log("growing-epochs-of-a-logger", "slowing", GROWING, "".join(
    f"2026-11-15 {clock(t)}.123 | SUCCESS  | trainer:fit:120 - Epoch {e}/6 finished\n" for e, t in enumerate(itertools.accumulate(GROWING), 1)).join(
        ["2026-11-15 09:00:00.123 | INFO     | trainer:fit:100 - Starting training\n", ""]))
log("seq2seq-tutorial", "healthy", [], "".join(
    f"{t // 60}m {t % 60}s (- {(r := 40 - t // 10) // 60}m {r % 60}s) ({5 * i} {10 * i}%) 2.{9 - i}1\n" for i, t in enumerate(itertools.accumulate((10, 12, 14, 16)), 1)))
log("epoch-then-traceback-elsewhere", "died", FIRST[:2], "".join(f"Epoch {e}/10 loss 0.31 time {s}s\n" for e, s in enumerate(FIRST[:2], 1)) +
    "Traceback (most recent call last):\n  File \"/app/train.py\", line 91, in <module>\n    main()\nRuntimeError: DataLoader worker (pid 4711) is killed by signal: Killed.\n")
log("srun-cancelled", "died", FIRST[1:3], "".join(f"Epoch {e}/10 loss 0.31 time {s}s\n" for e, s in enumerate(FIRST[1:3], 1)) +
    "slurmstepd: error: *** STEP 4711.0 ON node7 CANCELLED AT 2026-11-15T12:00:00 DUE TO TIME LIMIT ***\n")
log("oom-killed-shell", "died", FIRST[1:3], "".join(f"Epoch {e}/10 loss 0.31 time {s}s\n" for e, s in enumerate(FIRST[1:3], 1)) + "./run.sh: line 3:  4711 Killed                  python train.py\n")

# Projects again: translation, images, graphs, other languages.
log("marian", "slower-later", LATER, "[2026-11-15 09:00:00] Training started\n" + "".join(
    f"[2026-11-15 {clock(t - s + s * i / 4)}] Ep. {e} : Up. {40 * (e - 1) + 10 * i} : Sen. {1200 * i:,} : Cost 7.10 : Time {s / 4:.2f}s : 5012.30 words/s\n" +
    (f"[2026-11-15 {clock(t)}] Seen 4,800 samples\n[2026-11-15 {clock(t)}] Starting data epoch {e + 1} in logical epoch {e + 1}\n" if i == 4 and e < 5 else "")
    for (e, s), t in zip(enumerate(LATER, 1), itertools.accumulate(LATER)) for i in (1, 2, 3, 4)) + "[2026-11-15 09:08:03] Training finished\n")
log("cyclegan", "slower-later", LATER, "".join(
    "".join(f"(epoch: {e}, iters: {i}, time: {s / 100:.3f}, data: 0.002) D_A: 0.31 G_A: 0.4 cycle_A: 1.2\n" for i in (100, 200, 300)) +
    f"End of epoch {e} / 5 \t Time Taken: {s} sec\n" for e, s in enumerate(LATER, 1)))
each("allennlp", EVEN, lambda e, s, t: f"2026-11-15 {clock(t - s)},120 - INFO - allennlp.training.trainer - Epoch {e}/3\n2026-11-15 {clock(t - s)},121 - INFO - allennlp.training.trainer - Training\n"
     f"accuracy: 0.9, loss: 0.31 ||: 100%|##########| 100/100 [00:{s - 2}<00:00,  2.5it/s]\n2026-11-15 {clock(t - 2)},122 - INFO - allennlp.training.trainer - Validating\n"
     f"accuracy: 0.9, loss: 0.30 ||: 100%|##########| 10/10 [00:02<00:00,  5.0it/s]\n2026-11-15 {clock(t)},123 - INFO - allennlp.training.trainer - Epoch duration: 0:00:{s}.003012", start=0)
log("torchtune", "slower-later", LATER, "".join(
    "".join(f"\r{e}|{i}|Loss: 1.2{i % 10}: {i:3}%|{'█' * (i // 10):10}| {i}/100 [{s * i // 100 // 60:02}:{s * i // 100 % 60:02}<00:10,  1.66it/s]" for i in (1, 30, 70, 100)) + "\n"
    for e, s in enumerate(LATER, 1)))
log("composer-is-no-time", "healthy", [], "".join(
    f"[batch={i}/8]:\n\t Train time/batch: {i - 1}\n\t Train time/sample: {64 * (i - 1)}\n\t Train time/batch_in_epoch: {i - 1}\n\t Train time/epoch: 0\n\t Train loss/train/total: 2.3{i}\n" for i in range(1, 9)))
each("paddle-hapi", (12, 12, 12), lambda e, s, t: f"Epoch {e}/3\n" + "".join(f"step {i:3}/1000 [{'=' * (i // 40):30}] - loss: 0.1200 - acc: 0.9100 - 12ms/step          \n" for i in (10, 500, 1000)), "The loss value printed in the log is the current step, and the metric is the average value of previous steps.\n", symptom="healthy")
each("dgl", (0.12, 0.12, 0.121, 0.119, 0.12), lambda e, s, t: f"Epoch {e:05} | Time(s) {s:.4f} | Loss 1.2101 | Accuracy 0.7100 | ETputs(KTEPS) 101.21", symptom="healthy")
log("pyg-median", "healthy", [], "".join(f"Epoch: {e:03}, Loss: 1.94, Val: 0.51, Test: 0.50\n" for e in range(1, 6)) + "Median time per epoch: 0.0123s\n")
each("julia", FIRST, lambda e, s, t: f"[ Info: Epoch {e} | loss 0.31 | {s}.1s")
each("tabs-and-brackets", LATER, lambda e, s, t: f"Epoch: {e} \tTraining Loss: 0.312 \tValidation Loss: 0.301 ({s}.3 secs)")
log("yunjey", "healthy", [], "".join(f"Epoch [{e}/5], Step [{i}/600], Loss: 2.2010\n" for e in range(1, 6) for i in range(100, 601, 100)))
log("flax", "slower-later", LATER, "I1115 09:00:00.120000 140123 train.py:90] start\n" + "".join(
    f"I1115 {clock(t)}.123456 140123 train.py:116] epoch:{e:3}, train_loss: 0.3101, train_accuracy: 91.20, test_loss: 0.3011, test_accuracy: 92.10\n" for e, t in enumerate(itertools.accumulate(LATER), 1)))
log("clu-writer", "healthy", [], "".join(f"I1115 {clock(10 * i)}.123456 140123 logging_writer.py:48] [{100 * i}] accuracy=0.{10 + i}, loss=2.3, steps_per_sec=10.1\n" for i in range(1, 12)))
log("tf-object-detection", "healthy", [], "".join(f"INFO:tensorflow:Step {100 * i} per-step time 0.51{i % 3}s\nI1115 {clock(51 * i)}.123456 140123 model_lib_v2.py:705] Step {100 * i} per-step time 0.51{i % 3}s\n" for i in range(1, 12)))
log("opennmt", "healthy", [], "".join(f"[2026-11-15 {clock(12 * i)},123 INFO] Step {50 * i}/1000; acc: 5.3; ppl: 1234.1; xent: 7.1; lr: 1.00000; sents: 3200; bsz: 4000/4100/64; 16000/16400 tok/s;     {12 * i} sec;\n" for i in range(1, 21)))
log("openpcdet", "slow-first", FIRST, "".join(
    "".join(f"\repochs:  {25 * (e - 1)}%|██        | {e - 1}/4 [{(t - s) // 60:02}:{(t - s) % 60:02}<03:00, 40.10s/it]train:  {p}%|███    | {p}/100 [{s * p // 100 // 60:02}:{s * p // 100 % 60:02}<00:10,  3.1it/s, total_it={100 * (e - 1) + p}]" for p in (10, 50, 100))
    for (e, s), t in zip(enumerate(FIRST, 1), itertools.accumulate(FIRST))) + f"\repochs: 100%|██████████| 4/4 [{sum(FIRST) // 60:02}:{sum(FIRST) % 60:02}<00:00, 35.2s/it]\n")
log("optuna-is-no-epoch", "healthy", [], "".join(f"[I 2026-11-15 {clock(30 * i * i)},123] Trial {i} finished with value: 0.9{i} and parameters: {{'lr': 0.001, 'layers': 3}}. Best is trial 0 with value: 0.95.\n" for i in range(0, 6)))
log("episodes-are-no-epochs", "healthy", [], "".join(f"Episode {i}/500, reward {10 + i}.1, epsilon 0.9{i % 10}, {0.1 * i:.1f}s\n" for i in range(1, 20)))
log("sockeye", "slower-later", LATER, "".join(
    "".join(f"[INFO:sockeye.training] Epoch[{e}] Batch [{i}]\tSpeed: 1210.12 samples/sec 31000.10 tokens/sec 3.1 updates/sec\tperplexity=31.2\n" for i in (50, 100)) +
    f"[INFO:sockeye.training] Epoch[{e}] Time cost={s}.120\n" for e, s in enumerate(LATER)))
