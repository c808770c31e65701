// Recognition by content, tables, events, XPlane, merging, and inputs that mean harm.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>

#include "isochron/base/error.h"
#include "isochron/base/files.h"
#include "isochron/readers/read_run.h"
#include "isochron/readers/table_log.h"
#include "isochron/readers/tfevents.h"
#include "tests/source_dir.h"

namespace isochron {
namespace {

const std::string kRuns = ISOCHRON_SOURCE_DIR "/tests/runs/";

Reading read_text(const std::string& text, const std::string& name = "input") {
  TempFolder folder;
  write_file(folder.file(name), text);
  return read_run({folder.file(name)});
}

std::string kind_of(const std::string& text) {
  const Reading reading = read_text(text);
  return reading.files.empty() ? "" : reading.files[0].kind;
}

TEST(ReadRun, RecognisesByContent) {
  EXPECT_EQ(kind_of("Epoch 1/2\n10/10 - 1s - 100ms/step - loss: 1\n"), "console");
  EXPECT_EQ(kind_of("epoch,loss,time\n0,0.5,3.2\n1,0.4,3.1\n"), "csv");
  EXPECT_EQ(kind_of("epoch 1: loss 0.68, 5098 reads/s, 2.35 s\nepoch 2: loss 0.5, 17378 reads/s, 0.69 s\n"), "console");
  EXPECT_EQ(kind_of("{\"epoch\": 1, \"loss\": 0.5}\n{\"epoch\": 2, \"loss\": 0.4}\n"), "jsonl");
  EXPECT_EQ(kind_of("{'loss': 0.3, 'epoch': 0.5}\n{'loss': 0.2, 'epoch': 1.0}\n"), "console");
  EXPECT_EQ(kind_of("{\"schemaVersion\": 1, \"traceEvents\": [{\"ph\": \"X\", \"name\": \"a\", \"ts\": 1, \"dur\": 2, "
                    "\"pid\": 1, \"tid\": 1}]}"),
            "kineto");
  EXPECT_EQ(kind_of("{\"schema\": 1, \"epochs\": [{\"index\": 1, \"seconds\": 2}]}"), "record");
  EXPECT_EQ(kind_of("[[0.1, 20], [0.2, 30]]"), "");
  EXPECT_EQ(kind_of("{\"framework\": \"keras\", \"symptom\": \"stuck\"}"), "");
  EXPECT_EQ(kind_of(std::string(5000, '\x01')), "");
}

TEST(ReadRun, Tables) {
  const RunRecord csv = read_text("epoch,accuracy,loss,epoch_time\n0,0.1,2.3,9.5\n1,0.5,1.3,2.5\n").runs.front();
  ASSERT_EQ(csv.epochs.size(), 2u);
  EXPECT_EQ(csv.epochs[0].index, 1);
  EXPECT_DOUBLE_EQ(csv.epochs[0].seconds, 9.5);
  const RunRecord lines =
      read_text("{\"epoch\": 1, \"seconds\": 4.5}\n{\"epoch\": 2, \"seconds\": 1.5}\n").runs.front();
  ASSERT_EQ(lines.epochs.size(), 2u);
  EXPECT_DOUBLE_EQ(lines.epochs[1].seconds, 1.5);
  const RunRecord stamped = read_text(
                                "{\"epoch\": 1, \"timestamp\": 1700000010.5}\n{\"epoch\": 2, \"timestamp\": "
                                "1700000013.5}\n{\"epoch\": 3, \"timestamp\": 1700000016.0}\n")
                                .runs.front();
  ASSERT_EQ(stamped.epochs.size(), 2u);  // the first one's beginning is not known
  EXPECT_DOUBLE_EQ(stamped.epochs[0].seconds, 3.0);
}

TEST(ReadRun, TimesOfUltralyticsCountFromTheStart) {
  std::string text = "epoch,time,train/box_loss,metrics/mAP50(B),lr/pg0\n";
  const double ends[] = {10, 20.5, 31, 61, 92};
  for (int i = 0; i < 5; ++i) text += std::to_string(i + 1) + "," + std::to_string(ends[i]) + ",1.2,0.3,0.001\n";
  const RunRecord run = read_text(text).runs.front();
  ASSERT_EQ(run.epochs.size(), 5u);
  for (size_t i = 1; i < 5; ++i) EXPECT_NEAR(run.epochs[i].seconds, ends[i] - ends[i - 1], 1e-6);
}

TEST(ReadRun, NotebooksAndTrainerStates) {
  const RunRecord notebook =
      read_text(
          R"({"cells": [{"cell_type": "code", "outputs": [{"output_type": "stream", "text": ["Epoch 1/2\n", "10/10 - 5s - 500ms/step - loss: 1\n", "Epoch 2/2\n", "10/10 - 1s - 100ms/step - loss: 1\n"]}]}], "nbformat": 4})")
          .runs.front();
  ASSERT_EQ(notebook.epochs.size(), 2u);
  EXPECT_NEAR(notebook.epochs[0].seconds, 5, 0.01);
  EXPECT_EQ(read_text(R"({"epoch": 2.0, "log_history": [{"epoch": 1.0, "loss": 1}, {"epoch": 2.0, "loss": 0.5}]})")
                .files[0]
                .kind,
            "jsonl");
}

TEST(ReadRun, EventFilesAlone) {
  const RunRecord run = read_run({kRuns + "keras-gru-sensor/events"}).runs.front();
  EXPECT_EQ(run.framework, "keras");
  ASSERT_EQ(run.epochs.size(), 6u);
  EXPECT_NEAR(run.epochs[1].seconds, 0.32, 0.03);
  EXPECT_GT(run.epochs[0].seconds, 15);
}

TEST(ReadRun, EventFilesOpenedBeforeTrainingDoNotTellWhenItBegan) {
  const RunRecord run = read_run({kRuns + "torch-ecg-conv/events"}).runs.front();
  ASSERT_EQ(run.epochs.size(), 3u);
  EXPECT_EQ(run.epochs[0].index, 2);
  EXPECT_NEAR(run.epochs[0].seconds, 3.02, 0.02);
}

TEST(ReadRun, EventsPlaceStepsInEpochs) {
  const RunRecord run = read_run({kRuns + "keras-machines-clf"}).runs.front();
  ASSERT_EQ(run.epochs.size(), 7u);
  ASSERT_TRUE(run.epochs[1].tail_seconds && run.epochs[5].tail_seconds);
  EXPECT_LT(*run.epochs[1].tail_seconds, 0.3);
  EXPECT_GT(*run.epochs[5].tail_seconds, 2.0);  // the callback that computes a bootstrap
}

TEST(ReadRun, XPlane) {
  const RunRecord run = read_run({kRuns + "tf-bandit-policy/xplane"}).runs.front();
  ASSERT_EQ(run.profiles.size(), 1u);
  const Profile& profile = run.profiles[0];
  ASSERT_EQ(profile.steps.size(), 5u);
  EXPECT_EQ(profile.steps[0].index, 30);
  EXPECT_NEAR(profile.steps[0].seconds, 0.2134, 0.0005);
  double traced = 0, all = 0;
  for (size_t i = 0; i < profile.steps.size(); ++i) {
    traced += profile.step_phases[i][static_cast<size_t>(Phase::trace)];
    all += profile.steps[i].seconds;
  }
  EXPECT_NEAR(all, 1.3319, 0.0001);   // from the first mark to the end of the last, 0.4 ms between each two included
  EXPECT_NEAR(traced, 1.0125, 0.01);  // tf.function-graph_building, nested calls counted once
}

// Protocol-buffer fields by hand: a number, and bytes with their length.
std::string varint(uint64_t value) {
  std::string out;
  for (; value >= 0x80; value >>= 7) out += static_cast<char>(value | 0x80);
  return out + static_cast<char>(value);
}
std::string field(int number, uint64_t value) { return varint(static_cast<uint64_t>(number) << 3) + varint(value); }
std::string field(int number, const std::string& bytes) {
  return varint(static_cast<uint64_t>(number) << 3 | 2) + varint(bytes.size()) + bytes;
}

TEST(ReadRun, XPlaneWithNamesAnywhereAndIdsOfAnySize) {
  const uint64_t large = uint64_t{1} << 40;
  const auto event = [](uint64_t id, uint64_t start, uint64_t duration) {
    return field(4, field(1, id) + field(2, start) + field(3, duration));
  };
  const auto name = [](uint64_t id, const std::string& text) {
    return field(4, field(1, id) + field(2, field(1, id) + field(2, text)));
  };
  const std::string line =
      field(2, std::string("python")) + event(large, 0, 1000000000000) + event(7, 0, 600000000000) + event(9, 5, 5);
  const std::string plane = field(2, std::string("/host:CPU")) + name(large, "train_loop") + field(3, line) +
                            name(7, "tf.function-graph_building") + name(8, "never called");
  const RunRecord run = read_text(field(1, plane), "vm.xplane.pb").runs.front();
  ASSERT_EQ(run.profiles.size(), 1u);
  ASSERT_EQ(run.profiles[0].ops.size(), 2u);  // the event whose name is not told is left out
  EXPECT_NEAR(run.profiles[0].step_phases[0][static_cast<size_t>(Phase::trace)], 0.6, 1e-6);
}

TEST(ReadRun, TraceWithoutEventsIsNamed) {
  // What a schedule leaves behind that waits for more steps than there are.
  const Reading reading = read_text(
      R"({"schemaVersion": 1, "deviceProperties": [], "traceEvents": [{"ph": "M", "name": "process_name", "pid": 1, "tid": 0, "args": {"name": "python"}}]})",
      "trace.json");
  EXPECT_TRUE(reading.files.empty());
  ASSERT_EQ(reading.skipped.size(), 1u);
  EXPECT_THAT(reading.skipped[0], testing::HasSubstr("trace without events"));
}

// Lightning's logger: every fifth of 20 steps of 0.1 s, and from the third epoch on 3 s of a callback behind the last.
TEST(Events, EpochsAreToldByTheScalarThatNumbersThem) {
  EventSeries series;
  series.plain = true;
  double now = series.first_wall = 1e9;
  for (int epoch = 0; epoch < 4; ++epoch) {
    for (int step = 4; step < 20; step += 5) {
      now += 0.5;
      for (const char* tag : {"version_0/epoch", "version_0/train_loss"})
        series.tags[tag].push_back({20 * epoch + step, now, double(epoch)});
    }
    if (epoch >= 2) now += 3;
  }
  const RunRecord run = record_of(series);
  EXPECT_EQ(run.framework, "torch");
  ASSERT_EQ(run.epochs.size(), 4u);
  const double seconds[] = {2, 2, 5, 5};
  for (size_t i = 0; i < 4; ++i) {
    EXPECT_EQ(run.epochs[i].index, static_cast<int>(i) + 1);
    EXPECT_NEAR(run.epochs[i].seconds, seconds[i], 1e-6) << i;
  }
}

TEST(Events, FractionsOfEpochsAreReadBetweenThePoints) {
  EventSeries series;
  series.first_wall = 1e9;
  for (int i = 0; i <= 12; ++i) series.tags["runs/train/epoch"].push_back({10 * i, 1e9 + 4.0 * i, 0.4 * i});
  series.tags["runs/train/loss"] = series.tags["runs/train/epoch"];
  const RunRecord run = record_of(series);
  ASSERT_EQ(run.epochs.size(), 4u);
  for (const Epoch& epoch : run.epochs) EXPECT_NEAR(epoch.seconds, 10, 1e-3);
}

TEST(Events, SomeEpochsOnlyWereValidated) {
  EventSeries series;
  series.keras = true;
  series.first_wall = 1e9;
  for (int i = 0; i < 6; ++i) series.tags["train/epoch_loss"].push_back({i, 1e9 + 0.3 * (i + 1)});
  for (const int i : {2, 5}) series.tags["validation/epoch_loss"].push_back({i, 1e9 + 0.3 * (i + 1)});
  const RunRecord run = record_of(series);
  ASSERT_EQ(run.epochs.size(), 6u);
  for (size_t i = 0; i < 6; ++i) EXPECT_EQ(run.epochs[i].metrics.contains("validation/epoch_loss"), i == 2 || i == 5);
}

// TensorBoard imports TensorFlow, which says its name in logs of PyTorch.
TEST(ReadRun, TensorFlowsNameInALogIsNotTheFramework) {
  TempFolder folder;
  write_file(
      folder.file("train.log"),
      "This TensorFlow binary is optimized to use available CPU instructions\nEpoch 1 took 2 s\nEpoch 2 took 2 s\n");
  std::filesystem::copy(kRuns + "torch-leaf-resnet/trace.json.gz", folder.path());
  EXPECT_EQ(read_run({folder.file("train.log")}).runs.front().framework, "tensorflow");
  EXPECT_EQ(read_run({folder.path()}).runs.front().framework, "torch");
}

TEST(ReadRun, ATableHasTheFirstEpochOfWhichTheLogTellsOnlyTheEnd) {
  TempFolder folder;
  write_file(folder.file("a.log"),
             "[11:50:10] Epoch 1 of 3 - loss 0.4\n[11:50:15] Epoch 2 of 3 - loss 0.3\n"
             "[11:50:20] Epoch 3 of 3 - loss 0.2\n");
  write_file(folder.file("b.jsonl"),
             "{\"epoch\": 1, \"time\": 9.0}\n{\"epoch\": 2, \"time\": 5.0}\n"
             "{\"epoch\": 3, \"time\": 5.0}\n");
  const RunRecord run = read_run({folder.path()}).runs.front();
  ASSERT_EQ(run.epochs.size(), 3u);
  EXPECT_EQ(run.epochs[0].index, 1);
  EXPECT_DOUBLE_EQ(run.epochs[0].seconds, 9);
}

TEST(ReadRun, EarlyAndLateTracesStandInOrder) {
  const RunRecord run = read_run({kRuns + "torch-sine-regressor"}).runs.front();
  ASSERT_EQ(run.profiles.size(), 2u);
  EXPECT_EQ(run.profiles[0].source, "trace_early.json.gz");
  EXPECT_LT(run.profiles[0].start, run.profiles[1].start);
  EXPECT_EQ(run.epochs.size(), 9u);
}

TEST(ReadRun, FoldersLeaveSourcesAndLabelsAlone) {
  const Reading reading = read_run({kRuns + "torch-scans-unet"});
  ASSERT_EQ(reading.files.size(), 2u);
  EXPECT_THAT(reading.files[0].path, testing::HasSubstr("console.log"));
  EXPECT_EQ(reading.files[1].kind, "tfevents");
}

// A saved model begins with its description, in which dates and layers may look like epochs with times.
TEST(ReadRun, SavedModelsAreNoLogs) {
  std::string model =
      "PK\x03\x04{\"epoch 3\": \"6 days\"}\nepoch 8 took 6 h\nepoch 9 took 6 h\n" + std::string(64, '\0');
  for (int i = 0; i < 3000; ++i) model += static_cast<char>(i * 37 % 251);
  EXPECT_EQ(read_text(model, "final.keras").skipped.size(), 1u);
}

TEST(ReadRun, AHoleThatACrashLeftIsNoEnd) {
  const std::string zeros(4096, '\0');
  const Reading reading =
      read_text("epoch 1 took 4 s\nepoch 2 took 4 s\n" + zeros + "\nepoch 3 took 9 s\n" + zeros, "a.log");
  ASSERT_EQ(reading.runs.size(), 1u);
  EXPECT_EQ(reading.runs.front().epochs.size(), 3u);
}

TEST(ReadRun, ColumnsBetweenSemicolonsHaveDecimalCommas) {
  const Reading reading = read_text("epoch;loss;time\n1;0,52;80,5\n2;0,41;20,25\n", "a.csv");
  ASSERT_EQ(reading.runs.front().epochs.size(), 2u);
  EXPECT_DOUBLE_EQ(reading.runs.front().epochs[0].seconds, 80.5);
  EXPECT_DOUBLE_EQ(reading.runs.front().epochs[1].seconds, 20.25);
}

TEST(ReadRun, MissingPathIsAnError) { EXPECT_THROW(read_run({"/no/such/place"}), FileError); }

TEST(ReadRun, LinksThatGoInCircles) {
  TempFolder folder;
  std::filesystem::create_directory_symlink(folder.path(), folder.path() + "/again");
  write_file(folder.file("train.log"), "Epoch 1 took 2 s\nEpoch 2 took 2 s\n");
  EXPECT_EQ(read_run({folder.path()}).runs.front().epochs.size(), 2u);
}

TEST(ReadRun, CutGzipGivesWhatStandsBeforeTheCut) {
  std::string whole = read_file(kRuns + "torch-leaf-resnet/trace.json.gz");
  const Reading reading = read_text(whole.substr(0, whole.size() / 2), "trace.json.gz");
  ASSERT_EQ(reading.files.size(), 1u);
  EXPECT_FALSE(reading.files[0].problem.empty());
  EXPECT_FALSE(reading.runs.front().profiles.empty());
}

TEST(ReadRun, AbsurdNumbersStayHarmless) {
  for (const char* log :
       {"Epoch 99999999999999999999/10\n10/10 - 1s - 1ms/step - loss: 1\n",
        "Epoch 1 took 1e308 s\nEpoch 2 took 1e-320 s\n",
        "9999-12-31 23:59:59 epoch 1 done\n0001-01-01 00:00:00 epoch 2 done\n",
        "Epoch 1: 100%|#| 999999999999999999/1 [9999999:59:59<00:00, 1e-300it/s]\n",
        "{\"epoch\": 1e400, \"time\": -5}\n{\"epoch\": -3}\n", "epoch,time\n-1,nan\n2147483648,inf\n"}) {
    const Reading reading = read_text(log);
    for (const RunRecord& run : reading.runs)
      for (const Epoch& epoch : run.epochs) EXPECT_TRUE(epoch.seconds >= 0 && epoch.seconds <= 1e9) << log;
  }
}

// Bytes of real inputs, cut, doubled and flipped: any result will do, but there must be one.
TEST(ReadRun, MutatedInputsNeverCrash) {
  const std::vector<std::string> seeds = {
      kRuns + "keras-gru-sensor/console.log",
      kRuns + "torch-tides-gru/console.log",
      kRuns + "lightning-flights/console.log",
      kRuns + "torch-slots-clf/trace.json.gz",
      kRuns + "tf-bandit-policy/xplane/plugins/profile/2026_11_15_22_11_04/vm.xplane.pb",
      kRuns + "torch-genome-linear/events/events.out.tfevents.1794787908.vm.32348.0"};
  uint64_t state = 12345;
  const auto random = [&](size_t below) {
    state = state * 6364136223846793005ull + 1442695040888963407ull;
    return static_cast<size_t>(state >> 33) % std::max<size_t>(below, 1);
  };
  for (const std::string& seed : seeds) {
    const std::string original = read_gzip_file(seed).substr(0, 60000);
    for (int round = 0; round < 25; ++round) {
      std::string bytes = original;
      for (size_t i = 0; i < 1 + random(20); ++i) {
        const size_t at = random(bytes.size());
        switch (random(4)) {
          case 0:
            bytes[at] = static_cast<char>(random(256));
            break;
          case 1:
            bytes.erase(at, random(500));
            break;
          case 2:
            bytes.insert(at, bytes.substr(random(bytes.size()), random(500)));
            break;
          default:
            bytes.resize(std::max<size_t>(at, 1));
        }
        if (bytes.empty()) bytes = "x";
      }
      EXPECT_FALSE(read_text(bytes).runs.empty());
    }
  }
}

}  // namespace
}  // namespace isochron
