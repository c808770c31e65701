#include "isochron/train/model_checkpoint.h"

#include <fmt/format.h>
#include <sys/stat.h>

#include <cmath>
#include <cstring>
#include <filesystem>
#include <set>

#include "isochron/base/seconds_text.h"
#include "isochron/checkpoint/state_dict.h"
#include "isochron/checkpoint/weights_file.h"
#include "isochron/train/checkpoint_path.h"
#include "isochron/train/model_file.h"
#include "isochron/train/progress.h"
#include "isochron/train/train_run.h"
#include "isochron/train/train_state.h"

namespace isochron {
namespace {

constexpr const char* kBackupName = "/step-{batch:010d}";

std::string parent_of(const std::string& path) { return std::filesystem::path(path).parent_path().string(); }

// File systems stamp what is written by a clock that lags behind by at most this.
constexpr int64_t kFileClockTick = 10'000'000;

// Of one save, as far as is known before the first step: tensors, and blocks for the header, the manifest and what a
// file leaves of its last one.
int64_t bytes_of_save(const Model& model, bool weights_only) {
  constexpr int64_t kBlock = 4096;
  int64_t bytes = (weights_only ? 2 : 3) * kBlock;
  for (const auto& [name, variable] : weight_variables(model)) bytes += variable.spec().bytes();
  if (weights_only) return bytes;
  for (const Variable& variable : model.optimizer().variables()) bytes += variable.spec().bytes();
  return bytes;
}

}  // namespace

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
  if (!options_.save_weights_only && filepath_.ends_with(".keras"))
    fail<ValueError>("ModelCheckpoint", "\"{}\": models are saved as .iso, weights for Keras as .weights.h5",
                     filepath_);
  if (!options_.save_weights_only && names_weights_file(filepath_))
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
  check_checkpoint_path(filepath_);
  if (options_.save_freq.by_epoch() && names_batch(filepath_))
    fail<ValueError>("ModelCheckpoint",
                     "\"{}\": at the end of an epoch there is no batch to put into the name; save every so many steps "
                     "(save_freq), or name the epoch",
                     filepath_);
  if (options_.save_best_only || options_.keep_best > 0)
    monitor_.emplace("ModelCheckpoint", options_.monitor, options_.mode, 0,
                     options_.save_best_only ? "nothing is saved" : "none counts as the best");
}

void ModelCheckpoint::on_train_begin(const Logs&) {
  if (!options_.save_weights_only && to_file()) (void)model_file(*model());  // what can't be saved is told now
  best_ = options_.initial_value_threshold;
  since_last_ = 0;
  expected_ = false;
  generations_.clear();
  const std::string folder = parent_of(filepath_.substr(0, filepath_.find('{')));
  began_ns_ = save_clock_ns(folder);
  remove_leftovers(folder);
}

bool ModelCheckpoint::to_file() const { return options_.save_weights_only || names_model_file(filepath_); }

bool ModelCheckpoint::due(const TrainRun& run) {
  if (run.epoch_ended() != options_.save_freq.by_epoch()) return false;
  const int64_t every = options_.save_freq.by_epoch() ? options_.period : options_.save_freq.steps();
  if (++since_last_ < every) return false;
  since_last_ = 0;
  return true;
}

void ModelCheckpoint::between_steps(TrainRun& run) {
  if (!std::exchange(expected_, true)) {
    run.expect_saves(options_.save_weights_only);
    run.remove(surplus());
  }
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
          ProgressLine::tell(
              fmt::format("Epoch {}: {} did not improve from {:.5f}", epoch, options_.monitor, best_.value_or(NAN)));
        return;
      }
    }
    if (current && monitor_->improves(*current, best_)) best_ = current;
  }
  save(run, checkpoint_path(filepath_, epoch, run.step(), logs), value);
}

void ModelCheckpoint::save(TrainRun& run, const std::string& path, double value) {
  std::erase_if(generations_, [&](const Generation& generation) { return generation.path == path; });
  generations_.push_back({path, value, Generation::State::asked_for});
  const int epoch = run.epoch() + (run.epoch_ended() ? 0 : 1);
  run.save({.path = path,
            .weights_only = options_.save_weights_only,
            .done = [this, &run, epoch](const SaveOutcome& outcome) { done(run, outcome, epoch); }});
}

// Under a name of its own where names tell epochs and metrics, which are not known now, or where the best one stands.
void ModelCheckpoint::on_abort(TrainRun& run, const std::string&) {
  const bool one_name = filepath_.find('{') == std::string::npos && !options_.save_best_only;
  std::string ending;
  for (const char* known : {".safetensors", ".npz", ".weights.h5", ".iso"})
    if (to_file() && filepath_.ends_with(known)) ending = known;
  const std::string folder = parent_of(filepath_.substr(0, filepath_.find('{')));
  save(run, one_name ? filepath_ : (std::filesystem::path(folder) / ("aborted" + ending)).string(), std::nan(""));
}

DiskNeed ModelCheckpoint::disk_need() const {
  const int64_t bytes = bytes_of_save(*model(), options_.save_weights_only);
  const int64_t saves = options_.save_freq.by_epoch() ? params().epochs / options_.period
                                                      : params().epochs * params().steps / options_.save_freq.steps();
  const bool one_name = filepath_.find('{') == std::string::npos;
  const int64_t wanted = options_.keep_last + options_.keep_best;
  // Nobody knows how often the best one changes.
  const int64_t kept = one_name || options_.save_best_only ? 1 : wanted > 0 ? std::min(wanted, saves) : saves;
  // The one before goes when its successor is on the disk.
  const int64_t at_once = saves > kept ? kept + 1 : std::min(kept, saves);
  return {filepath_, bytes * std::max<int64_t>(0, at_once - static_cast<int64_t>(generations_.size()))};
}

void ModelCheckpoint::done(TrainRun& run, const SaveOutcome& outcome, int epoch) {
  if (!outcome.saved) return;
  for (Generation& generation : generations_)
    if (generation.path == outcome.info.path) generation.state = Generation::State::kept;
  if (options_.verbose > 0)
    ProgressLine::tell(fmt::format("Epoch {}: saved to {} ({} in {})", epoch, outcome.info.path,
                                   bytes_text(outcome.written_bytes), seconds_text(outcome.seconds)));
  run.remove(surplus());
  if (options_.on_saved) options_.on_saved(outcome.info);
}

// What neither keep_last nor keep_best wants, until it is gone.
std::vector<std::string> ModelCheckpoint::surplus() {
  if (options_.keep_last == 0 && options_.keep_best == 0) return {};
  using State = Generation::State;
  std::error_code failed;
  const auto exists = [&](const Generation& generation) { return std::filesystem::exists(generation.path, failed); };
  // Saves that failed for good; where they were to replace one of that name, it is still there.
  bool passed = false;
  for (auto at = generations_.rbegin(); at != generations_.rend(); ++at) {
    if (passed && at->state == State::asked_for) at->state = exists(*at) ? State::kept : State::unwanted;
    passed = passed || at->state == State::kept;
  }
  std::vector<Generation*> kept;  // newest first
  for (auto at = generations_.rbegin(); at != generations_.rend(); ++at)
    if (at->state == State::kept) kept.push_back(&*at);
  std::set<std::string> wanted;
  const auto keep = [&](int count) {
    for (size_t i = 0; i < kept.size() && i < static_cast<size_t>(count); ++i) wanted.insert(kept[i]->path);
  };
  keep(options_.keep_last);
  if (options_.keep_best > 0) {
    // Among equals the newer one.
    std::stable_sort(kept.begin(), kept.end(), [&](const Generation* a, const Generation* b) {
      return !std::isnan(a->value) && (std::isnan(b->value) || monitor_->improves(a->value, b->value));
    });
    keep(options_.keep_best);
  }
  for (Generation* generation : kept)
    if (!wanted.contains(generation->path)) generation->state = State::unwanted;
  std::erase_if(generations_, [&](const Generation& generation) {
    return generation.state == State::unwanted && !exists(generation);
  });
  std::vector<std::string> out;
  for (const Generation& generation : generations_)
    if (generation.state == State::unwanted) out.push_back(generation.path);
  return out;
}

void ModelCheckpoint::save_state(StateDict& state) const {
  if (best_) state.put("best", *best_);
  state.put("since_last", since_last_);
  state.put("began_ns", began_ns_);
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
  began_ns_ = state.integer("began_ns");
  std::map<std::string, double> values;
  const std::string paths = state.text("paths");
  size_t at = 0;
  for (const double value : state.numbers("values")) {
    const size_t end = paths.find('\n', at);
    if (end == std::string::npos) break;
    values[paths.substr(at, end - at)] = value;
    at = end + 1;
  }
  find_generations(values);
}

// The disk is what counts: since the state was saved from which this run goes on, others may have been written, and the
// removal of others may have been interrupted. What was there before this run began is none of its own.
void ModelCheckpoint::find_generations(const std::map<std::string, double>& values) {
  generations_.clear();
  if (options_.keep_last == 0 && options_.keep_best == 0) return;
  std::vector<std::pair<int64_t, Generation>> found;
  for (const std::string& path : paths_like(filepath_)) {
    struct stat file {};
    if (lstat(path.c_str(), &file) != 0 || to_file() != S_ISREG(file.st_mode)) continue;
    if (!to_file() && !S_ISDIR(file.st_mode)) continue;
    int64_t when = int64_t{file.st_mtim.tv_sec} * 1'000'000'000 + file.st_mtim.tv_nsec + kFileClockTick;
    const auto known = values.find(path);
    Generation generation{path, known == values.end() ? std::nan("") : known->second, Generation::State::kept};
    try {
      if (!to_file()) {
        const CheckpointInfo info = read_checkpoint_info(path);
        when = info.saved_at_ns;
        if (known == values.end() && monitor_) generation.value = logs_value(info.logs, monitor_->metric());
      }
    } catch (const FileError&) {
      generation.state = Generation::State::unwanted;
    }
    if (when >= began_ns_) found.emplace_back(when, std::move(generation));
  }
  std::stable_sort(found.begin(), found.end(), [](const auto& a, const auto& b) { return a.first < b.first; });
  for (auto& [when, generation] : found) generations_.push_back(std::move(generation));
}

BackupAndRestore::BackupAndRestore(std::string backup_dir, Options options)
    : folder_(std::move(backup_dir)), options_(std::move(options)) {
  if (folder_.empty()) fail<ValueError>("BackupAndRestore", "needs a folder");
  if (folder_.find_first_of("{}") != std::string::npos)
    fail<ValueError>("BackupAndRestore", "the folder has one name for the whole run, without braces; got \"{}\"",
                     folder_);
}

void BackupAndRestore::on_train_begin(const Logs&) {
  since_last_ = 0;
  newest_ = 0;
  expected_ = waiting_ = put_off_ = resumed_ = false;
  remove_leftovers(folder_);
}

void BackupAndRestore::between_steps(TrainRun& run) {
  if (!std::exchange(expected_, true)) {
    run.expect_saves(false);
    if (const std::string path = path_of(newest_); resumed_ && is_checkpoint(path)) run.remove(all_but(path));
  }
  const bool by_epoch = options_.save_freq.by_epoch();
  if (by_epoch ? run.epoch_ended() : !run.epoch_ended() && ++since_last_ >= options_.save_freq.steps()) waiting_ = true;
  if (!waiting_ || (run.training_ends() && options_.delete_checkpoint)) return;
  // A backup that would have to wait for the one before it comes a little later instead, though not once the next one
  // is due: others that save all the time would put it off for ever.
  const bool late = by_epoch ? run.epoch_ended() && put_off_ : since_last_ >= 2 * options_.save_freq.steps();
  put_off_ = run.saving() && !late && !run.training_ends();
  if (put_off_) return;
  waiting_ = false;
  since_last_ = 0;
  save(run);
}

std::string BackupAndRestore::path_of(int64_t steps) const {
  return checkpoint_path(folder_ + kBackupName, 0, steps, {});
}

void BackupAndRestore::save(TrainRun& run) {
  newest_ = run.total_steps();
  run.save({.path = path_of(newest_), .weights_only = false, .done = [this, &run](const SaveOutcome& outcome) {
              if (!outcome.saved) return;
              if (options_.verbose > 0)
                ProgressLine::tell(fmt::format("Backup: {} ({} in {})", outcome.info.path,
                                               bytes_text(outcome.written_bytes), seconds_text(outcome.seconds)));
              run.remove(all_but(outcome.info.path));
              if (options_.on_saved) options_.on_saved(outcome.info);
            }});
}

// Backups that need not be kept beside this one, and what is left of others whose removal was interrupted. The newest
// that was asked for may be on the disk already: word of one comes when the next has begun.
std::vector<std::string> BackupAndRestore::all_but(const std::string& path) const {
  std::set<std::string> kept{path};
  if (options_.double_checkpoint)
    for (const ListedCheckpoint& listed : list_checkpoints(folder_))
      if (kept.size() < 2 && listed.info) kept.insert(listed.path);
  kept.insert(path_of(newest_));
  std::vector<std::string> others = paths_like(folder_ + kBackupName);
  std::erase_if(others, [&](const std::string& other) { return kept.contains(other); });
  return others;
}

void BackupAndRestore::on_train_end(const Logs&) {
  if (!options_.delete_checkpoint) return;
  for (const std::string& path : paths_like(folder_ + kBackupName)) remove_checkpoint(path);
  std::error_code ignored;
  std::filesystem::remove(folder_, ignored);  // if nothing else is in it
}

DiskNeed BackupAndRestore::disk_need() const {
  return {folder_, bytes_of_save(*model(), false) * (options_.double_checkpoint ? 3 : 2)};
}

void BackupAndRestore::save_state(StateDict& state) const {
  state.put("since_last", since_last_);
  state.put("newest", newest_);
}
void BackupAndRestore::load_state(const StateDict& state) {
  since_last_ = state.integer("since_last");
  newest_ = state.integer("newest");
  resumed_ = true;
}

}  // namespace isochron
