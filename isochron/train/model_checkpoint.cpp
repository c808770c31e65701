#include "isochron/train/model_checkpoint.h"

#include <fmt/core.h>
#include <fmt/format.h>

#include <cmath>
#include <cstring>
#include <filesystem>

#include "isochron/base/joined.h"
#include "isochron/base/seconds_text.h"
#include "isochron/checkpoint/state_dict.h"
#include "isochron/checkpoint/weights_file.h"
#include "isochron/train/train_run.h"

namespace isochron {
namespace {

std::string parent_of(const std::string& path) { return std::filesystem::path(path).parent_path().string(); }

bool names_weights(const std::string& path) {
  return path.ends_with(".safetensors") || path.ends_with(".npz") || path.ends_with(".h5");
}

// Calls f(text) for the plain parts of a path and f(name, format) for what stands in braces.
template <class Text, class Field>
void each_part(const std::string& filepath, Text&& text, Field&& field) {
  for (size_t at = 0; at < filepath.size();) {
    const char c = filepath[at];
    if ((c == '{' || c == '}') && at + 1 < filepath.size() && filepath[at + 1] == c) {
      text(std::string(1, c));
      at += 2;
    } else if (c == '{') {
      const size_t end = filepath.find('}', at);
      if (end == std::string::npos) fail<ValueError>("ModelCheckpoint", "\"{}\": a brace is not closed", filepath);
      const std::string inside = filepath.substr(at + 1, end - at - 1);
      const size_t colon = inside.find(':');
      field(inside.substr(0, colon), colon == std::string::npos ? "" : inside.substr(colon));
      at = end + 1;
    } else {
      text(std::string(1, c));
      ++at;
    }
  }
}

template <class T>
std::string formatted(const std::string& filepath, const std::string& format, T value) {
  try {
    return fmt::format(fmt::runtime("{" + format + "}"), value);
  } catch (const fmt::format_error& error) {
    fail<ValueError>("ModelCheckpoint", "\"{}\": the format \"{}\" does not fit: {}", filepath, format, error.what());
  }
}

}  // namespace

std::string checkpoint_path(const std::string& filepath, int epoch, int64_t batch, const Logs& logs) {
  std::string out;
  each_part(
      filepath, [&](const std::string& text) { out += text; },
      [&](const std::string& name, const std::string& format) {
        if (name == "epoch" || name == "batch") {
          out += formatted(filepath, format, name == "epoch" ? int64_t{epoch} : batch);
          return;
        }
        const auto found =
            std::find_if(logs.begin(), logs.end(), [&](const auto& entry) { return entry.first == name; });
        if (found == logs.end()) {
          std::vector<std::string> known{"epoch", "batch"};
          for (const auto& [metric, value] : logs) known.push_back(metric);
          fail<ValueError>("ModelCheckpoint", "\"{}\": there is no \"{}\" to put into the name; there are {}", filepath,
                           name, joined(known));
        }
        out += formatted(filepath, format, found->second);
      });
  return out;
}

SaveFreq::SaveFreq(const char* word) {
  if (std::strcmp(word, "epoch") != 0)
    fail<ValueError>("ModelCheckpoint", "save_freq is \"epoch\" or a number of steps, got \"{}\"", word);
}
SaveFreq::SaveFreq(int64_t steps) : steps_(steps) {
  if (steps < 1) fail<ValueError>("ModelCheckpoint", "save_freq must be at least 1 step, got {}", steps);
}

ModelCheckpoint::ModelCheckpoint(std::string filepath, Options options)
    : filepath_(std::move(filepath)), options_(std::move(options)) {
  if (filepath_.empty()) fail<ValueError>("ModelCheckpoint", "needs a filepath");
  if (options_.save_weights_only) weights_format("ModelCheckpoint", filepath_);
  if (!options_.save_weights_only && names_weights(filepath_))
    fail<ValueError>(
        "ModelCheckpoint",
        "\"{}\" is the name of a file of weights, and a whole state is a folder: set save_weights_only, or "
        "leave the ending off",
        filepath_);
  if (options_.period < 1 || options_.keep_last < 0 || options_.keep_best < 0)
    fail<ValueError>("ModelCheckpoint",
                     "period must be at least 1, keep_last and keep_best not negative; got {}, {}, {}", options_.period,
                     options_.keep_last, options_.keep_best);
  if (!options_.save_freq.by_epoch() && options_.period != 1)
    fail<ValueError>("ModelCheckpoint", "period counts epochs: it goes with save_freq \"epoch\", not with {} steps",
                     options_.save_freq.steps());
  // Formats are tried now rather than at the end of the first epoch.
  each_part(
      filepath_, [](const std::string&) {},
      [&](const std::string& name, const std::string& format) {
        if (name == "epoch" || name == "batch")
          formatted(filepath_, format, int64_t{1});
        else
          formatted(filepath_, format, 0.5);
      });
  if (options_.save_best_only || options_.keep_best > 0)
    monitor_.emplace("ModelCheckpoint", options_.monitor, options_.mode, 0);
}

void ModelCheckpoint::on_train_begin(const Logs&) {
  best_ = options_.initial_value_threshold;
  since_last_ = 0;
  expected_ = false;
  generations_.clear();
  remove_leftovers(parent_of(filepath_.substr(0, filepath_.find('{'))));
}

bool ModelCheckpoint::due(const TrainRun& run) {
  if (run.epoch_ended() != options_.save_freq.by_epoch()) return false;
  const int64_t every = options_.save_freq.by_epoch() ? options_.period : options_.save_freq.steps();
  if (++since_last_ < every) return false;
  since_last_ = 0;
  return true;
}

void ModelCheckpoint::between_steps(TrainRun& run) {
  if (!std::exchange(expected_, true)) run.expect_saves(options_.save_weights_only);
  if (!due(run)) return;
  const Logs logs = run.logs();
  const int epoch = run.epoch() + (run.epoch_ended() ? 0 : 1);
  double value = std::nan("");
  if (monitor_) {
    const std::optional<double> current = monitor_->value(logs);
    if (current) value = *current;
    if (options_.save_best_only) {
      if (!current) return;
      if (!monitor_->improves(*current, best_)) {
        if (options_.verbose > 0)
          fmt::print("\nEpoch {}: {} did not improve from {:.5f}\n", epoch, options_.monitor, best_.value_or(NAN));
        return;
      }
    }
    if (current && monitor_->improves(*current, best_)) best_ = current;
  }
  const std::string path = checkpoint_path(filepath_, epoch, run.step(), logs);
  std::erase_if(generations_, [&](const Generation& generation) { return generation.path == path; });
  generations_.push_back({path, value, false});
  run.save({.path = path,
            .weights_only = options_.save_weights_only,
            .done = [this, &run, epoch](const SaveOutcome& outcome) { done(run, outcome, epoch); }});
}

void ModelCheckpoint::done(TrainRun& run, const SaveOutcome& outcome, int epoch) {
  if (!outcome.saved) return;
  for (Generation& generation : generations_)
    if (generation.path == outcome.info.path) generation.on_disk = true;
  if (options_.verbose > 0)
    fmt::print("\nEpoch {}: saved to {} ({} in {})\n", epoch, outcome.info.path, bytes_text(outcome.written_bytes),
               seconds_text(outcome.seconds));
  run.remove(surplus());
  if (options_.on_saved) options_.on_saved(outcome.info);
}

// Those on disk that neither keep_last nor keep_best wants. They are remembered, in checkpoints too, until they are
// gone: a run that is killed before that removes them when it goes on.
std::vector<std::string> ModelCheckpoint::surplus() {
  if (options_.keep_last == 0 && options_.keep_best == 0) return {};
  const auto newest = std::find_if(generations_.rbegin(), generations_.rend(),
                                   [](const Generation& generation) { return generation.on_disk; });
  std::error_code failed;
  generations_.erase(std::remove_if(generations_.begin(), newest.base(),
                                    [&](const Generation& generation) {
                                      return !generation.on_disk && !std::filesystem::exists(generation.path, failed);
                                    }),
                     newest.base());
  std::vector<Generation*> disk;
  for (Generation& generation : generations_)
    if (generation.on_disk) disk.push_back(&generation);
  std::set<std::string> wanted;
  const auto keep = [&](int count) {
    for (size_t i = 0; i < disk.size() && i < static_cast<size_t>(count); ++i) wanted.insert(disk[i]->path);
  };
  std::reverse(disk.begin(), disk.end());
  keep(options_.keep_last);
  if (options_.keep_best > 0) {
    // Among equals the newer one.
    std::stable_sort(disk.begin(), disk.end(), [&](const Generation* a, const Generation* b) {
      return !std::isnan(a->value) && (std::isnan(b->value) || monitor_->improves(a->value, b->value));
    });
    keep(options_.keep_best);
  }
  std::vector<std::string> out;
  for (Generation* generation : disk) {
    generation->on_disk = wanted.contains(generation->path);
    if (!generation->on_disk) out.push_back(generation->path);
  }
  return out;
}

void ModelCheckpoint::save_state(StateDict& state) const {
  if (best_) state.put("best", *best_);
  state.put("since_last", since_last_);
  std::string paths;
  std::vector<double> values;
  for (const Generation& generation : generations_) {
    paths += generation.path + '\n';
    values.push_back(generation.value);
  }
  state.put("paths", paths);
  state.put("values", values);
}

void ModelCheckpoint::load_state(const StateDict& state) {
  if (state.has("best")) best_ = state.number("best");
  since_last_ = state.integer("since_last");
  generations_.clear();
  const std::string paths = state.text("paths");
  const std::vector<double> values = state.numbers("values");
  size_t at = 0;
  for (const double value : values) {
    const size_t end = paths.find('\n', at);
    if (end == std::string::npos) break;
    const std::string path = paths.substr(at, end - at);
    at = end + 1;
    std::error_code failed;
    if (std::filesystem::exists(path, failed)) generations_.push_back({path, value, true});
  }
}

BackupAndRestore::BackupAndRestore(std::string backup_dir, Options options)
    : folder_(std::move(backup_dir)), options_(std::move(options)) {
  if (folder_.empty()) fail<ValueError>("BackupAndRestore", "needs a folder");
}

void BackupAndRestore::on_train_begin(const Logs&) {
  since_last_ = 0;
  expected_ = waiting_ = false;
  remove_leftovers(folder_);
}

void BackupAndRestore::between_steps(TrainRun& run) {
  if (!std::exchange(expected_, true)) run.expect_saves(false);
  const bool by_epoch = options_.save_freq.by_epoch();
  if (by_epoch ? run.epoch_ended() : !run.epoch_ended() && ++since_last_ >= options_.save_freq.steps()) waiting_ = true;
  // A backup that would have to wait for the one before it comes a little later instead.
  if (!waiting_ || (run.training_ends() ? options_.delete_checkpoint : run.saving())) return;
  waiting_ = false;
  since_last_ = 0;
  run.save({.path = fmt::format("{}/step-{:010}", folder_, run.total_steps()),
            .weights_only = false,
            .done = [this, &run](const SaveOutcome& outcome) {
              if (!outcome.saved) return;
              if (options_.verbose > 0)
                fmt::print("\nBackup: {} ({} in {})\n", outcome.info.path, bytes_text(outcome.written_bytes),
                           seconds_text(outcome.seconds));
              run.remove(older_than(outcome.info.path));
              if (options_.on_saved) options_.on_saved(outcome.info);
            }});
}

// Backups older than this one that need not be kept.
std::vector<std::string> BackupAndRestore::older_than(const std::string& path) const {
  std::vector<std::string> old;
  bool older = false;
  int kept = 0;
  for (const ListedCheckpoint& listed : list_checkpoints(folder_)) {
    if (older && (!listed.info || ++kept > (options_.double_checkpoint ? 1 : 0))) old.push_back(listed.path);
    older = older || listed.path == path;
  }
  return old;
}

void BackupAndRestore::on_train_end(const Logs&) {
  if (!options_.delete_checkpoint) return;
  for (const ListedCheckpoint& listed : list_checkpoints(folder_)) remove_checkpoint(listed.path);
  std::error_code ignored;
  std::filesystem::remove(folder_, ignored);  // if nothing else is in it
}

void BackupAndRestore::save_state(StateDict& state) const { state.put("since_last", since_last_); }
void BackupAndRestore::load_state(const StateDict& state) { since_last_ = state.integer("since_last"); }

}  // namespace isochron
