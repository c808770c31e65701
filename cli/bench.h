// The workloads of `isochron bench`: each trains a model and hands back its times.
//
//   BenchResult tiny(int epochs) { Sequential model{Dense(1)}; model.compile({…}); return bench_train(model, x, y, 32,
//   epochs); } const RegisteredWorkloads registered{{"tiny", 5, tiny}};
//
// bench/peers/workloads.py says what each is; bench/run.py compares it with its peers.
#pragma once

#include <initializer_list>
#include <string>
#include <string_view>
#include <vector>

#include "isochron/isochron.h"

namespace isochron::cli {

struct BenchResult {
  int64_t first_step_ns = 0;
  std::vector<double> epochs_ms, rss_by_epoch;
  double step_us = 0, compile_ms = 0;
  double estimated_step_us = 0;  // where model.estimate() was asked
  int64_t evaluated_ns = 0;      // when the accuracy on test data was known, where there is one
  double accuracy = 0;
};

struct BenchWorkload {
  std::string_view name;
  int usual_epochs;
  BenchResult (*run)(int epochs);
  bool by_fit = true;  // trains by bench_train(), so that it can be recorded, profiled and estimated
};

struct RegisteredWorkloads {
  RegisteredWorkloads(std::initializer_list<BenchWorkload> some);
};

// A study that prints figures of its own (soak, overhead): text, or one line of JSON.
struct BenchStudy {
  std::string_view name;
  int usual_epochs;
  // `folder` is where it may leave files.
  void (*run)(const std::string& folder, int epochs, bool json);
};

struct RegisteredStudies {
  RegisteredStudies(std::initializer_list<BenchStudy> some);
};

// Trains the compiled model by fit() and times it.
BenchResult bench_train(Model& model, const Tensor& x, const Tensor& y, int64_t batch, int epochs);
// The same in every run: numbers in [0, 1), labels in [0, classes).
Tensor random_rows(const Shape& shape);
Tensor random_labels(int64_t rows, int64_t classes);

}  // namespace isochron::cli
