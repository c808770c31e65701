#include "isochron/train/saver.h"

#include <filesystem>

#include "isochron/base/clock.h"
#include "isochron/base/log.h"
#include "isochron/base/seconds_text.h"
#include "isochron/checkpoint/weight_names.h"
#include "isochron/checkpoint/weights_file.h"
#include "isochron/timeline/timeline.h"
#include "isochron/train/model_file.h"

namespace isochron {
namespace {

// Room for what grows: history, the place in the data.
constexpr int64_t kSlack = 1 << 20;

// Names in the state and names in a file of this format, for all weights.
std::vector<std::pair<std::string, std::string>> weights_in_file(const Model& model, const std::string& path) {
  const std::vector<NamedWeight> own = weights_by_structure(model);
  const bool keras = weights_format("ModelCheckpoint", path) == WeightsFormat::hdf5;
  const std::vector<NamedWeight> in_file = keras ? weights_by_keras_path(model) : own;
  std::vector<std::pair<std::string, std::string>> out;
  for (const NamedWeight& weight : in_file) {
    const auto same = std::find_if(own.begin(), own.end(), [&](const NamedWeight& other) {
      return other.variable.state() == weight.variable.state();
    });
    ISO_CHECK(same != own.end());
    out.emplace_back("weights/" + same->name, weight.name);
  }
  return out;
}

}  // namespace

NamedTensors Saver::tensors(bool weights_only, const StateDict& rest) {
  if (variables_.empty()) variables_ = state_variables(model_, state_);
  NamedTensors out;
  for (const auto& [name, variable] : variables_)
    if (!weights_only || name.starts_with("weights/")) out.emplace_back(name, variable.eval());
  if (!weights_only)
    for (const auto& [name, tensor] : rest.tensors()) out.emplace_back(name, tensor);
  return out;
}

void Saver::expect(bool weights_only) {
  writer_.reserve(Snapshot::bytes_of(tensors(weights_only, {})) + (weights_only ? 0 : kSlack));
}

void Saver::take_copy(CheckpointInfo info, const StateDict& rest) {
  ScopedSpan span(Phase::checkpoint, "snapshot");
  const int64_t begin = monotonic_ns();
  bool weights_only = true, models_only = true;
  NamedTensors of_files;  // of models: what they hold, beside the state
  std::vector<SaveTarget> targets;
  const int64_t earlier = last_id_;
  for (SaveRequest& request : requests_) {
    SaveTarget target{.path = request.path, .info = info, .id = ++last_id_};
    if (!request.weights_only && names_model_file(request.path)) {
      ModelFile file = model_file(model_);
      target.metadata = std::move(file.metadata);
      for (const auto& [name, tensor] : file.tensors) target.weights.emplace_back("file/" + name, name);
      if (of_files.empty())
        for (auto& [name, tensor] : file.tensors) of_files.emplace_back("file/" + name, tensor.eval());
    } else {
      models_only = false;
      weights_only = weights_only && request.weights_only;
      if (request.weights_only) target.weights = weights_in_file(model_, request.path);
    }
    targets.push_back(std::move(target));
    open_.emplace(last_id_, Open{std::move(request)});
  }
  requests_.clear();
  NamedTensors all = models_only ? NamedTensors() : tensors(weights_only, rest);
  all.insert(all.end(), of_files.begin(), of_files.end());
  const bool copied = writer_.submit(all, std::move(targets));
  summary_.stall_seconds += seconds_between(begin, monotonic_ns());
  deliver();
  // Saves that failed have made room for this one.
  std::erase_if(open_, [&](const auto& entry) { return entry.first <= earlier && entry.second.failed; });
  if (copied || std::exchange(told_stall_, true)) return;
  log_line(LogLevel::warning, "checkpoint", "no memory for a copy of the state: training waits while it is written");
}

void Saver::deliver() {
  for (const SaveOutcome& outcome : writer_.take_outcomes()) {
    tell(outcome);
    const auto found = open_.find(outcome.id);
    if (found == open_.end()) continue;
    const SaveRequest request = found->second.request;
    found->second.failed = !outcome.saved;
    if (outcome.saved) open_.erase(found);
    if (request.done) request.done(outcome);
  }
}

void Saver::remove(std::vector<std::string> paths) {
  for (const std::string& path : paths) std::erase(written_, path);
  writer_.remove(std::move(paths));
}

void Saver::tell(const SaveOutcome& outcome) {
  summary_.write_seconds += outcome.seconds;
  if (outcome.saved) {
    ++summary_.saved;
    summary_.bytes += outcome.written_bytes;
    last_ = outcome.info.path;
    std::erase(written_, last_);
    written_.push_back(last_);
    if (Timeline* timeline = Timeline::current()) timeline->count("checkpoint_bytes", outcome.written_bytes);
    if (failing_)
      log_line(LogLevel::warning, "checkpoint", fmt::format("{} is on disk; saving works again", outcome.info.path));
    failing_ = false;
  } else {
    ++summary_.failed;
    if (!failing_)
      log_line(LogLevel::warning, "checkpoint",
               fmt::format("can't save {}: {} (needs {} bytes, {} are free); training goes on, earlier checkpoints are "
                           "kept, and it is tried again",
                           outcome.info.path, outcome.problem, outcome.need_bytes, outcome.free_bytes));
    failing_ = true;
  }
  if (outcome.id == last_id_) {
    summary_.last_on_disk = outcome.saved;
    summary_.problem = outcome.problem;
  }
}

std::string Saver::finish() {
  if (last_id_ == 0) return {};
  {
    ScopedSpan span(Phase::checkpoint, "finish writing");
    writer_.finish();
    deliver();
    writer_.finish();  // removals that were asked for just now
  }
  const bool kept = !written_.empty() && written_.back() == last_;
  std::error_code failed;
  std::erase_if(written_, [&](const std::string& path) { return !std::filesystem::exists(path, failed); });
  summary_.newest = written_.empty() ? "" : written_.back();
  if (summary_.last_on_disk && summary_.newest != last_) {
    summary_.last_on_disk = false;
    if (kept) summary_.problem = fmt::format("{} was written, and somebody removed it", last_);
  }
  std::string text = "none written";
  if (summary_.saved > 0)
    text = fmt::format("{} written, {}, {} of training each", summary_.saved, bytes_text(summary_.bytes),
                       seconds_text(summary_.stall_seconds / static_cast<double>(summary_.saved)));
  if (Timeline* timeline = Timeline::current()) timeline->fact("checkpoint.summary", text, "fit");
  if (summary_.last_on_disk) return fmt::format("checkpoints: {}; the last one is on disk: {}", text, summary_.newest);
  const std::string newest = summary_.newest.empty() ? "none" : summary_.newest;
  if (summary_.problem.empty()) return fmt::format("checkpoints: {}; the newest of those kept: {}", text, newest);
  return fmt::format("the last state is NOT on disk: {}; newest on disk: {}", summary_.problem, newest);
}

}  // namespace isochron
