// Workloads on images: cnn, mnist.
#include "cli/bench.h"
#include "cli/data_folder.h"
#include "isochron/base/clock.h"
#include "isochron/data/idx.h"

namespace isochron::cli {
namespace {

void compile(Model& model, std::vector<AnyMetric> metrics = {}) {
  model.compile({.optimizer = Adam(1e-3),
                 .loss = SparseCategoricalCrossentropy({.from_logits = true}),
                 .metrics = std::move(metrics)});
}

std::vector<AnyLayer> cnn_layers() {
  return {Conv2D(32, 3, {.activation = "relu"}),
          Conv2D(64, 3, {.activation = "relu"}),
          MaxPooling2D(2),
          Flatten(),
          Dense(128, {.activation = "relu"}),
          Dense(10)};
}

BenchResult cnn(int epochs) {
  Sequential model(cnn_layers());
  compile(model);
  return bench_train(model, random_rows({640, 28, 28, 1}), random_labels(640, 10), 64, epochs);
}

// From the gzipped files to the accuracy on the test images. Pixels stay bytes until their batch is computed.
BenchResult mnist(int epochs) {
  const data::Mnist mnist = data::read_mnist(data_folder() + "/mnist");
  const auto images = [](const Tensor& x) { return reshape(x, {-1, 28, 28, 1}).eval(); };
  Sequential model{Rescaling(1.0 / 255)};
  for (const AnyLayer& layer : cnn_layers()) model.add(layer);
  compile(model, {"accuracy"});
  BenchResult result = bench_train(model, images(mnist.train_images), mnist.train_labels, 64, epochs);
  const Logs logs = model.evaluate(images(mnist.test_images), mnist.test_labels, {.batch_size = 200, .verbose = 0});
  result.accuracy = logs.back().second;
  result.evaluated_ns = monotonic_ns();
  return result;
}

const RegisteredWorkloads registered{{"cnn", 4, cnn}, {"mnist", 1, mnist}};

}  // namespace
}  // namespace isochron::cli
