"""Whole logs as projects write them, with what stands around the epochs: headers, tables, evaluations, several loggers."""
import itertools

from log_parts import EVEN, FIRST, LATER, Logs, clock, steps

LOGS = Logs()
log, each = LOGS.log, LOGS.each


def short(t):
    return f"{int(t) // 60:02}:{int(t) % 60:02}"


# Medical images, detection, point clouds.
each("nnunet-1-whole", FIRST, lambda e, s, t: f"2021-03-02 {clock(t - s)}.120000: \nepoch:  {e} \n2021-03-02 {clock(t - 2)}.120000: train loss : -0.4512 \n"
     f"2021-03-02 {clock(t)}.120000: validation loss: -0.5120 \n2021-03-02 {clock(t)}.130000: Average global foreground Dice: [0.8123, 0.7] \n"
     f"2021-03-02 {clock(t)}.140000: (interpret this as an estimate for the Dice of the different classes. This is not exact.) \n2021-03-02 {clock(t)}.150000: lr: 0.009991 \n"
     f"2021-03-02 {clock(t)}.160000: saving scheduled checkpoint file... \n2021-03-02 {clock(t)}.170000: This epoch took {s}.512310 s\n \n", "Please cite the following paper when using nnUNet:\n\nnum_epochs: 1000\n", start=0)
each("nnunet-2-whole", LATER, lambda e, s, t: f"2024-03-02 {clock(t - s)}.120000: \n2024-03-02 {clock(t - s)}.120010: Epoch {e} \n2024-03-02 {clock(t - s)}.120020: Current learning rate: 0.00991 \n"
     f"2024-03-02 {clock(t)}.120000: train_loss -0.1012 \n2024-03-02 {clock(t)}.120010: val_loss -0.2012 \n2024-03-02 {clock(t)}.120020: Pseudo dice [np.float32(0.5123)] \n"
     f"2024-03-02 {clock(t)}.120030: Epoch time: {s}.18 s \n2024-03-02 {clock(t)}.120040: Yayy! New best EMA pseudo Dice: 0.5123 ", "#######################################################################\nPlease cite the following paper\n", start=0)
log("mmengine-val-too", "healthy", (62, 62, 62), "".join(
    f"2024/03/01 {clock(62 * (e - 1) + n / 10)} - mmengine - INFO - Epoch(train) [{e}][{n:3}/500]    base_lr: 1.0000e-04 lr: 1.0000e-04  eta: 0:22:11  time: 0.1000  data_time: 0.0041  memory: 1200  loss: 0.51  loss_cls: 0.2\n"
    + ("".join(f"2024/03/01 {clock(62 * (e - 1) + 50 + v / 10)} - mmengine - INFO - Epoch(val)   [{e}][{v:3}/120]    eta: 0:00:11  time: 0.1000  data_time: 0.0041  memory: 300\n" for v in (50, 100))
       + f"2024/03/01 {clock(62 * (e - 1) + 62)} - mmengine - INFO - Epoch(val) [{e}][120/120]    coco/bbox_mAP: 0.3210  data_time: 0.0041  time: 0.1000\n" if n == 500 else "")
    for e in (1, 2, 3) for n in (100, 200, 300, 400, 500)))
log("detectron2-input-bound", "slow-overall", [], "[11/15 09:00:00 d2.engine.train_loop]: Starting training from iteration 0\n" + "".join(
    f"[11/15 {clock(20 * i)} d2.utils.events]:  eta: 0:33:12  iter: {20 * i - 1}  total_loss: 2.12  loss_cls: 0.7  loss_box_reg: 0.1    time: 1.0123  last_time: 1.0021  data_time: 0.8512  last_data_time: 0.8412   lr: 0.0002  max_mem: 3001M\n"
    for i in range(1, 20)), "input.bound")
log("paddle-ocr", "slow-overall", (50, 50, 50), "".join(
    f"[2024/03/01 {clock(t)}] ppocr INFO: epoch: [{e}/3], global_step: {100 * (e - 1) + i}, lr: 0.001000, acc: 0.31, norm_edit_dis: 0.6, loss: 12.1, avg_reader_cost: 0.40123 s, avg_batch_cost: 0.50001 s, avg_samples: 64.0, ips: 128.0 samples/s, eta: 0:02:10, max_mem_reserved: 3210 MB\n"
    for e in (1, 2, 3) for i in (20, 40, 60, 80, 100) for t in [50 * (e - 1) + i * 0.5]), "input.bound")
log("openpcdet-logger", "healthy", (42, 42, 42, 42), "".join(
    f"2024-03-01 {clock(42 * (e - 1) + i * 0.42)},123   INFO  Train:    {e}/4 ({25 * (e - 1):3.0f}%) [{i:4}/100 ({i:3.0f}%)]  Loss: 1.234 (1.30)  LR: 1.0e-03  Time cost: {short(i * 0.42)}/{short(42 - i * 0.42)} [{short(42 * (e - 1) + i * 0.42)}/{short(168)}]  Acc_iter {100 * (e - 1) + i}  Data time: 0.01(0.01)  Forward time: 0.40(0.41)  Batch time: 0.42(0.42)\n"
    for e in range(1, 5) for i in (0, 25, 50, 75, 99)))
each("yolov4-darknet-python", FIRST, lambda e, s, t: f"Epoch {e}/4: 100%|██████████| 117/117 [{short(s)}<00:00,  1.90img/s]\n2024-03-01 {clock(t)},120 main.py[line:412] INFO: Checkpoint {e} saved !")
# Language models.
log("fairseq-bars", "slower-later", LATER, "".join(
    "".join(f"epoch {e:03}:  {p:2}%|{'█' * (p // 10):10}| {2 * p}/200 [{short(s * p / 100)}<{short(s - s * p / 100)},  2.31it/s, loss=9.12, nll_loss=8.5, ppl=362.1, wps=21000, ups=2.3, wpb=9000, bsz=310, num_updates={200 * (e - 1) + 2 * p}, lr=1e-05, gnorm=1.2, clip=0, train_wall={s}, wall={t}]\n" for p in (25, 50, 75, 99)) +
    f"2024-03-01 {clock(t)} | INFO | train | epoch {e:03} | loss 8.12 | nll_loss 7.1 | ppl 137.2 | wps 21012.1 | ups 2.3 | wpb 9012 | bsz 310 | num_updates {200 * e} | lr 2e-05 | gnorm 1.1 | clip 0 | train_wall {s} | wall {t}\n"
    for (e, s), t in zip(enumerate(LATER, 1), itertools.accumulate(LATER))))
log("opennmt-steps", "slower-later", [], "[2026-11-15 09:00:00,120 INFO] Starting training on CPU, could be very slow\n" + "".join(
    f"[2026-11-15 {clock(t)},123 INFO] Step {50 * i}/100000; acc:  21.30; ppl: 234.10; xent: 5.10; lr: 1.00000; {16000 * 12 // d}/{16400 * 12 // d} tok/s;     {t} sec\n"
    for i, (d, t) in enumerate(zip([12] * 10 + [36] * 10, itertools.accumulate([12] * 10 + [36] * 10)), 1)))
log("deepspeed-rank-log", "healthy", [], "".join(
    f"[2026-11-15 {clock(5 * i)},123] [INFO] [logging.py:96:log_dist] [Rank 0] rank=0 time (ms) | forward_microstep: 101.2 | backward_microstep: 202.1 | backward_inner_microstep: 201.0 | step_microstep: 190.1\n"
    f"steps: {10 * i} loss: 2.3012 iter time (s): 0.501 samples/sec: 63.9\n" for i in range(1, 20)))
log("megatron-2024", "slower-later", [], "".join(
    f" [2024-03-01 {clock(i)}] iteration {i:8}/    5000 | consumed samples: {i * 32:12} | elapsed time per iteration (ms): {512.3 if i <= 150 else 1480.2:.1f} | throughput per GPU (TFLOP/s/GPU): 120.1 | learning rate: 1.5E-04 | global batch size:    32 | lm loss: 9.1E+00 | loss scale: 1.0 | grad norm: 1.2 | number of skipped iterations:   0 | number of nan iterations:   0 |\n"
    for i in range(10, 310, 10)))
log("torchtune-glued", "healthy", EVEN, "".join(
    "".join(f"\r{e}|{100 * (e - 1) + i}|Loss: 1.2{i % 10}: {i:3}%|{'█' * (i // 10):10}| {i}/100 [{short(s * i / 100)}<{short(s - s * i / 100)},  2.38it/s]" for i in (1, 30, 70, 100))
    + "\nINFO:torchtune.utils._logging:Saving checkpoint. This may take some time. Retrieving full model state dict...\nINFO:torchtune.utils._logging:Checkpoint saved in 1.20 seconds.\n" for e, s in enumerate(EVEN, 1)))
log("llama-factory", "stuck", [], "[INFO|trainer.py:2134] 2024-03-01 10:00:00,123 >> ***** Running training *****\n[INFO|trainer.py:2135] 2024-03-01 10:00:00,123 >>   Num examples = 1,000\n[INFO|trainer.py:2136] 2024-03-01 10:00:00,123 >>   Num Epochs = 3\n" + "".join(
    f"\r{10 * i}%|{'█' * i:10}| {18 * i}/180 [{short(36 * i)}<{short(360 - 36 * i)},  2.00s/it]\n[INFO|2024-03-01 {clock(36 * i, hour=10)}] llamafactory.train.callbacks:157 >> {{'loss': 1.{9 - i % 9}, 'learning_rate': 4.9e-05, 'epoch': {0.3 * i:.2f}, 'throughput': 812.1}}\n"
    for i in range(1, 3)))
log("axolotl", "healthy", (30, 30, 30), "[2024-03-01 10:00:00,123] [INFO] [axolotl.train.train:141] [PID:4711] [RANK:0] Starting trainer...\n" + "".join(
    f"\r {100 * i // 12}%|{'█' * i}| {10 * i}/120 [{short(7.5 * i)}<{short(90 - 7.5 * i)},  1.33it/s]\r{{'loss': 1.1, 'grad_norm': 0.5, 'learning_rate': 2e-05, 'epoch': {i / 4:.2f}}}\n" for i in range(1, 13)) +
    "{'train_runtime': 90.2, 'train_samples_per_second': 5.3, 'train_steps_per_second': 1.33, 'train_loss': 1.1, 'epoch': 3.0}\n")
log("spacy-v2", "healthy", [], "Training pipeline: ['ner']\nStarting with blank model 'en'\n\nItn  NER Loss   NER P   NER R   NER F   Token %  CPU WPS\n---  ---------  ------  ------  ------  -------  -------\n" + "".join(
    f"  {e}   1234.1    61.2    62.1    61.6   100.0    12345\n" for e in (1, 2, 3)))
each("allennlp-0.9", EVEN, lambda e, s, t: f"2019-03-01 {clock(t - s)},120 - INFO - allennlp.training.trainer - Epoch {e}/3\n2019-03-01 {clock(t - s)},121 - INFO - allennlp.training.trainer - Peak CPU memory usage MB: 1234.1\n"
     f"2019-03-01 {clock(t - s)},122 - INFO - allennlp.training.trainer - Training\n2019-03-01 {clock(t - 1)},122 - INFO - allennlp.training.trainer - Validating\n"
     f"2019-03-01 {clock(t)},123 - INFO - allennlp.training.tensorboard_writer -                     Training |  Validation\n2019-03-01 {clock(t)},123 - INFO - allennlp.training.tensorboard_writer - loss            |     0.512  |     0.412\n"
     f"2019-03-01 {clock(t)},124 - INFO - allennlp.training.checkpointer - Best validation performance so far. Copying weights to 'out/best.th'.\n2019-03-01 {clock(t)},125 - INFO - allennlp.training.trainer - Epoch duration: 00:00:{s}", start=0)
log("ludwig", "healthy", (42, 42, 42, 42), "╒══════════╕\n│ TRAINING │\n╘══════════╛\n\nCreating fresh model training run.\nTraining for 1000 step(s), approximately 4 epoch(s).\n\nStarting with step 0, epoch: 0\n" + "".join(
    f"\rTraining:  {25 * e}%|██   | {250 * e}/1000 [{short(42 * e)}<{short(168 - 42 * e)},  5.95it/s]\nRunning evaluation for step: {250 * e}, epoch: {e}\n\rEvaluation valid: 100%|██████████| 8/8 [00:00<00:00, 81.2it/s]\nEvaluation took 0.1012s\n\n" for e in range(1, 5)))
# Loops of libraries.
each("ignite-2", LATER, lambda e, s, t: f"2026-11-15 {clock(t)},120 ignite.engine.engine.Engine INFO: Epoch[{e}] Complete. Time taken: 00:{short(s)}.345", "2026-11-15 09:00:00,120 ignite.engine.engine.Engine INFO: Engine run starting with max_epochs=5.\n",
     tail="2026-11-15 09:08:03,120 ignite.engine.engine.Engine INFO: Engine run complete. Time taken: 00:08:03.512\n")
each("catalyst", FIRST, lambda e, s, t: f"{e}/4 * Epoch (train): 100% 200/200 [{short(s - 2)}<00:00,  2.50it/s, loss=0.312]\n{e}/4 * Epoch (valid): 100% 20/20 [00:02<00:00, 10.0it/s, loss=0.30]\n"
     f"[2026-11-15 {clock(t)},120]\ntrain ({e}/4) loss: 0.312 | lr: 0.001\nvalid ({e}/4) loss: 0.301\n* Epoch ({e}/4)")
log("composer-bars", "slow-first", FIRST, "".join(
    "".join(f"\rtrain          Epoch {e:3}: {p:3}%|{'█' * (p // 4):25}| {p}/100 [{short(s * p / 100)}<{short(s - s * p / 100)},  1.25ba/s, loss/train/total=2.3012]         " for p in (1, 25, 75, 100)) + "\n" for e, s in enumerate(FIRST)))
log("poutyne", "slow-first", FIRST, "".join(
    f"Epoch: {e}/4 Step: 100/100 100.00% |████████████████████|{s:.2f}s train_loss: 0.312 train_acc: 91.2 val_loss: 0.30 val_acc: 92.1\n" for e, s in enumerate(FIRST, 1)))
log("poutyne-plain", "slow-first", FIRST, "".join(
    f"\rEpoch: {e}/4 Step:  50/100 50.00% |██████████          |ETA: {s / 2:.2f}s loss: 0.41 acc: 90\rEpoch: {e}/4 Train steps: 100 Val steps: 20 {s}.31s loss: 0.312 acc: 91.2 val_loss: 0.30 val_acc: 92.1\n" for e, s in enumerate(FIRST, 1)))
log("pytorch-tabular-rich", "healthy", [], "┏━━━┳━━━━━━━━━━━━━━━━━━┳━━━━━━━━━━━━━━━━━━━━━━━━━━━┳━━━━━━━━┓\n┃   ┃ Name             ┃ Type                      ┃ Params ┃\n┡━━━╇━━━━━━━━━━━━━━━━━━╇━━━━━━━━━━━━━━━━━━━━━━━━━━━╇━━━━━━━━┩\n│ 0 │ _backbone        │ CategoryEmbeddingBackbone │ 12.1 K │\n└───┴──────────────────┴───────────────────────────┴────────┘\nTrainable params: 12.1 K\n")
each("sb3-custom-epochs", EVEN, lambda e, s, t: f"Epoch #{e}: 10001it [00:{s}, 238.10it/s, env_step={10000 * e}, len=198, loss=0.312, n/ep=0, n/st=10, rew=198.00]\nEpoch #{e}: test_reward: 200.000000 ± 0.000000, best_reward: 200.000000 ± 0.000000 in #1")
log("rllib-is-no-epoch", "healthy", [], "".join(f"== Status ==\nCurrent time: 2024-03-01 {clock(10 * i)} (running for 00:00:{10 * i:02}.12)\nResult for PPO_CartPole_1a2b:\n  agent_timesteps_total: {4000 * i}\n  date: 2024-03-01_{clock(10 * i).replace(':', '-')}\n  episode_reward_mean: {20 * i}.1\n  time_since_restore: {9.1 * i:.2f}\n  time_this_iter_s: 9.1\n  time_total_s: {9.1 * i:.2f}\n  training_iteration: {i}\n" for i in range(1, 6)))
log("sb3-later-slower-fps", "healthy", [], "".join(
    f"-----------------------------------------\n| rollout/                |             |\n|    ep_len_mean          | 195         |\n| time/                   |             |\n|    fps                  | 812         |\n|    iterations           | {i}           |\n|    time_elapsed         | {2 * i}           |\n|    total_timesteps      | {2048 * i}       |\n| train/                  |             |\n|    approx_kl            | 0.008       |\n|    loss                 | 12.1        |\n-----------------------------------------\n" for i in range(1, 12)))
log("tf-object-detection-later", "slower-later", [], "".join(
    f"INFO:tensorflow:Step {100 * i} per-step time {d:.3f}s\nI0301 {clock(t)}.123456 140123 model_lib_v2.py:705] Step {100 * i} per-step time {d:.3f}s\nINFO:tensorflow:{{'Loss/classification_loss': 0.31,\n 'Loss/total_loss': 0.6,\n 'learning_rate': 0.04}}\nI0301 {clock(t)}.123956 140123 model_lib_v2.py:708] {{'Loss/classification_loss': 0.31,\n 'Loss/total_loss': 0.6,\n 'learning_rate': 0.04}}\n"
    for i, (d, t) in enumerate(zip([0.512] * 10 + [1.512] * 10, itertools.accumulate([51] * 10 + [151] * 10)), 1)))
log("estimator-slower", "slower-later", [], "INFO:tensorflow:Saving checkpoints for 0 into /tmp/model.ckpt.\nINFO:tensorflow:loss = 2.3, step = 1\n" + "".join(
    f"INFO:tensorflow:global_step/sec: {100 / d:.5g}\nINFO:tensorflow:loss = 0.3, step = {100 * i + 1} ({d:.3f} sec)\n" for i, d in enumerate([9.9] * 8 + [30.1] * 8, 1)))
each("keras-in-r", (3.8, 1.9, 1.9, 1.9), lambda e, s, t: f"Epoch {e}/4\n1875/1875 - {s:.0f}s - loss: 0.3120 - accuracy: 0.9120 - {s:.0f}s/epoch - {s * 1000 / 1875:.0f}ms/step", symptom="healthy")
each("keras-in-r-bars", EVEN, lambda e, s, t: f"Epoch {e}/4\n\n   1/1875 [..............................] - ETA: 6:12 - loss: 2.3" + "\b" * 60 + f"\r1875/1875 [==============================] - {s}s 22ms/step - loss: 0.31")
log("mindspore-monitors", "slower-later", LATER, "".join(
    f"epoch: {e} step: {i}, loss is 0.3121\n" + (f"Train epoch time: {s * 1000}.123 ms, per step time: {s * 10:.3f} ms\n" if i == 100 else "") for e, s in enumerate(LATER, 1) for i in (25, 50, 75, 100)))
log("caffe", "slower-later", [], "".join(
    f"I0301 {clock(t)}.123456  4711 solver.cpp:239] Iteration {100 * i} ({100 / d:.5g} iter/s, {d:.3f}s/100 iters), loss = 0.312\nI0301 {clock(t)}.123556  4711 solver.cpp:258]     Train net output #0: loss = 0.31 (* 1 = 0.31 loss)\nI0301 {clock(t)}.123656  4711 sgd_solver.cpp:112] Iteration {100 * i}, lr = 0.01\n"
    for i, (d, t) in enumerate(zip([6.1] * 8 + [18.1] * 8, itertools.accumulate([6] * 8 + [18] * 8)), 1)))
each("flux-julia-show", FIRST, lambda e, s, t: f"┌ Info: Epoch {e}\n│   train_loss = 0.312\n└   test_acc = 0.91\n {s}.123456 seconds (12.3 M allocations: 1.2 GiB, 3.10% gc time)")
log("julia-progress-meter", "slow-first", FIRST, "".join(f"Epoch {e}: 100%|█████████████████████████████████████████| Time: 0:{short(s)}\n  loss:  0.312\n" for e, s in enumerate(FIRST, 1)))
each("accelerate-example", EVEN, lambda e, s, t: f"epoch {e}: {{'accuracy': 0.91, 'f1': 0.93}}\nEpoch {e} took {s}.12 seconds", start=0)
each("determined", LATER, lambda e, s, t: f"[2026-11-15T{clock(t)}.123456Z] 1a2b3c [rank=0] INFO: [4711] determined.core: report_training_metrics(steps_completed={100 * e}, metrics={{'loss': 0.31}}): epoch {e} took {s}.1 s", start=0)
each("k8s-two-containers", LATER, lambda e, s, t: f"worker-0 trainer 2026-11-15T{clock(t)}.123456789Z Epoch {e}/5 finished loss=0.31\nworker-1 trainer 2026-11-15T{clock(t)}.223456789Z Epoch {e}/5 finished loss=0.32", "worker-0 trainer 2026-11-15T09:00:00.123456789Z starting\n")
each("slurm-ranks-out-of-order", EVEN, lambda e, s, t: f"1: Epoch {e}/4 | loss 0.41 | {s + 0.3:.1f}s/epoch\n0: Epoch {e}/4 | loss 0.40 | {s:.1f}s/epoch\n3: Epoch {e}/4 | loss 0.42 | {s + 0.1:.1f}s/epoch\n2: Epoch {e}/4 | loss 0.40 | {s + 0.2:.1f}s/epoch")
each("spanish", FIRST, lambda e, s, t: f"Época {e}/4 - pérdida: 0,312 - precisión: 0,91 - tiempo: {s},12 s")
each("french", FIRST, lambda e, s, t: f"Époque {e}/4 — perte : 0,312 — précision : 91,2 % — durée : {s},1 s")
each("russian", FIRST, lambda e, s, t: f"Эпоха {e}/4: потери 0,312, точность 0,91, время {s},10 с")
each("japanese", FIRST, lambda e, s, t: f"エポック {e}/4 損失: 0.312 精度: 0.91 時間: {s}.1秒")
each("korean", FIRST, lambda e, s, t: f"에폭 {e}/4 손실: 0.312 정확도: 0.91 시간: {s}.1초")
each("polish", FIRST, lambda e, s, t: f"Epoka {e}/4: strata 0,312, czas {s},1 s")
each("italian", FIRST, lambda e, s, t: f"Epoca {e}/4 - perdita: 0,312 - tempo: {s},1 s")
each("fastai-with-bars", FIRST, lambda e, s, t: f"\r\x1b[KEpoch {e}/4 : |----------------| 0.00% [0/100 00:00<?]\r\x1b[KEpoch {e}/4 : |████████--------| 50.00% [50/100 {short(s / 2)}<{short(s / 2)} 0.4123]\r\x1b[K{e}         0.412345    0.312345    0.912345  {short(s)}     ",
     "epoch     train_loss  valid_loss  accuracy  time    \n", start=0)
log("sklearn-mlp", "healthy", [], "".join(f"Iteration {i}, loss = {1 / i:.8f}\nValidation score: 0.9{i}0000\n" for i in range(1, 9)) + "Validation score did not improve more than tol=0.000100 for 10 consecutive epochs. Stopping.\n")
log("xgboost-with-stamps", "healthy", [], "".join(f"[{clock(i * i)}] [{i}]\tvalidation_0-logloss:0.{69 - i}123\tvalidation_1-logloss:0.6{i}\n" for i in range(10)))
