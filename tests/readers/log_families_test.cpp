// One log excerpt per family of training logs, and the epoch times a reader must find in it.
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "isochron/readers/console_reader.h"

namespace isochron {
namespace {

struct Excerpt {
  const char* name;
  std::string log;
  std::vector<std::pair<int, double>> epochs;  // index, seconds
  double tolerance = 0.05;                     // relative
};

void PrintTo(const Excerpt& excerpt, std::ostream* out) { *out << excerpt.name; }

std::vector<RunRecord> read(const std::string& log) {
  ConsoleReader reader;
  reader.feed(log);
  return reader.finish();
}

class LogFamily : public testing::TestWithParam<Excerpt> {};

TEST_P(LogFamily, GivesEpochTimes) {
  const Excerpt& excerpt = GetParam();
  const std::vector<RunRecord> runs = read(excerpt.log);
  ASSERT_EQ(runs.size(), 1u);
  const auto& epochs = runs[0].epochs;
  ASSERT_EQ(epochs.size(), excerpt.epochs.size());
  for (size_t i = 0; i < epochs.size(); ++i) {
    EXPECT_EQ(epochs[i].index, excerpt.epochs[i].first);
    EXPECT_NEAR(epochs[i].seconds, excerpt.epochs[i].second, excerpt.tolerance * excerpt.epochs[i].second + 1e-9);
  }
}

const Excerpt kExcerpts[] = {
    {"keras1",
     "Train on 60000 samples\nEpoch 1/2\n\r  128/60000 [....] - ETA: 30s - loss: 2.3"
     "\b\b\b\b\b\b\b\b\b\b\r60000/60000 [==============================] - 36s - loss: 0.1\nEpoch 2/2\n"
     "60000/60000 [==============================] - 12s - loss: 0.1\n",
     {{1, 36}, {2, 12}}},
    {"keras1_verbose2",
     "Epoch 1/2\n - 34s - loss: 0.31 - acc: 0.9\nEpoch 2/2\n - 2s - loss: 0.1 - acc: 0.9\n",
     {{1, 34}, {2, 2}}},
    {"keras2",
     "Epoch 1/2\n387/387 [==============================] - 36s 92ms/step - loss: 0.2 - val_loss: 0.1\n"
     "Epoch 2/2\n387/387 [==============================] - 20s 52ms/step - loss: 0.2 - val_loss: 0.1\n",
     {{1, 35.604}, {2, 20.124}}},
    {"keras2_verbose2",
     "Epoch 1/2\n250/250 - 28s - loss: 0.5 - accuracy: 0.8 - 28s/epoch - 113ms/step\n"
     "Epoch 2/2\n250/250 - 1s - loss: 0.5 - accuracy: 0.8 - 548ms/epoch - 2ms/step\n",
     {{1, 28.25}, {2, 0.548}}},
    {"keras2_samples", "Epoch 1/1\n60000/60000 [=========] - 4s 66us/sample - loss: 0.2\n", {{1, 3.96}}},
    {"keras3",
     "Epoch 1/2\n\x1b[1m 1/64\x1b[0m \x1b[37m\u2501\u2501\u2501\x1b[0m \x1b[1m5:15\x1b[0m 5s/step - loss: 1.2"
     "\b\b\b\b\b\b\r\x1b[1m64/64\x1b[0m \x1b[32m\u2501\u2501\u2501\x1b[0m\x1b[37m\x1b[0m \x1b[1m0s\x1b[0m 488ms/step - "
     "loss: 0.9"
     "\b\b\r\x1b[1m64/64\x1b[0m \x1b[32m\u2501\u2501\u2501\x1b[0m\x1b[37m\x1b[0m \x1b[1m36s\x1b[0m 488ms/step - loss: "
     "0.9\n"
     "Epoch 2/2\n64/64 \u2501\u2501\u2501\u2501 31s 488ms/step - loss: 0.8\n",
     {{1, 35.75}, {2, 31.2}}},
    {"keras3_verbose2",
     "Epoch 1/2\n540/540 - 6s - 10ms/step - loss: 0.1\nEpoch 2/2\n540/540 - 5s - 9ms/step - loss: 0.1\n",
     {{1, 5.5}, {2, 4.9}}},
    {"keras_unknown_length",
     "Epoch 1/2\n\r      5/Unknown \x1b[1m2s\x1b[0m 300ms/step - loss: 1\r     10/Unknown \x1b[1m4s\x1b[0m 310ms/step "
     "- loss: 1"
     "\r10/10 \u2501\u2501\u2501\u2501 5s 450ms/step - loss: 1\nEpoch 2/2\n10/10 \u2501\u2501\u2501\u2501 4s "
     "400ms/step - loss: 1\n",
     {{1, 4.5}, {2, 4.0}}},
    {"keras_evaluate_is_no_epoch",
     "Epoch 1/2\n100/100 - 10s - 100ms/step - loss: 1\nEpoch 2/2\n100/100 - 9s - 90ms/step - loss: 1\n"
     "20/20 - 30s - 1500ms/step - loss: 0.5\n313/313 \u2501\u2501\u2501 1s 2ms/step\n",
     {{1, 10}, {2, 9}}},
    {"keras_callbacks_are_no_epochs",
     "Epoch 7/8\n100/100 - 10s - 100ms/step - loss: 1\n\nEpoch 00007: saving model to a.h5\nEpoch 7: val_loss did not "
     "improve from 0.2\nEpoch 8/8\n100/100 - 9s - 90ms/step - loss: 1\n",
     {{7, 10}, {8, 9}}},
    {"fit_in_a_loop",
     "10/10 [==============================] - 4s 400ms/step - loss: 1\n10/10 [==============================] - 1s "
     "100ms/step - loss: 1\n10/10 [==============================] - 1s 110ms/step - loss: 1\n",
     {{1, 4}, {2, 1}, {3, 1.1}}},
    {"tqdm_per_epoch",
     "Epoch 0:   0%|          | 0/50 [00:00<?, ?it/s]\rEpoch 0: 100%|\u2588\u2588| 50/50 [00:12<00:00,  4.05it/s, "
     "loss=0.1]\n"
     "Epoch 1: 100%|##########| 50/50 [02:05<00:00,  2.51s/it]\n",
     {{1, 12.35}, {2, 125.5}}},
    {"tqdm_mojibake",
     "Epoch 1/2: 100%|\xe2\xa6| 15/15 [00:10<00:00,  1.43batch/s]\nEpoch 2/2: 100%|?\x96\x88| 15/15 [00:20<00:00,  "
     "1.37s/batch]\n",
     {{1, 10.49}, {2, 20.55}}},
    {"tqdm_unnamed_then_print",
     "100%|###| 20/20 [00:05<00:00,  3.80it/s]\nepoch 1 loss 0.3\n100%|###| 20/20 [00:03<00:00,  5.71it/s]\nepoch 2 "
     "loss 0.2\n",
     {{1, 5.26}, {2, 3.5}}},
    {"tqdm_lost_returns",
     "epoch 1:   0%| | 0/10 [00:00<?, ?it/s]epoch 1:  50%|#| 5/10 [00:02<00:02, 2.5it/s]epoch 1: 100%|#| 10/10 "
     "[00:04<00:00, 2.27it/s]\n"
     "epoch 2: 100%|#| 10/10 [00:03<00:00, 3.03it/s]\n",
     {{1, 4.4}, {2, 3.3}}},
    {"tqdm_epochs_bar",
     "Epochs:   0%|   | 0/3 [00:00<?, ?it/s]\rEpochs:  33%|   | 1/3 [00:40<01:20, 40.2s/it]\rEpochs:  67%|   | 2/3 "
     "[01:10<00:33, 34.1s/it]"
     "\rEpochs: 100%|   | 3/3 [01:40<00:00, 33.3s/it]\n",
     {{1, 40}, {2, 30}, {3, 30}}},
    {"lightning_tqdm",
     "Sanity Checking DataLoader 0: 100%|##| 2/2 [00:00<00:00, 10.1it/s]\rEpoch 0:   0%| | 0/188 [00:00<?, ?it/s]"
     "\rEpoch 0: 100%|##| 188/188 [00:10<00:00, 18.1it/s, v_num=0]\nValidation: |  | 0/? [00:00<?, ?it/s]\x1b[A"
     "\nValidation DataLoader 0: 100%|##| 47/47 [00:02<00:00, 20.1it/s]\x1b[A\n\rEpoch 0: 100%|##| 188/188 "
     "[00:12<00:00, "
     "14.8it/s, v_num=0]\rEpoch 0:   0%| | 0/188 [00:00<?, ?it/s]\rEpoch 1: 100%|##| 188/188 [00:11<00:00, 15.9it/s, "
     "v_num=0]\n",
     {{1, 12.7}, {2, 11.8}}},
    {"lightning_rich",
     "\x1b[2KEpoch 0/1 \u2501\u2501\u2501 188/188 0:00:01 \u2022 0:00:00 108.77it/s loss: 0.1\nValidation "
     "\u2501\u2501\u2501 370/375 0:00:02 \u2022 "
     "0:00:00 125.68it/s\r\x1b[2K\x1b[1A\x1b[2KEpoch 0/1 \u2501\u2501\u2501 188/188 0:00:01 \u2022 0:00:00 108.77it/s "
     "loss: 0.1\n"
     "Validation \u2501\u2501\u2501 375/375 0:00:02 \u2022 0:00:00 125.68it/s\n"
     "Epoch 1/1 \u2501\u2501\u2501 188/188 0:00:01 \u2022 0:00:00 110.0it/s loss: 0.1\n",
     {{1, 4.71}, {2, 1.71}}},
    {"ultralytics",
     "      1/20      5.66G      1.23      2.1       1.2        16        640: 100%|\u2588\u2588| 1603/1603 "
     "[03:45<00:00,  7.1it/s]\n"
     "                 Class     Images  Instances      Box(P: 100%|\u2588\u2588| 40/40 [00:10<00:00,  3.9it/s]\n"
     "      2/20      5.66G      1.23      2.1       1.2        16        640: 100%|\u2588\u2588| 1603/1603 "
     "[03:20<00:00,  8.0it/s]\n",
     {{1, 236}, {2, 200.4}}},
    {"ultralytics_2025",
     "\x1b[K       1/3         0G      1.1      2.0        16        640: 100% \u2501\u2501\u2501\u2501 337/337 "
     "6.9it/s 48.8s<0.2s 9s\n"
     "\x1b[K       2/3         0G      1.1      2.0        16        640: 100% \u2501\u2501\u2501\u2501 337/337 "
     "6.9it/s 47.1s\n",
     {{1, 48.8}, {2, 47.1}}},
    {"yolov9",
     "     0/99      10.1G      1.1      2.0        16        640: 100%|\u2588\u2588| 653/653 15:31\n     1/99      "
     "10.1G      1.1      2.0        16        640: 100%|\u2588\u2588| 653/653 15:20\n",
     {{1, 931.5}, {2, 920.5}}},
    {"huggingface",
     "  0%|          | 0/100 [00:00<?, ?it/s]\r 25%|##| 25/100 [00:10<00:30, 2.4it/s]\n{'loss': 0.3, 'learning_rate': "
     "5e-05, 'epoch': 0.5}\n"
     "\r 50%|##| 50/100 [00:21<00:20, 2.4it/s]\n{'loss': '0.2', 'learning_rate': '2e-05', 'epoch': '1.0'}\n"
     "\r100%|##| 100/100 [00:43<00:00, 2.4it/s]\n{'loss': 0.1, 'epoch': 2.0}\n{'train_runtime': 43.4, 'epoch': 2.0}\n",
     {{1, 21.5}, {2, 22}}},
    {"fastai",
     "epoch     train_loss  valid_loss  accuracy  time    \n0         0.529  0.411  0.86  02:17     \n1         0.4  "
     "0.35  0.88  1:30:29     \n",
     {{1, 137.5}, {2, 5429.5}}},
    {"skorch",
     "  epoch    train_loss    valid_acc    valid_loss     dur\n-------  ------------  -----------  ------------  "
     "------\n      1        0.6905       0.615        0.6749  0.4832\n      2        0.6600       0.629        0.66  "
     "0.3001\n",
     {{1, 0.4832}, {2, 0.3001}}},
    {"cntk",
     "Finished Epoch[ 1 of 40]: [Training] loss = 2.3 * 60000, metric = 80% * 60000 21.741s (2759.8 "
     "samples/s);\nFinished Epoch[ 2 of 40]: [Training] loss = 2.3 * 60000 11.5s (5217 samples/s);\n",
     {{1, 21.741}, {2, 11.5}}},
    {"mindspore",
     "epoch: 1 step: 39, loss is 0.3\nepoch time: 36501.857 ms, per step time: 935.945 ms\nepoch: 2 step: 39, loss is "
     "0.2\nTrain epoch time: 5483.1 ms, per step time: 140.6 ms\n",
     {{1, 36.501857}, {2, 5.4831}}},
    {"paddle",
     "epoch: 0 done, loss: 0.2, epoch time: 1105.58 s\nepoch: 1 done, loss: 0.2, epoch time: 1005.58 s\n",
     {{1, 1105.58}, {2, 1005.58}}},
    {"mxnet",
     "INFO:root:Epoch[0] Batch [50]\tSpeed: 829.01 samples/sec\taccuracy=0.1\nINFO:root:Epoch[0] Time "
     "cost=14.351\nINFO:root:Epoch[1] Time cost=4.351\n",
     {{1, 14.351}, {2, 4.351}}},
    {"gluon",
     "[Epoch 0] train=0.1 val=0.2 loss=0.3 time cost: 69.03\n[Epoch 1] train=0.1 val=0.2 time cost: 59.03\n",
     {{1, 69.03}, {2, 59.03}}},
    {"mmcv",
     "2021-06-03 10:00:00,000 - mmdet - INFO - Epoch [1][200/600]\tlr: 1.0e-03, eta: 1 day, 1:32:11, time: 1.500, "
     "data_time: 0.449, memory: 3\n"
     "2021-06-03 10:05:00,000 - mmdet - INFO - Epoch [1][400/600]\tlr: 1.0e-03, eta: 1:32:11, time: 1.500, data_time: "
     "0.449, memory: 3\n"
     "2021-06-03 10:10:00,000 - mmdet - INFO - Epoch [1][600/600]\tlr: 1.0e-03, eta: 1:32:11, time: 1.500, data_time: "
     "0.449, memory: 3\n",
     {{1, 900}}},
    {"imagenet",
     "Epoch: [0][   0/2500]\tTime  9.225 ( 9.225)\tData  7.000 ( 7.000)\tLoss 6.9\nEpoch: [0][2490/2500]\tTime  0.225 "
     "(  0.306)\tData  0.000 (  0.109)\tLoss 6.9\n"
     "Epoch: [1][   0/2500]\tTime  9.225 ( 9.225)\tData  7.000 ( 7.000)\tLoss 6.9\nEpoch: [1][2500/2500]\tTime  0.225 "
     "(  0.300)\tData  0.000 (  0.109)\tLoss 6.9\n",
     {{1, 765}, {2, 750}}},
    {"torchvision",
     "Epoch: [0]  [ 0/60]  eta: 0:01:18  lr: 0.000090  loss: 3.9 (3.9)  time: 1.3089  data: 0.6  max mem: 3105\nEpoch: "
     "[0] Total time: 0:01:01 (1.0166 s / it)\nTest: Total time: 0:00:03 (0.1 s / it)\nEpoch: [1] Total time: 0:00:59 "
     "(0.98 s / it)\n",
     {{1, 61.5}, {2, 59.5}}},
    {"timm",
     "Train: 0 [   0/73 (  1%)]  Loss: 6.86 (6.86)  Time: 9.575s,   13.37/s  (9.575s,   13.37/s)  LR: 1.000e-05  Data: "
     "0.844 (0.844)\nTrain: 0 [  72/73 (100%)]  Loss: 6.77 (6.83)  Time: 0.320s,  400.32/s  (0.470s,  272.39/s)  LR: "
     "1.000e-05  Data: 0.217 (0.047)\nTrain: 1 [  73/73 (100%)]  Loss: 6.77 (6.83)  Time: 0.320s,  400.32/s  (0.420s,  "
     "272.39/s)  LR: 1.000e-05  Data: 0.217 (0.047)\n",
     {{1, 34.31}, {2, 30.66}}},
    {"yolox",
     "epoch: 1/3, iter: 40/40, mem: 3Mb, iter_time: 0.500s, data_time: 0.003s, total_loss: 1.0\nepoch: 2/3, iter: "
     "40/40, mem: 3Mb, iter_time: 0.111s, data_time: 0.003s, total_loss: 1.0\n",
     {{1, 20}, {2, 4.44}}},
    {"flair",
     "2020-01-01 10:00:00,100 epoch 1 - iter 10/20 - loss 1.2 - time (sec): 10.01 - samples/sec: 19.11\n2020-01-01 "
     "10:00:10,100 epoch 1 - iter 20/20 - loss 1.2 - time (sec): 20.01 - samples/sec: 19.11\n2020-01-01 10:00:10,110 "
     "EPOCH 1 done: loss 1.2 - lr 0.1\n2020-01-01 10:00:20,100 epoch 2 - iter 20/20 - loss 1.2 - time (sec): 9.99 - "
     "samples/sec: 19.11\n2020-01-01 10:00:20,110 EPOCH 2 done: loss 1.2 - lr 0.1\n",
     {{1, 20.0}, {2, 10.0}}},
    {"nnunet",
     "2020-05-05 10:00:00.1: \nepoch:  0\n2020-05-05 10:01:00.1: train loss : -0.1\n2020-05-05 10:02:03.5: This epoch "
     "took 123.400000 s\n\nepoch:  1\nThis epoch took 103.4 s\n",
     {{1, 123.4}, {2, 103.4}}},
    {"nnunet_v2",
     "2023-01-01 10:00:00.0: Epoch 0\n2023-01-01 10:00:00.1: Current learning rate: 0.01\n2023-01-01 10:03:22.9: Epoch "
     "time: 202.81 s\n2023-01-01 10:03:23.0: Epoch 1\n2023-01-01 10:05:02.9: Epoch time: 100.0 s\n",
     {{1, 202.81}, {2, 100}}},
    {"espnet",
     "[host] 2026-04-23 04:59:09,396 (trainer:318) INFO: 1/2epoch started\n[host] 2026-04-23 04:59:25,764 "
     "(trainer:793) INFO: 1epoch:train:1-90batch: iter_time=0.003, forward_time=0.095, train_time=0.734\n[host] "
     "2026-04-23 05:04:25,764 (trainer:355) INFO: 1epoch results: [train] iter_time=0.003, train_time=0.7, time=5 "
     "minutes and 1.5 seconds, total_count=90, gpu_max=2, [valid] loss=1, time=3.2 seconds, total_count=9,\n",
     {{1, 304.7}}},
    {"took_ms", "Epoch 0 took 10754ms\nEpoch 1 took 754ms\n", {{1, 10.754}, {2, 0.754}}},
    {"time_column", "Epoch  1 | Time 1041.3202 sec\nEpoch  2 | Time 41.3202 sec\n", {{1, 1041.32}, {2, 41.32}}},
    {"parenthesis", "Epoch 1/20 (141.0s)\nEpoch 2/20 (41.0s)\n", {{1, 141}, {2, 41}}},
    {"time_taken_for_1_epoch",
     "Epoch 1 Loss 2.0\nTime taken for 1 epoch 41.0 sec\n\nEpoch 2 Loss 1.0\nTime taken for 1 epoch 31.0 sec\n",
     {{1, 41}, {2, 31}}},
    {"time_before_its_epoch",
     "[100%] in 30.7s (1.30/s)\nEpoch 1: loss 0.1\n[100%] in 20.7s (1.30/s)\nEpoch 2: loss 0.1\n",
     {{1, 30.7}, {2, 20.7}}},
    {"train_and_validation",
     "Epoch 1: train loss 0.5, val loss 0.4, train time 3.2s, val time 0.8s\nEpoch 2: train loss 0.5, val loss 0.4, "
     "train time 2.2s, val time 0.8s\n",
     {{1, 4.0}, {2, 3.0}}},
    {"elapsed_clock",
     "epoch 1 loss 0.1 ( 105.3s elapsed)\nepoch 2 loss 0.1 ( 205.3s elapsed)\nepoch 3 loss 0.1 ( 305.3s elapsed)\n",
     {{1, 105.3}, {2, 100}, {3, 100}}},
    {"clock_never_reset",
     "Epoch 1 completed in 11.31 seconds\nEpoch 2 completed in 22.41 seconds\nEpoch 3 completed in 33.61 "
     "seconds\nEpoch 4 completed in 44.70 seconds\n",
     {{1, 11.31}, {2, 11.1}, {3, 11.2}, {4, 11.09}}},
    {"stamps_only",
     "2021-07-29 15:03:44,746:INFO: Epoch: [248][ 0/44]\n2021-07-29 15:03:54,746:INFO: Epoch: [248][43/44]\n2021-07-29 "
     "15:03:55,746:INFO: Epoch: [249][ 0/44]\n2021-07-29 15:04:04,746:INFO: Epoch: [249][44/44]\n",
     {{248, 11}, {249, 9}}},
    {"stamps_over_midnight", "[23:59:50] start\n[23:59:59] epoch 1 done\n[00:00:09] epoch 2 done\n", {{1, 9}, {2, 10}}},
    {"every_tenth_epoch",
     "2021-07-29 15:00:00 start training\n2021-07-29 15:00:10 epoch 10 loss 0.3\n2021-07-29 15:00:20 epoch 20 loss "
     "0.2\n",
     {{10, 1}, {20, 1}}},
    {"updates_per_second",
     "epoch 1/2: 25 updates, mse 41.7572, 5.0 updates/s\nepoch 2/2: 25 updates, mse 1.7572, 2.5 updates/s\n",
     {{1, 5}, {2, 10}}},
};

INSTANTIATE_TEST_SUITE_P(All, LogFamily, testing::ValuesIn(kExcerpts),
                         [](const auto& excerpt) { return std::string(excerpt.param.name); });

TEST(ConsoleReader, StepLogsGiveWindows) {
  const struct {
    const char* log;
    double seconds;
    double input;
  } cases[] = {
      {"[08/19 07:12:44 d2.utils.events]:  eta: 0:17:09  iter: 19  total_loss: 3.1  time: 3.6000  data_time: 3.2000  "
       "lr: 0.1\n",
       3.6, 3.2},
      {"2021 INFO: [epoch:  0, iter:     100, lr:(1.000e-04,)] [eta: 1 day, 2:03:04, time (data): 1.663 (0.247)] "
       "l_pix: 1\n",
       1.663, 0.247},
      {"INFO:tensorflow:loss = 8.1, step = 100 (1373.1 sec)\n", 13.731, -1},
      {"INFO:tensorflow:global_step/sec: 0.0728\n", 13.736, -1},
      {"iter 100: loss 3.48, time 10538.35ms\n", 10.53835, -1},
      {" 1000: 0.15, 0.18 avg loss, 0.0026 rate, 26.37 seconds, 64000 images\n", 26.37, -1},
      {"I0101 10:00:00.000000 1 solver.cpp:239] Iteration 100 (16.4 iter/s, 6.087s/100 iters), loss = 0.5\n", 0.06087,
       -1},
      {"Epoch [1][200/626]\tlr: 1e-3, eta: 1 day, 1:32:11, time: 1.473, data_time: 0.449\n", 1.473, 0.449},
      {"10/15 22:01:27 - mmengine - INFO - Iter(train) [  50/1600]  lr: 1e-3  eta: 1:00:00  time: 0.4  data_time: "
       "0.1\n",
       0.4, 0.1},
  };
  for (const auto& c : cases) {
    const auto runs = read(c.log);
    ASSERT_EQ(runs.back().steps.size(), 1u) << c.log;
    EXPECT_NEAR(runs.back().steps[0].seconds, c.seconds, 1e-3 * c.seconds) << c.log;
    EXPECT_DOUBLE_EQ(runs.back().steps[0].input_seconds.value_or(-1), c.input) << c.log;
  }
}

TEST(ConsoleReader, SeveralFitsInOneLog) {
  const auto runs = read(
      "Epoch 1/2\n10/10 - 5s - 500ms/step - loss: 1\nEpoch 2/2\n10/10 - 1s - 100ms/step - loss: 1\n"
      "Epoch 1/2\n10/10 - 6s - 600ms/step - loss: 1\nEpoch 2/2\n10/10 - 2s - 200ms/step - loss: 1\n");
  ASSERT_EQ(runs.size(), 2u);
  ASSERT_EQ(runs[0].epochs.size(), 2u);
  ASSERT_EQ(runs[1].epochs.size(), 2u);
  EXPECT_NEAR(runs[1].epochs[0].seconds, 6, 0.1);
}

TEST(ConsoleReader, FirstStepOfKerasComesFromItsEstimate) {
  const auto run =
      read("Epoch 1/2\n\r 1/25 \u2501\u2501 5:29 14s/step - loss: 1\r25/25 \u2501\u2501 17s 119ms/step - loss: 1\n")
          .back();
  ASSERT_EQ(run.epochs.size(), 1u);
  EXPECT_NEAR(run.epochs[0].first_step_seconds.value(), 13.72, 0.05);
  EXPECT_NEAR(run.epochs[0].seconds, 16.58, 0.1);
}

TEST(ConsoleReader, UnfinishedEpochStaysOpen) {
  const auto run =
      read("Epoch 1/8\n100/100 - 2s - 20ms/step - loss: 1\nEpoch 2/8\n\r 98/100 \u2501\u2501 0s 12ms/step - loss: 0.03")
          .back();
  ASSERT_EQ(run.epochs.size(), 1u);
  ASSERT_TRUE(run.open_epoch);
  EXPECT_EQ(run.open_epoch->index, 2);
  EXPECT_EQ(run.open_epoch->step, 98);
  EXPECT_EQ(run.open_epoch->steps, 100);
  EXPECT_EQ(run.planned_epochs, 8);
}

TEST(ConsoleReader, LastLineAboutAStepMayStandBeforeTheLastStep) {
  // Every tenth of 25 steps, counted from 0: nothing comes after step 20, and the epoch is over.
  const auto run = read(
                       "10:00:00 epoch 0 step 0/25\n10:00:10 epoch 0 step 10/25\n10:00:20 epoch 0 step 20/25\n"
                       "10:00:25 epoch 1 step 0/25\n10:00:35 epoch 1 step 10/25\n10:00:45 epoch 1 step 20/25\n")
                       .back();
  EXPECT_FALSE(run.open_epoch);
  ASSERT_EQ(run.epochs.size(), 2u);
  EXPECT_DOUBLE_EQ(run.epochs[0].seconds, 25);
  EXPECT_NEAR(run.epochs[1].seconds, 24, 1.5);
}

TEST(ConsoleReader, LiveTimesGiveEpochsThatTheLogDoesNot) {
  ConsoleReader reader;
  reader.feed("starting\n", 1.0);
  reader.feed("epoch 1 loss 0.5\n", 4.5);
  reader.feed("epoch 2 loss ", 5.9);
  reader.feed("0.4\n", 6.0);
  EXPECT_EQ(reader.snapshot().epochs.size(), 2u);
  reader.feed("epoch 3 loss 0.3\n", 7.5);
  const auto run = reader.finish().back();
  ASSERT_EQ(run.epochs.size(), 3u);
  EXPECT_DOUBLE_EQ(run.epochs[0].seconds, 3.5);
  EXPECT_DOUBLE_EQ(run.epochs[1].seconds, 1.5);
  EXPECT_DOUBLE_EQ(run.epochs[2].seconds, 1.5);
}

// What lies before the first word of a run, imports most of all, is no part of its first epoch.
TEST(ConsoleReader, EpochToldAtItsEndBeganItsTimeBefore) {
  ConsoleReader reader;
  reader.feed("a warning\n", 11.0);
  reader.feed("Epoch 1 took 2.000s\n", 12.0);
  reader.feed("Epoch 2 took 2.000s\n", 14.1);
  const auto run = reader.finish().back();
  ASSERT_EQ(run.epochs.size(), 2u);
  EXPECT_NEAR(run.epochs[0].start, 10.0, 1e-9);
  EXPECT_NEAR(run.epochs[1].start, 12.1, 1e-9);
}

// Hugging Face's Trainer: fractions of epochs beside one bar, and evaluations that belong to the epoch they end.
TEST(ConsoleReader, PositionsOfTheTrainerStandWhereTheyHappened) {
  ConsoleReader reader;
  reader.feed("loading\n\r  0%|          | 0/120 [00:00<?, ?it/s]", 10.0);
  reader.feed("\r{'loss': '1.2', 'grad_norm': '2.9', 'epoch': '0.5'}\n", 11.0);
  reader.feed("\r{'loss': '1.1', 'grad_norm': '2.9', 'epoch': '1'}\n", 12.0);
  reader.feed("\r{'eval_loss': '1.1', 'eval_runtime': '3.0', 'epoch': '1'}\n", 15.0);
  reader.feed("\r{'loss': '1.0', 'grad_norm': '2.9', 'epoch': '2'}\n", 17.0);
  const auto run = reader.finish().back();
  ASSERT_EQ(run.epochs.size(), 2u);
  EXPECT_DOUBLE_EQ(run.epochs[0].start, 10.0);
  EXPECT_DOUBLE_EQ(run.epochs[0].seconds, 5.0);
  EXPECT_DOUBLE_EQ(run.epochs[1].start, 15.0);
  EXPECT_DOUBLE_EQ(run.epochs[1].seconds, 2.0);
}

TEST(ConsoleReader, PartOfAnEpochIsToldByItsSteps) {
  ConsoleReader reader;
  reader.feed("\n  0%|          | 0/40 [00:00<?, ?it/s]", 10.0);
  for (int i = 1; i <= 8; ++i) {
    const int step = i * 5;
    reader.feed("\r " + std::to_string(step * 100 / 40) + "%|##  | " + std::to_string(step) + "/40 [00:0" +
                    std::to_string(i) + "<00:01, 5.00it/s]\n{'loss': '0.7', 'epoch': '" + std::to_string(step / 100.0) +
                    "'}\n",
                10.0 + i);
  }
  reader.feed(
      "{'train_runtime': '8.0', 'train_loss': '0.7', 'epoch': '0.4'}\n100%|####| 40/40 [00:08<00:00, 5.00it/s]\n",
      18.1);
  const auto run = reader.finish().back();
  EXPECT_TRUE(run.epochs.empty());
  EXPECT_FALSE(run.open_epoch);
  ASSERT_EQ(run.steps.size(), 7u);
  EXPECT_EQ(run.steps.front().index, 10);
  for (const Step& step : run.steps) EXPECT_NEAR(step.seconds, 0.2, 1e-6);
}

TEST(ConsoleReader, NotesOfWatchAreNotTheRuns) {
  const auto run = read(
                       "Epoch 1 took 9.0s\n"
                       "isochron: no output for 12 s. slow, not stuck\n"
                       "  epoch 2 has taken 12 s; the last one took 9.0 s\n"
                       "Epoch 2 took 30.0s\n")
                       .back();
  ASSERT_EQ(run.epochs.size(), 2u);
  EXPECT_DOUBLE_EQ(run.epochs[1].seconds, 30);
}

TEST(ConsoleReader, AFirstEpochOfWhichOnlyTheEndIsKnownIsNamed) {
  ConsoleReader reader("output");
  for (int epoch = 1; epoch <= 3; ++epoch)
    reader.feed("epoch " + std::to_string(epoch) + " done, loss 0.5\n", 20.0 + epoch);
  const RunRecord run = reader.finish().front();
  ASSERT_EQ(run.epochs.size(), 2u);
  EXPECT_EQ(run.epochs[0].index, 2);
  const Fact* first = run.find_fact("epoch.unbegun");
  ASSERT_NE(first, nullptr);
  EXPECT_EQ(first->epoch, 1);
  EXPECT_DOUBLE_EQ(first->time.value(), 21);
}

TEST(ConsoleReader, TracebackThatBreaksOffIsAnEnd) {
  ConsoleReader reader("train.log");
  reader.feed("epoch 1 done in 0.17s\nepoch 2 done in 0.08s\nTraceback (most recent call last):\n  File \"a.py\"");
  EXPECT_NE(reader.finish().front().find_fact("exception"), nullptr);
}

TEST(ConsoleReader, AFirstBarBeginsItsEpochWhateverWasPrintedBefore) {
  ConsoleReader reader;
  reader.feed("reading the table\n", 1.0);
  reader.feed("\rTrain Epoch 1:   0%|          | 0/10 [00:00<?, ?it/s]", 8.0);
  reader.feed("\rTrain Epoch 1: 100%|##########| 10/10 [00:04<00:00,  2.50it/s]\n", 12.0);
  reader.feed("\rTrain Epoch 2:   0%|          | 0/10 [00:00<?, ?it/s]", 12.0);
  reader.feed("\rTrain Epoch 2: 100%|##########| 10/10 [00:02<00:00,  5.00it/s]\n", 14.0);
  const auto run = reader.finish().back();
  ASSERT_EQ(run.epochs.size(), 2u);
  EXPECT_NEAR(run.epochs[0].start, 8, 0.1);
  EXPECT_NEAR(run.epochs[1].start, 12, 0.1);
}

TEST(ConsoleReader, AFileThatTookOnlyAPartFoundTheDiskFull) {
  const auto runs = read(
      "epoch 1: loss 0.5\nTraceback (most recent call last):\n  File \"train.py\", line 9, in <module>\n"
      "OSError: 1310720 requested and 1305568 written\n");
  EXPECT_NE(runs.back().find_fact("disk.full"), nullptr);
}

TEST(ConsoleReader, TracebackThatWasSurvivedIsNotTheEnd) {
  const std::string traceback = "Traceback (most recent call last):\n  File \"a.py\", line 1\nValueError: no\n";
  const auto survived = read("epoch 1 took 2s\n" + traceback + "epoch 2 took 2s\n").back();
  EXPECT_EQ(survived.find_fact("exception"), nullptr);
  EXPECT_NE(survived.find_fact("exception.survived"), nullptr);
  const auto died = read("epoch 1 took 2s\n" + traceback).back();
  ASSERT_NE(died.find_fact("exception"), nullptr);
  EXPECT_EQ(died.find_fact("exception")->value, "ValueError: no");
  const auto thread = read("epoch 1 took 2s\nException in thread Thread-1:\n" + traceback).back();
  EXPECT_EQ(thread.find_fact("exception"), nullptr);
  EXPECT_NE(thread.find_fact("thread.exception"), nullptr);
  const auto child = read("epoch 1 took 2s\nProcess SpawnProcess-1:\n" + traceback).back();
  EXPECT_EQ(child.find_fact("exception"), nullptr);
  ASSERT_NE(child.find_fact("process.exception"), nullptr);
  EXPECT_EQ(child.find_fact("process.exception")->value, "ValueError: no");
  const auto both = read("epoch 1 took 2s\nProcess SpawnProcess-1:\n" + traceback + traceback).back();
  EXPECT_NE(both.find_fact("exception"), nullptr);
}

}  // namespace
}  // namespace isochron
