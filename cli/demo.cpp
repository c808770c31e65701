// isochron demo: trains the bundled data, and shows where the time went.
#include <cstdio>
#include <string>

#include "cli/command.h"
#include "cli/data_folder.h"
#include "isochron/data/idx.h"
#include "isochron/isochron.h"

namespace isochron::cli {
namespace {

struct {
  std::string data = "mnist";
  std::string folder;
  int epochs = 5;
  int threads = 0;
  bool json = false;
} options;

struct Task {
  Tensor x, y, x_test, y_test;
};

Task load() {
  if (options.data == "mnist") {
    const data::Mnist mnist = data::read_mnist(data_folder(options.folder) + "/mnist");
    const auto flat = [](const Tensor& images) {
      return (cast(reshape(images, {images.shape()[0], -1}), DType::float32) / 255).eval();
    };
    return {flat(mnist.train_images), mnist.train_labels, flat(mnist.test_images), mnist.test_labels};
  }
  if (options.data == "digits") {
    const data::Digits digits = data::read_digits(data_folder(options.folder) + "/digits.csv.gz");
    const Tensor x = (digits.pixels / 16).eval();
    const int64_t train = 1437;
    return {slice(x, {0}, {train}).eval(), slice(digits.labels, {0}, {train}).eval(), slice(x, {train}, {kEnd}).eval(),
            slice(digits.labels, {train}, {kEnd}).eval()};
  }
  fail<ValueError>("demo", "unknown data \"{}\"; there are mnist and digits", options.data);
}

void add_options(Arguments& arguments) {
  arguments.value("--data", options.data, "mnist or digits")
      .value("--folder", options.folder, "where the data lie")
      .value("--epochs", options.epochs, "passes over the data")
      .value("--threads", options.threads, "threads (0: all CPUs)")
      .flag("--json", options.json, "print the run record as JSON, and nothing else");
}

int run() {
  if (options.threads > 0) set_num_threads(options.threads);
  const Task task = load();
  Sequential model{Dense(128, {.activation = "relu"}), Dense(10)};
  model.compile(
      {.optimizer = Adam(1e-3), .loss = SparseCategoricalCrossentropy({.from_logits = true}), .metrics = {"accuracy"}});
  if (!options.json)
    fmt::print("Training {}-128-10 on {} ({} examples), {} threads\n", task.x.shape()[1], options.data,
               task.x.shape()[0], get_num_threads());
  std::fflush(stdout);
  const History history = model.fit(task.x, task.y, {.epochs = options.epochs, .verbose = options.json ? 0 : 1});
  const Logs test = model.evaluate(task.x_test, task.y_test, {.batch_size = 256, .verbose = 0});
  if (options.json) {
    RunRecord record = history.record();
    record.facts.push_back({"test_accuracy", fmt::format("{:.4f}", logs_value(test, "accuracy")), "evaluate"});
    fmt::print("{}\n", record.to_json());
    return exit_code::success;
  }
  fmt::print("\nTest accuracy {:.2f} %\n\n", 100 * logs_value(test, "accuracy"));
  history.epoch_report().print();
  return exit_code::success;
}

const Registered registered{{"demo", "train the bundled data and show where the time went", add_options, run}};

}  // namespace
}  // namespace isochron::cli
