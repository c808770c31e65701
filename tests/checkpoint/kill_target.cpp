// A training to be killed: saves often and in every way, says so when a save is on the disk, and says every loss.
//
//   kill_target FOLDER [EPOCHS]      trains, or goes on; endless without a number
//   kill_target --check FOLDER       the newest valid state of each kind: "newest KIND STEPS"
//
// Lines of the first: "saved KIND STEPS", "step N BITS" with the bits of the loss so far, "ended". tests/checkpoint/
// faults.py reads them.
#include <unistd.h>

#include <bit>
#include <cstdlib>

#include "isochron/isochron.h"

namespace iso = isochron;

namespace {

// One write a line: what the reader has seen was said before the kill.
void say(const std::string& line) {
  const std::string text = line + "\n";
  if (write(STDOUT_FILENO, text.data(), text.size()) < 0) std::exit(1);
}

constexpr const char* kKinds[] = {"backup", "generations", "last"};

int check(const std::string& folder) {
  for (const char* kind : kKinds) {
    const auto newest = iso::read_newest_checkpoint(folder + "/" + kind, nullptr);
    say(fmt::format("newest {} {}", kind, newest ? newest->info.total_steps : -1));
  }
  return 0;
}

class SayLosses : public iso::Callback {
 public:
  void between_steps(iso::TrainRun& run) override {
    if (run.epoch_ended()) return;
    const double loss = iso::logs_value(run.logs(), "loss");
    say(fmt::format("step {} {:016x}", run.total_steps(), std::bit_cast<uint64_t>(loss)));
  }
};

}  // namespace

int main(int argc, char** argv) {
  if (argc == 3 && std::string(argv[1]) == "--check") return check(argv[2]);
  if (argc < 2) return 2;
  const std::string folder = argv[1];
  const int epochs = argc > 2 ? std::atoi(argv[2]) : 1'000'000;
  const auto saved = [](const char* kind) {
    return [kind](const iso::CheckpointInfo& info) { say(fmt::format("saved {} {}", kind, info.total_steps)); };
  };
  iso::set_seed(7);
  const iso::Tensor x = iso::random_normal({256, 64}, 0, 1, {.seed = 1}), y = iso::random_integers({256}, 0, 10, 2);
  iso::Sequential model{iso::Dense(256, {.activation = "relu"}), iso::Dropout(0.2), iso::Dense(128), iso::Dense(10)};
  model.compile({.optimizer = iso::Adam(1e-4), .loss = iso::SparseCategoricalCrossentropy({.from_logits = true})});
  const auto train = iso::data::from_tensor_slices(x, y).shuffle(256, {.seed = 3}).batch(16);
  const iso::History history = model.fit(
      train,
      {.epochs = epochs,
       .verbose = 0,
       .callbacks = {
           std::make_shared<SayLosses>(),
           std::make_shared<iso::BackupAndRestore>(
               folder + "/backup",
               iso::BackupAndRestore::Options{.save_freq = 3, .delete_checkpoint = false, .on_saved = saved("backup")}),
           std::make_shared<iso::ModelCheckpoint>(
               folder + "/generations/c-{epoch:06d}-{batch:03d}",
               iso::ModelCheckpoint::Options{.save_freq = 7, .keep_last = 2, .on_saved = saved("generations")}),
           std::make_shared<iso::ModelCheckpoint>(
               folder + "/last", iso::ModelCheckpoint::Options{.save_freq = 5, .on_saved = saved("last")})}});
  say(history.checkpoints().last_on_disk ? "ended saved" : "ended unsaved");
  return 0;
}
