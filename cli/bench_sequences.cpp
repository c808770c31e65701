// Workloads on sequences: transformer, lstm, and the transformer on batches of 32 different lengths.
#include <algorithm>

#include "cli/bench.h"
#include "isochron/base/clock.h"
#include "isochron/base/memory_info.h"
#include "isochron/timeline/timeline.h"

namespace isochron::cli {
namespace {

// Two encoder layers, the mean over the sequence, ten classes.
class EncoderClassifier : public Model {
 public:
  EncoderClassifier() {
    for (int i = 0; i < 2; ++i) add_sublayer(std::make_shared<TransformerEncoderLayer>(4, 512));
    add_sublayer(std::make_shared<Dense>(10));
  }
  Tensor call(const Tensor& x, const CallContext& context) override {
    Tensor y = x;
    for (const auto& layer : sublayers()) y = (*layer)(layer == sublayers().back() ? mean(y, {1}) : y, context);
    return y;
  }
};

BenchResult classify(Model& model, const Shape& rows, int64_t batch, int epochs) {
  model.compile({.optimizer = Adam(1e-3), .loss = SparseCategoricalCrossentropy({.from_logits = true})});
  return bench_train(model, random_rows(rows), random_labels(rows[0], 10), batch, epochs);
}

BenchResult transformer(int epochs) {
  EncoderClassifier model;
  return classify(model, {160, 64, 128}, 16, epochs);
}

BenchResult lstm_layers(int epochs) {
  Sequential model{LSTM(256, {.return_sequences = true}), LSTM(256), Dense(10)};
  return classify(model, {320, 64, 128}, 32, epochs);
}

// Four batches of each length from 33 to 64, in an order that changes from epoch to epoch: a plan for each length.
BenchResult lengths(int epochs) {
  constexpr int64_t kLengths = 32, kBatches = 4, kBatch = 16;
  EncoderClassifier model;
  model.compile({.optimizer = Adam(1e-3), .loss = SparseCategoricalCrossentropy({.from_logits = true})});
  std::vector<Tensor> x;
  for (int64_t i = 0; i < kLengths; ++i) x.push_back(random_rows({kBatch, 33 + i, 128}).eval());
  const Tensor y = random_labels(kBatch, 10).eval();
  BenchResult result;
  Timeline timeline;
  TimelineScope scope(timeline);
  for (int epoch = 0; epoch < epochs; ++epoch) {
    timeline.begin_epoch(epoch + 1);
    const int64_t start = monotonic_ns();
    for (int64_t i = 0; i < kLengths * kBatches; ++i) {
      model.train_on_batch(x[static_cast<size_t>((i * (2 * epoch + 5) + epoch) % kLengths)], y);
      if (!result.first_step_ns) result.first_step_ns = monotonic_ns();
    }
    result.epochs_ms.push_back(seconds_between(start, monotonic_ns()) * 1e3);
    result.rss_by_epoch.push_back(static_cast<double>(resident_bytes()) / (1 << 20));
    timeline.end_epoch(kLengths * kBatches * kBatch);
  }
  const double fastest = *std::min_element(result.epochs_ms.begin(), result.epochs_ms.end());
  result.step_us = fastest * 1e3 / static_cast<double>(kLengths * kBatches);
  const RunRecord record = timeline.to_record();
  for (const Phase phase : {Phase::build, Phase::trace, Phase::compile})
    result.compile_ms += record.epochs[0].phases[static_cast<size_t>(phase)] * 1e3;
  return result;
}

const RegisteredWorkloads registered{
    {"transformer", 5, transformer}, {"lstm", 4, lstm_layers}, {"lengths", 3, lengths, false}};

}  // namespace
}  // namespace isochron::cli
