// ModelCheckpoint every five epochs, weights only; and a run that goes on from its backup after a crash.
#include <filesystem>

#include "examples/epochs.h"
#include "isochron/base/files.h"

namespace iso = isochron;

int main() {
  const iso::TempFolder folder;
  const iso::Tensor x = iso::random_normal({512, 20}, 0, 1, {.seed = 1}).eval();
  const iso::Tensor y = iso::sum(iso::square(x), {1}, true).eval();
  const auto make_model = [] {
    iso::Sequential model{iso::Input({20}), iso::Dense(64, {.activation = "relu"}), iso::Dense(1)};
    model.compile({.optimizer = iso::Adam(1e-2), .loss = "mse"});
    return model;
  };

  iso::Sequential model = make_model();
  const auto every_five =
      std::make_shared<iso::ModelCheckpoint>(folder.file("weights-{epoch:04d}.safetensors"),
                                             iso::ModelCheckpoint::Options{.save_weights_only = true, .period = 5});
  const iso::History history = model.fit(x, y, {.epochs = 20, .verbose = 0, .callbacks = {every_five}});
  for (int epoch = 5; epoch <= 20; epoch += 5) {
    iso::Sequential then = make_model();
    then.load_weights(folder.file(fmt::format("weights-{:04d}.safetensors", epoch)));
    fmt::print("weights of epoch {:2}: loss {:.3f}\n", epoch, then.evaluate(x, y, {.verbose = 0})[0].second);
  }

  // The power goes in epoch 8 of 20 …
  const auto backup = std::make_shared<iso::BackupAndRestore>(folder.file("backup"));
  const auto power_cut = std::make_shared<iso::LambdaCallback>(
      iso::LambdaCallback::Hooks{.on_epoch_begin = [](int epoch, const iso::Logs&) {
        if (epoch == 7) throw std::runtime_error("power cut");
      }});
  iso::Sequential first = make_model(), second = make_model();
  try {
    first.fit(x, y, {.epochs = 20, .verbose = 0, .callbacks = {backup, power_cut}});
  } catch (const std::runtime_error& cut) {
    fmt::print("{}\n", cut.what());
  }
  // … and the same program, started again, goes on.
  const iso::History rest = second.fit(x, y, {.epochs = 20, .verbose = 0, .callbacks = {backup}});
  fmt::print("the second run trained {} of {} epochs\n", rest.record().epochs.size(), rest.epochs().size());

  print_epochs(history);
  return verdict(history["loss"].front(), history["loss"].back(), 0.5);
}
