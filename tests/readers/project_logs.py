"""How well-known projects, loggers and habits print: excerpts in their formats, and what is in them."""

LOGS = []


def log(name, symptom, epochs, text, cause=None):
    LOGS.append((name, symptom, epochs, text, cause))


def bars(label, total, seconds, unit="it", points=(0.1, 0.5, 1.0), post="", width=10):
    """The updates of a tqdm bar, on one line."""
    text = ""
    for part in points:
        step, done = int(total * part), seconds * part
        left = seconds - done
        text += (f"\r{label}{int(part * 100):3}%|{'█' * int(width * part):{width}}| {step}/{total} "
                 f"[{int(done) // 60:02}:{int(done) % 60:02}<{int(left) // 60:02}:{int(left) % 60:02}, {step / max(done, 1e-3):.2f}{unit}/s{post}]")
    return text + "\n"


def stamp(seconds, day="2024-03-01", comma=","):
    return f"{day} {10 + int(seconds) // 3600:02}:{int(seconds) // 60 % 60:02}:{int(seconds) % 60:02}{comma}{int(seconds * 1000) % 1000:03}"


SLOW_FIRST = (30, 10, 10, 10)
EVEN = (12, 12, 13)

# Bars within bars, and what stands around them.
log("tqdm-nested", "slow-first", SLOW_FIRST, "".join(
    f"\rEpochs:  {25 * e}%|██        | {e}/4 [00:{10 * e:02}<00:30, 10.00s/it]\n" + bars("  batches: ", 200, s) + "\x1b[A"
    for e, s in enumerate(SLOW_FIRST)))
log("tqdm-nested-numbered", "slow-first", SLOW_FIRST, "".join(
    bars(f"Epoch {e}/4: ", 200, s, post=", loss=0.31, lr=0.001") for e, s in enumerate(SLOW_FIRST, 1)))
log("tqdm-train-and-val", "healthy", [12, 12, 13], "".join(
    bars(f"Epoch {e} [train]: ", 100, s - 2) + bars(f"Epoch {e} [val]: ", 20, 2) for e, s in enumerate(EVEN, 1)))
log("tqdm-with-rank", "slow-first", SLOW_FIRST, "".join(
    bars(f"[rank0]: Epoch {e}: ", 100, s) for e, s in enumerate(SLOW_FIRST)))
log("tqdm-wrapped-by-narrow-terminal", "slow-first", SLOW_FIRST, "".join(
    f"Epoch {e}\n" + "".join(f"\r{n}/100 [00:{s * n // 100:02}<00:{s - s * n // 100:02}, 3.3it/s]" for n in (30, 60, 100)) + "\n"
    for e, s in enumerate(SLOW_FIRST, 1)))
log("tqdm-bytes-and-examples", "slow-first", SLOW_FIRST, "Downloading data: 100%|██████████| 170M/170M [00:09<00:00, 18.9MB/s]\n" + "".join(
    bars(f"Train epoch {e}: ", 50000, s, unit="ex") for e, s in enumerate(SLOW_FIRST, 1)))

# Loggers.
log("loguru", "slow-first", SLOW_FIRST, "".join(
    f"2024-03-01 10:0{e}:00.123 | INFO     | __main__:train:88 - Epoch {e}/4 | loss=0.31 | epoch_time={s:.2f}s\n" for e, s in enumerate(SLOW_FIRST, 1)))
log("absl", "slow-first", SLOW_FIRST, "".join(
    f"I0301 10:0{e}:12.345678 139923456 train.py:214] epoch: {e}, train_loss: 0.3125, seconds: {s:.1f}\n" for e, s in enumerate(SLOW_FIRST, 1)))
log("absl-stamps-only", "slow-first", SLOW_FIRST, "".join(
    f"I0301 10:{t // 60:02}:{t % 60:02}.000000 139923456 train.py:214] {text}\n" for t, text in
    ((0, "Starting epoch 1"), (30, "eval epoch 1, loss 0.4"), (30, "Starting epoch 2"), (40, "eval epoch 2, loss 0.4"), (40, "Starting epoch 3"),
     (50, "eval epoch 3, loss 0.4"), (50, "Starting epoch 4"), (60, "eval epoch 4, loss 0.4"))))
log("rich-logging", "slow-first", SLOW_FIRST, "".join(
    f"[03/01/24 10:0{e}:12] INFO     Epoch {e}: train loss 0.312 val loss 0.401 ({s:.1f}s)      train.py:91\n" for e, s in enumerate(SLOW_FIRST, 1)))
log("rank-prefixes", "slow-first", SLOW_FIRST, "".join(
    f"[rank{r}] epoch {e} loss {0.5 - r / 10:.3f} time {s + r / 10:.1f}s\n" for e, s in enumerate(SLOW_FIRST, 1) for r in (0, 1)))
log("rank-prefixes-numbers", "healthy", [12, 12, 13], "".join(
    f"[{r}] epoch {e}/3 loss=0.5123 epoch_time={s + r / 20:.2f}s\n" for e, s in enumerate(EVEN, 1) for r in (0, 1, 2, 3)))
log("torchrun-prefix", "slow-first", SLOW_FIRST, "".join(
    f"[default{r}]:Epoch {e} finished in {s}.0 seconds, loss 0.41\n" for e, s in enumerate(SLOW_FIRST, 1) for r in (0, 1)))
log("ray-prefix", "slow-first", SLOW_FIRST, "".join(
    f"\x1b[36m(RayTrainWorker pid=4711, ip=10.0.0.3)\x1b[0m Epoch {e}: loss=0.4 time={s:.1f}s\n" for e, s in enumerate(SLOW_FIRST, 1)))
log("slurm-label", "slow-first", SLOW_FIRST, "".join(
    f"{r}: Epoch {e} | train loss 0.4 | time {s:.1f}s\n" for e, s in enumerate(SLOW_FIRST, 1) for r in (0, 1)))
log("kubernetes-stamps", "slow-first", SLOW_FIRST, "".join(
    f"2024-03-01T10:{t // 60:02}:{t % 60:02}.123456789Z epoch {e} done, loss 0.4\n" for e, t in ((0, 0), (1, 30), (2, 40), (3, 50), (4, 60)))
    .replace("epoch 0 done, loss 0.4", "training starts"))
log("docker-compose", "slow-first", SLOW_FIRST, "".join(
    f"trainer_1  | Epoch {e}/4, loss: 0.412, time: {s}.02s\n" for e, s in enumerate(SLOW_FIRST, 1)))
log("github-actions", "slow-first", SLOW_FIRST, "".join(
    f"2024-03-01T10:{t // 60:02}:{t % 60:02}.1234567Z Epoch {e} completed\n" for e, t in ((1, 30), (2, 40), (3, 50), (4, 60)))
    .join(["2024-03-01T10:00:00.1234567Z Starting training\n", ""]))

# Libraries.
log("lightning-1-tqdm", "healthy", [12, 12, 13], "GPU available: False, used: False\nTPU available: False, using: 0 TPU cores\n" + "".join(
    f"\rEpoch {e}:  50%|█████     | 60/120 [00:06<00:06, 10.0it/s, loss=0.42, v_num=3]\rEpoch {e}: 100%|██████████| 120/120 [00:{s}<00:00, 10.0it/s, loss=0.40, v_num=3]"
    for e, s in enumerate(EVEN)) + "\n`Trainer.fit` stopped: `max_epochs=3` reached.\n")
log("huggingface-with-eval", "healthy", [], "".join(
    f"{{'loss': 0.{9 - i}, 'grad_norm': 1.2, 'learning_rate': 4e-05, 'epoch': {i / 2}}}\n" for i in range(1, 6)) +
    "{'eval_loss': 0.4, 'eval_runtime': 3.1, 'eval_samples_per_second': 96.2, 'epoch': 1.0}\n{'train_runtime': 90.2, 'train_samples_per_second': 55.1, 'epoch': 3.0}\n")
log("yolov5", "slow-first", SLOW_FIRST, "      Epoch    GPU_mem   box_loss   obj_loss   cls_loss  Instances       Size\n" + "".join(
    bars(f"        {e}/3      3.65G    0.04563    0.06794    0.01972         53        640: ", 80, s - 2) +
    bars("                 Class     Images  Instances          P          R      mAP50   mAP50-95: ", 4, 2) +
    "                   all        128        929      0.669      0.549      0.622      0.402\n" for e, s in enumerate(SLOW_FIRST)))
log("yolov8-no-gpu", "healthy", [12, 12, 13], "".join(
    "\n      Epoch    GPU_mem   box_loss   cls_loss   dfl_loss  Instances       Size\n" +
    bars(f"        {e}/3         0G      1.12      1.93      1.25         37        640: ", 80, s - 2) +
    bars("                 Class     Images  Instances      Box(P          R      mAP50  mAP50-95): ", 4, 2) for e, s in enumerate(EVEN, 1)) +
    "\n3 epochs completed in 0.010 hours.\nOptimizer stripped from runs/detect/train/weights/last.pt, 6.5MB\n")
log("fairseq-simple", "slow-first", SLOW_FIRST, "".join(
    f"2024-03-01 10:0{e}:12 | INFO | train | epoch {e:03} | loss 5.3 | nll_loss 3.9 | ppl 15.2 | wps 22012.4 | ups 6.1 | wpb 3590 | bsz 120 | num_updates {1000 * e} | lr 0.0005 | gnorm 1.1 | train_wall {s} | wall {60 + s}\n"
    for e, s in enumerate(SLOW_FIRST, 1)))
log("speechbrain", "slow-first", SLOW_FIRST, "".join(
    bars("", 200, s) + f"speechbrain.utils.train_logger - epoch: {e}, lr: 1.00e-03 - train loss: 2.31 - valid loss: 1.92, valid CER: 12.1\n"
    for e, s in enumerate(SLOW_FIRST, 1)))
log("mmengine", "healthy", [12, 12], "".join(
    f"2024/03/01 10:00:{12 * (e - 1) + n // 10:02} - mmengine - INFO - Epoch(train)  [{e}][{n:3}/100]  lr: 1.0e-02  eta: 0:01:00  time: 0.1200  data_time: 0.0101  memory: 1200  loss: 0.51\n"
    for e in (1, 2) for n in (50, 100)))
log("megatron", "healthy", [], "".join(
    f" iteration {i:8}/     500 | consumed samples: {i * 32:12} | elapsed time per iteration (ms): {312.4 + i % 3:.1f} | learning rate: 1.5E-04 | global batch size:    32 | lm loss: 9.1E+00 | loss scale: 1.0 | grad norm: 1.2 |\n"
    for i in range(10, 210, 10)))
log("megatron-slow-first", "slow-first", [], "".join(
    f" iteration {i:8}/     500 | consumed samples: {i * 32:12} | elapsed time per iteration (ms): {4312.4 if i == 10 else 312.4:.1f} | lm loss: 9.1E+00 |\n"
    for i in range(10, 130, 10)))
log("deepspeed", "healthy", [], "".join(
    f"[2024-03-01 10:00:{i // 2:02},123] [INFO] [timer.py:260:stop] epoch=0/micro_step={i}/global_step={i}, RunningAvgSamplesPerSec=64.1, CurrSamplesPerSec=64.3, MemAllocated=1.2GB\n"
    for i in range(10, 100, 10)))
log("detectron2", "healthy", [], "".join(
    f"[03/01 10:0{i // 100}:{i % 60:02} d2.utils.events]:  eta: 0:17:09  iter: {i}  total_loss: 1.2  time: 0.361  last_time: 0.352  data_time: 0.011  last_data_time: 0.010  lr: 0.00025  max_mem: 2012M\n"
    for i in range(19, 239, 20)))
log("flax-clu", "healthy", [], "".join(
    f"I0301 10:00:{i // 20:02}.345678 139923456 logging_writer.py:48] [{i}] steps_per_sec=20.1, train_loss=0.412\n" for i in range(100, 900, 100)))
log("jax-example", "slow-first", SLOW_FIRST, "".join(
    f"Epoch {e} in {s}.12 sec\nTraining set accuracy 0.9\nTest set accuracy 0.88\n" for e, s in enumerate(SLOW_FIRST)))
log("flax-mnist", "healthy", [12, 12, 13], "".join(
    f"I0301 10:{t // 60:02}:{t % 60:02}.345678 139923456 train.py:148] epoch: {e:3}, train_loss: 0.2, train_accuracy: 92.1, test_loss: 0.1, test_accuracy: 97.1\n"
    for e, t in ((1, 12), (2, 24), (3, 37))).join(["I0301 10:00:00.345678 139923456 main.py:50] JAX process: 0 / 1\n", ""]))
log("skorch", "slow-first", SLOW_FIRST, "  epoch    train_loss    valid_acc    valid_loss     dur\n-------  ------------  -----------  ------------  ------\n" + "".join(
    f"      {e}        \x1b[36m0.6868\x1b[0m       \x1b[32m0.6000\x1b[0m        \x1b[35m0.6740\x1b[0m  {s}.0312\n" for e, s in enumerate(SLOW_FIRST, 1)))
log("tabnet", "slow-first", SLOW_FIRST, "".join(
    f"epoch {e}  | loss: 0.63107 | val_0_auc: 0.7131  |  0:{t // 60:02}:{t % 60:02}s\n" for e, t in enumerate((30, 40, 50, 60))))
log("spacy", "healthy", [], "E    #       LOSS TOK2VEC  LOSS NER  ENTS_F  SCORE\n---  ------  ------------  --------  ------  ------\n" + "".join(
    f"  {e}     {200 * i}          52.08    1500.70   61.20    0.61\n" for i, e in enumerate((0, 0, 1, 1, 2))))
log("kaldi", "healthy", [], "".join(
    f"LOG (nnet3-train[5.5]:PrintStatsForThisPhase():nnet-training.cc:258) Average objective function for 'output' for minibatches {100 * i}-{100 * i + 99} is -0.9 over 51200 frames.\n" for i in range(6)))
log("k2-icefall", "stuck", [], "".join(
    f"2024-03-01 10:00:{i // 2:02},123 INFO [train.py:812] Epoch 1, batch {i}, loss[loss=0.31, over 5000 frames.], tot_loss[loss=0.3, over 100000 frames.], batch size: 17\n" for i in range(0, 100, 10)))
log("xgboost-is-no-epoch", "healthy", [], "".join(f"[{i}]\ttrain-rmse:{0.5 - i / 100:.5f}\teval-rmse:0.61\n" for i in range(12)))
log("lightgbm-is-no-epoch", "healthy", [], "Training until validation scores don't improve for 50 rounds\n" + "".join(
    f"[{100 * i}]\ttraining's auc: 0.91\tvalid_1's auc: 0.87\n" for i in range(1, 6)))
log("sklearn-is-no-epoch", "healthy", [], "".join(f"Iteration {i}, loss = {1 / i:.8f}\n" for i in range(1, 12)))
log("pip-is-no-epoch", "healthy", [], "Collecting torch\n   ━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━ 906.5/906.5 MB 2.1 MB/s eta 0:00:00\nSuccessfully installed torch-2.5.1\n")

# Accounts at the end, and services.
log("wandb", "slow-first", SLOW_FIRST, "wandb: Tracking run with wandb version 0.16.3\nwandb: Run data is saved locally in wandb/run-1\n" + "".join(
    f"Epoch {e} | loss 0.4 | {s}.1s\n" for e, s in enumerate(SLOW_FIRST, 1)) +
    "wandb: \nwandb: Run history:\nwandb:      epoch ▁▃▆█\nwandb: epoch_time █▁▁▁\nwandb: \nwandb: Run summary:\nwandb:      epoch 4\nwandb: epoch_time 10.1\n")
log("clearml", "slow-first", SLOW_FIRST, "ClearML Task: created new task id=1a2b\n2024-03-01 10:00:00,123 - clearml.Task - INFO - No repository found\n" + "".join(
    f"epoch {e}: loss=0.41, acc=0.91, duration={s}.1\n" for e, s in enumerate(SLOW_FIRST, 1)) + "ClearML Monitor: Could not detect iteration reporting\n")
log("best-epoch-summary", "slow-first", SLOW_FIRST, "".join(f"Epoch {e:02} | Time: 0m {s}s\n\tTrain Loss: 5.05 | Train PPL: 156.7\n\t Val. Loss: 4.99\n" for e, s in enumerate(SLOW_FIRST, 1)) +
    "Best epoch 3 with loss 4.9\nTotal epochs: 4\n")

# Habits.
log("f-string-columns", "slow-first", SLOW_FIRST, "".join(f"Ep {e:3d} | tr 0.3121 | va 0.4123 | {s:.1f}s\n" for e, s in enumerate(SLOW_FIRST, 1)))
log("bracketed-fraction", "slow-first", SLOW_FIRST, "".join(f"[{e}/4] train loss 0.3121 | {s:.1f} sec\n" for e, s in enumerate(SLOW_FIRST, 1)))
log("minutes-only", "slow-first", [90, 30, 30], "".join(f"Epoch: {e:03d}/003 | Loss: 0.1 | Time elapsed: {t / 60:.2f} min\n" for e, t in ((1, 90), (2, 120), (3, 150))))
log("epoch-minutes-not-cumulative", "healthy", [90, 91, 90], "".join(f"Epoch: {e:03d}/003 | Loss: 0.1 | Time elapsed: {t / 60:.3f} min\n" for e, t in ((1, 90), (2, 91), (3, 90))))
log("csv-in-the-console", "slow-first", SLOW_FIRST, "epoch,loss,val_loss,sec\n" + "".join(f"{e},0.41,0.52,{s}.02\n" for e, s in enumerate(SLOW_FIRST)))
log("csv-after-other-lines", "slow-first", SLOW_FIRST, "device: cpu\nepoch,loss,val_loss,sec\n" + "".join(f"{e},0.41,0.52,{s}.02\n" for e, s in enumerate(SLOW_FIRST)))
log("json-object-per-epoch", "slow-first", SLOW_FIRST, "".join(f'{{"epoch": {e}, "train": {{"loss": 0.4}}, "epoch_seconds": {s}.2}}\n' for e, s in enumerate(SLOW_FIRST, 1)))
log("datetime-difference", "slow-first", SLOW_FIRST, "".join(f"Epoch {e} loss 0.4 duration 0:00:{s:02}.123456\n" for e, s in enumerate(SLOW_FIRST, 1)))
log("german", "slow-first", SLOW_FIRST, "".join(f"Epoche {e}/4 - Verlust: 0.41 - Zeit: {s}.1s\n" for e, s in enumerate(SLOW_FIRST, 1)))
log("chinese", "slow-first", SLOW_FIRST, "".join(f"第{e}轮 loss: 0.41 用时: {s}.1s\n" for e, s in enumerate(SLOW_FIRST, 1)))
log("round-of-federation", "slow-first", SLOW_FIRST, "".join(f"Round {e}/4: loss 0.41, took {s}.1s\n" for e, s in enumerate(SLOW_FIRST, 1)))
log("epoch-underscored", "slow-first", SLOW_FIRST, "".join(f"epoch_{e} loss=0.3 time_sec={s}.1\n" for e, s in enumerate(SLOW_FIRST, 1)))
log("epoch-at-the-end", "slow-first", SLOW_FIRST, "".join(f"loss 0.41 acc 0.9 time {s}.1s (epoch {e})\n" for e, s in enumerate(SLOW_FIRST, 1)))
log("time-on-its-own-line", "slow-first", SLOW_FIRST, "".join(f"Epoch {e}\n---------\ntrain Loss: 0.6 Acc: 0.7\nval Loss: 0.5 Acc: 0.8\nEpoch complete in 0m {s}s\n\n" for e, s in enumerate(SLOW_FIRST)))
log("torchvision-tutorial", "healthy", [], "".join(f"Epoch {e}/2\n----------\ntrain Loss: 0.6 Acc: 0.7\nval Loss: 0.5 Acc: 0.8\n\n" for e in range(3)) + "Training complete in 1m 30s\nBest val Acc: 0.94\n")
