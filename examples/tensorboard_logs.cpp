// Everything TensorBoard shows of a training: metrics, histograms and images of weights, the layers, settings, texts,
// and the seconds of each epoch by phase.
#include "examples/epochs.h"

namespace iso = isochron;

int main(int argc, char** argv) {
  const std::string folder = argc > 1 ? argv[1] : "logs";
  const iso::Tensor x = iso::random_normal({256, 8}, 0, 1, {.seed = 3}).eval();
  const iso::Tensor y = iso::sum(x, {1}, true).eval();
  iso::Sequential model{iso::Input({8}), iso::Dense(16, {.activation = "relu"}), iso::Dense(1)};
  model.compile({.optimizer = iso::Adam(1e-2), .loss = "mse", .metrics = {"mae"}});

  const auto board = std::make_shared<iso::TensorBoard>(
      iso::TensorBoard::Options{.log_dir = folder,
                                .histogram_freq = 1,
                                .write_images = true,
                                .hparams = {{"units", 16.0}, {"optimizer", "adam"}, {"shuffle", true}}});
  const auto notes = std::make_shared<iso::LambdaCallback>(
      iso::LambdaCallback::Hooks{.on_epoch_end = [&](int epoch, const iso::Logs& logs) {
        board->train_events().text("notes", fmt::format("**epoch {}**: loss {:.4f}", epoch + 1, logs.front().second),
                                   epoch);
      }});
  const iso::History history =
      model.fit(x, y, {.epochs = 10, .validation_split = 0.25, .verbose = 0, .callbacks = {board, notes}});
  fmt::print("tensorboard --logdir {}\n", folder);
  return verdict(history["loss"].front(), history["loss"].back(), 0.5);
}
