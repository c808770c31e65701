// Workloads on images: cnn.
#include "cli/bench.h"

namespace isochron::cli {
namespace {

BenchResult classify(Model& model, const Shape& rows, int64_t batch, int epochs) {
  model.compile({.optimizer = Adam(1e-3), .loss = SparseCategoricalCrossentropy({.from_logits = true})});
  return bench_train(model, random_rows(rows), random_labels(rows[0], 10), batch, epochs);
}

BenchResult cnn(int epochs) {
  Sequential model{Conv2D(32, 3, {.activation = "relu"}),
                   Conv2D(64, 3, {.activation = "relu"}),
                   MaxPooling2D(2),
                   Flatten(),
                   Dense(128, {.activation = "relu"}),
                   Dense(10)};
  return classify(model, {640, 28, 28, 1}, 64, epochs);
}

const RegisteredWorkloads registered{{"cnn", 4, cnn}};

}  // namespace
}  // namespace isochron::cli
