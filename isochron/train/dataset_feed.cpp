#include "isochron/train/dataset_feed.h"

#include <list>

#include "isochron/train/data_checks.h"

namespace isochron {
namespace {

// A verdict repeated a thousand times tells nothing more.
constexpr int kMostVerdicts = 4;

}  // namespace

Columns columns_of(const char* what, const data::Element& batch, size_t inputs, size_t targets) {
  const size_t rest = batch.size() - std::min(batch.size(), inputs + targets);  // sample weights
  const bool fits = targets ? rest == 0 || rest == 1 || rest == targets : batch.size() <= inputs + 2 * inputs;
  if (batch.size() < inputs + targets || !fits) {
    if (inputs == 1 && targets <= 1)
      fail<ValueError>(what, "elements must be (x, y) or (x, y, sample_weight), got {}", data::describe(batch));
    fail<ValueError>(what, "elements must hold {} inputs, {} targets and perhaps sample weights, got {}", inputs,
                     targets, data::describe(batch));
  }
  Columns columns;
  for (size_t i = 0; i < inputs; ++i) columns.x.push_back(batch[i]);
  for (size_t i = 0; i < targets; ++i) columns.y.push_back(batch[inputs + i]);
  for (size_t i = 0; targets && i < rest; ++i) columns.weight.push_back(batch[inputs + targets + i]);
  for (const data::Component& component : batch)
    if (component.shape().rank() < 1 || component.shape()[0] != batch[0].shape()[0])
      fail<ShapeError>(what, "elements must be batches of one size, got {}; did you forget .batch(32)?",
                       data::describe(batch));
  return columns;
}

void check_ends(const char* what, const data::Dataset& dataset, bool steps_given, const char* option) {
  if (dataset.size() == data::kInfinite && !steps_given)
    fail<ValueError>(what, "the data set repeats for ever; say {}, or leave repeat() out", option);
}

DatasetFeed::DatasetFeed(const char* what, const data::Dataset& dataset, size_t inputs, size_t targets)
    : what_(what), inputs_(inputs), targets_(targets), dataset_(dataset) {
  if (dataset.size() >= 0) batches_ = dataset.size();
  if (batches_ == 0) fail<ValueError>(what, "the data set is empty");
}

bool DatasetFeed::next(Columns& batch) {
  ScopedSpan span(Phase::input, "next batch");
  const int64_t begin = monotonic_ns();
  if (!pass_) {
    pass_ = dataset_.begin_ahead();
    begun_ = true;
    seen_ = std::exchange(resumed_at_, 0);
  } else {
    ++*pass_;
  }
  waited_ns_ += monotonic_ns() - begin;
  if (*pass_ == std::default_sentinel) {
    pass_.reset();
    batches_ = seen_;
    return false;
  }
  ++seen_;
  batch = columns_of(what_, **pass_, inputs_, targets_);
  return true;
}

std::string DatasetFeed::state() const {
  if (!begun_) return {};
  data::StateWriter writer;
  writer.put(pass_.has_value());
  writer.put(seen_);
  writer.put(batches_.value_or(-1));
  writer.put(dataset_.state());
  return writer.take();
}

void DatasetFeed::restore(std::string_view state) {
  if (state.empty()) return;
  begun_ = true;
  data::StateReader reader(state);
  const bool in_pass = reader.get<bool>();
  resumed_at_ = reader.get_count();
  if (const auto batches = reader.get<int64_t>(); batches >= 0) batches_ = batches;
  pass_.reset();
  dataset_.restore(reader.get_string());
  if (in_pass) return;
  // Between two passes: the one that is over, or was left, ends here.
  resumed_at_ = 0;
  pass_ = dataset_.begin_ahead();
  pass_.reset();
}

void DatasetFeed::abandon() {
  struct Left {
    data::Dataset dataset;
    std::optional<data::DatasetIterator> pass;
  };
  static std::list<Left>& left = *new std::list<Left>;
  left.push_back({dataset_, std::move(pass_)});
  pass_.reset();
}

void DatasetFeed::begin_epoch() {
  waited_ns_ = 0;
  epoch_begin_ns_ = monotonic_ns();
  before_ = dataset_.report();
}

void DatasetFeed::end_epoch(int epoch, Timeline& timeline) {
  if (told_ >= kMostVerdicts) return;
  const data::PipelineReport after = dataset_.report();
  const double seconds = seconds_between(epoch_begin_ns_, monotonic_ns());
  std::string verdict = data::input_verdict(before_, after, epoch, seconds, static_cast<double>(waited_ns_) * 1e-9);
  if (!verdict.empty()) {
    before_waited_ = before_;
    verdict_ = verdict;
  } else if (!verdict_.empty()) {
    verdict = std::exchange(verdict_, {}) + "; " + data::why_not_waited(before_waited_, before_, after, epoch);
  } else {
    return;
  }
  ++told_;
  timeline.fact("input.verdict", std::move(verdict), "pipeline");
}

std::vector<InputStage> DatasetFeed::stages() const {
  std::vector<InputStage> stages;
  const data::PipelineReport report = dataset_.report();
  for (const data::StageReport& stage : report.stages)
    stages.push_back({.name = stage.name, .elements = stage.elements, .busy_seconds = stage.busy_seconds});
  for (const data::ThreadsReport& threads : report.threads) {
    auto stage = std::find_if(stages.begin(), stages.end(), [&](const auto& s) { return s.name == threads.name; });
    if (stage == stages.end()) stage = stages.insert(stage, {.name = threads.name, .elements = threads.delivered});
    stage->threads = threads.threads;
    stage->wait_seconds = threads.wait_seconds;
  }
  return stages;
}

}  // namespace isochron
