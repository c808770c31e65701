#include "isochron/train/callbacks.h"

#include <fcntl.h>
#include <unistd.h>

#include <cerrno>
#include <cmath>
#include <cstdio>
#include <cstring>

#include <fmt/core.h>

#include "isochron/base/clock.h"
#include "isochron/base/error.h"
#include "isochron/base/escape.h"
#include "isochron/base/joined.h"
#include "isochron/base/kept_files.h"
#include "isochron/base/log.h"
#include "isochron/checkpoint/state_dict.h"
#include "isochron/train/progress.h"

namespace isochron {
namespace {

// Where the last of these words begins, counted from 1; 0: nowhere.
size_t last_of(const std::string& text, std::initializer_list<const char*> words) {
  size_t last = 0;
  for (const char* word : words) last = std::max(last, text.rfind(word) + 1);
  return last;
}

// The last word counts: in "score_mean_absolute_error" the output is called score.
bool smaller_is_better(const std::string& who, const std::string& metric, MonitorMode mode) {
  if (mode != MonitorMode::automatic) return mode == MonitorMode::min;
  const size_t up = last_of(metric, {"acc", "auc", "AUC", "precision", "recall", "f1", "score", "top_k", "similarity",
                                     "io_u", "iou", "sensitivity", "specificity", "correlation"});
  const size_t down =
      last_of(metric, {"loss", "error", "mse", "mae", "mape", "entropy", "divergence", "hinge", "poisson", "logcosh"});
  if (up != down) return down > up;
  fail<ValueError>(
      who, "can't tell whether \"{}\" gets better by rising or by falling: pass .mode = MonitorMode::min or max",
      metric);
}

void check_epochs(const char* callback, const char* option, int epochs) {
  if (epochs < 0) fail<ValueError>(callback, "{} must not be negative, got {}", option, epochs);
}

// Once, whoever else has it.
void add_learning_rate(const Model& model, Logs& logs) {
  if (!logs.contains("learning_rate")) logs.emplace_back("learning_rate", model.optimizer().learning_rate());
}

std::string json_number(double value) { return std::isfinite(value) ? fmt::format("{}", value) : "null"; }

}  // namespace

double logs_value(const Logs& logs, const std::string& name) { return logs.contains(name) ? logs[name] : std::nan(""); }

Monitor::Monitor(std::string who, std::string metric, MonitorMode mode, double min_delta, std::string without)
    : who_(std::move(who)),
      metric_(std::move(metric)),
      without_(std::move(without)),
      less_(smaller_is_better(who_, metric_, mode)),
      min_delta_(std::abs(min_delta)) {}

std::optional<double> Monitor::value(const Logs& logs) {
  std::vector<std::string> names;
  for (const auto& [name, value] : logs) {
    if (name == metric_) return value;
    names.push_back(name);
  }
  if (!warned_)
    log_line(LogLevel::warning, who_,
             fmt::format("there is no \"{}\" to go by, so {}; available: {}", metric_, without_, joined(names)));
  warned_ = true;
  return std::nullopt;
}

bool Monitor::improves(double value, std::optional<double> than) const {
  const double best = than.value_or(less_ ? INFINITY : -INFINITY);
  return less_ ? value + min_delta_ < best : value - min_delta_ > best;
}

EarlyStopping::EarlyStopping(Options options)
    : options_(std::move(options)),
      monitor_("EarlyStopping", options_.monitor, options_.mode, options_.min_delta, "training is not ended early") {
  check_epochs("EarlyStopping", "patience", options_.patience);
  check_epochs("EarlyStopping", "start_from_epoch", options_.start_from_epoch);
}

void EarlyStopping::on_train_begin(const Logs&) {
  wait_ = stopped_epoch_ = best_epoch_ = 0;
  best_.reset();
  best_weights_.clear();
}

void EarlyStopping::on_epoch_end(int epoch, const Logs& logs) {
  const std::optional<double> current = monitor_.value(logs);
  if (!current || epoch < options_.start_from_epoch) return;
  const bool better = monitor_.improves(*current, best_);
  if (options_.restore_best_weights && (better || best_weights_.empty())) {
    best_weights_ = model()->get_weights();
    best_epoch_ = epoch;
  }
  ++wait_;
  if (better) {
    best_ = current;
    best_epoch_ = epoch;
    if (!options_.baseline || monitor_.improves(*current, options_.baseline)) wait_ = 0;
    return;
  }
  if (wait_ >= options_.patience && epoch > 0) {
    stopped_epoch_ = epoch;
    model()->stop_training = true;
  }
}

void EarlyStopping::on_train_end(const Logs&) {
  if (stopped_epoch_ > 0 && options_.verbose > 0)
    ProgressLine::tell(fmt::format("Epoch {}: early stopping", stopped_epoch_ + 1));
  if (best_weights_.empty()) return;
  if (options_.verbose > 0)
    ProgressLine::tell(fmt::format("Restoring model weights from the end of the best epoch: {}.", best_epoch_ + 1));
  model()->set_weights(best_weights_);
}

void EarlyStopping::save_state(StateDict& state) const {
  state.put("wait", wait_);
  state.put("stopped_epoch", stopped_epoch_);
  state.put("best_epoch", best_epoch_);
  if (best_) state.put("best", *best_);
  for (size_t i = 0; i < best_weights_.size(); ++i) state.put(fmt::format("best_weights/{}", i), best_weights_[i]);
}

void EarlyStopping::load_state(const StateDict& state) {
  wait_ = static_cast<int>(state.integer("wait"));
  stopped_epoch_ = static_cast<int>(state.integer("stopped_epoch"));
  best_epoch_ = static_cast<int>(state.integer("best_epoch"));
  best_.reset();
  if (state.has("best")) best_ = state.number("best");
  best_weights_.clear();
  const StateDict weights = state.part("best_weights");
  for (const auto& [name, weight] : weights.tensors()) best_weights_.push_back(weight);
}

ReduceLROnPlateau::ReduceLROnPlateau(Options options)
    : options_(std::move(options)),
      monitor_("ReduceLROnPlateau", options_.monitor, options_.mode, options_.min_delta, "the learning rate stays") {
  if (!(options_.factor >= 0 && options_.factor < 1))
    fail<ValueError>("ReduceLROnPlateau", "needs a factor of at least 0 and below 1, got {}", options_.factor);
  check_epochs("ReduceLROnPlateau", "patience", options_.patience);
  check_epochs("ReduceLROnPlateau", "cooldown", options_.cooldown);
}

void ReduceLROnPlateau::on_train_begin(const Logs&) {
  // A rate that can't be set is told now, not when it is to change hours later.
  Optimizer& optimizer = model()->optimizer();
  optimizer.set_learning_rate(optimizer.learning_rate());
  wait_ = cooldown_ = 0;
  best_.reset();
}

void ReduceLROnPlateau::add_to_logs(Logs& logs) const { add_learning_rate(*model(), logs); }

void ReduceLROnPlateau::on_epoch_end(int epoch, const Logs& logs) {
  const std::optional<double> current = monitor_.value(logs);
  if (!current) return;
  if (cooldown_ > 0) {
    --cooldown_;
    wait_ = 0;
  }
  if (monitor_.improves(*current, best_)) {
    best_ = current;
    wait_ = 0;
    return;
  }
  if (cooldown_ > 0 || ++wait_ < options_.patience) return;
  Optimizer& optimizer = model()->optimizer();
  const double rate = optimizer.learning_rate();
  if (!(rate > static_cast<float>(options_.min_lr))) return;
  const double lower = std::max(rate * options_.factor, options_.min_lr);
  optimizer.set_learning_rate(lower);
  if (options_.verbose > 0)
    ProgressLine::tell(fmt::format("Epoch {}: ReduceLROnPlateau reducing learning rate to {}.", epoch + 1, lower));
  cooldown_ = options_.cooldown;
  wait_ = 0;
}

void ReduceLROnPlateau::save_state(StateDict& state) const {
  state.put("wait", wait_);
  state.put("cooldown", cooldown_);
  if (best_) state.put("best", *best_);
}

void ReduceLROnPlateau::load_state(const StateDict& state) {
  wait_ = static_cast<int>(state.integer("wait"));
  cooldown_ = static_cast<int>(state.integer("cooldown"));
  best_.reset();
  if (state.has("best")) best_ = state.number("best");
}

LearningRateScheduler::LearningRateScheduler(std::function<double(int, double)> schedule, int verbose)
    : schedule_(std::move(schedule)), verbose_(verbose) {
  if (!schedule_) fail<ValueError>("LearningRateScheduler", "needs a function of epoch and learning rate");
}

void LearningRateScheduler::on_epoch_begin(int epoch, const Logs&) {
  Optimizer& optimizer = model()->optimizer();
  const double rate = schedule_(epoch, optimizer.learning_rate());
  if (!std::isfinite(rate) || rate < 0)
    fail<ValueError>("LearningRateScheduler", "the schedule gave {} for epoch {}; a learning rate is 0 or more", rate,
                     epoch + 1);
  optimizer.set_learning_rate(rate);
  if (verbose_ > 0)
    ProgressLine::tell(fmt::format("Epoch {}: LearningRateScheduler setting learning rate to {}.", epoch + 1, rate));
}

void LearningRateScheduler::add_to_logs(Logs& logs) const { add_learning_rate(*model(), logs); }

void TerminateOnNaN::on_train_batch_end(int64_t batch, const Logs& logs) {
  const double loss = logs_value(logs, "loss");
  if (std::isfinite(loss)) return;
  ProgressLine::tell(fmt::format("Batch {}: invalid loss, terminating training", batch + 1));
  model()->stop_training = true;
}

LogFile::~LogFile() { close(); }

void LogFile::open(bool append) {
  close();
  fd_ = ::open(path_.c_str(), O_WRONLY | O_CREAT | O_CLOEXEC | O_APPEND | (append ? 0 : O_TRUNC), 0644);
  if (fd_ < 0) fail<FileError>(who_, "{}: {}", path_, std::strerror(errno));
  note_kept_file(path_);
}

void LogFile::close() {
  if (fd_ >= 0) ::close(fd_);
  fd_ = -1;
}

int64_t LogFile::bytes() const { return ::lseek(fd_, 0, SEEK_END); }
bool LogFile::empty() const { return bytes() == 0; }
void LogFile::cut(int64_t length) {
  if (length < bytes() && ::ftruncate(fd_, length) != 0)
    log_line(
        LogLevel::warning, who_,
        fmt::format("{} keeps rows of a run that has been resumed from before them: {}", path_, std::strerror(errno)));
}

void LogFile::add(std::string line) {
  line += '\n';
  const int64_t before = bytes();
  const ssize_t written = ::write(fd_, line.data(), line.size());
  const bool whole = written == static_cast<ssize_t>(line.size());
  const char* why = std::strerror(written < 0 ? errno : ENOSPC);
  // Half a row would spoil the next one.
  const bool spoilt = !whole && written > 0 && ::ftruncate(fd_, before) != 0;
  if (!whole && !std::exchange(losing_, true))
    log_line(LogLevel::warning, who_,
             fmt::format("rows of {} are lost{}: {}", path_, spoilt ? ", one of them by half" : "", why));
  losing_ = !whole;
}

CSVLogger::CSVLogger(std::string path, std::string separator, bool append)
    : file_("CSVLogger", std::move(path)), separator_(std::move(separator)), append_(append) {}

void CSVLogger::on_train_begin(const Logs&) {
  file_.open(append_ || resuming());
  names_.clear();
}

void CSVLogger::on_epoch_end(int epoch, const Logs& logs) {
  const bool first = names_.empty();
  if (first) {
    for (const auto& [name, value] : logs) names_.push_back(name);
    std::sort(names_.begin(), names_.end());
    // Keras keeps room for validation in a first epoch without it, which validation_freq makes possible.
    const bool validated =
        std::any_of(names_.begin(), names_.end(), [](const auto& n) { return n.rfind("val_", 0) == 0; });
    const size_t own = names_.size();
    for (size_t i = 0; i < own && !validated; ++i) names_.push_back("val_" + names_[i]);
  }
  // A run that is resumed may find its file gone, and a full disk may have had no room for the names before.
  if (file_.empty() || (first && !append_ && !resuming())) file_.add("epoch" + separator_ + joined(names_, separator_));
  std::string row = std::to_string(epoch);
  for (const std::string& name : names_)
    row += separator_ + (logs.contains(name) ? fmt::format("{}", logs[name]) : "NA");
  file_.add(row);
}

void CSVLogger::on_train_end(const Logs&) { file_.close(); }

void CSVLogger::save_state(StateDict& state) const {
  state.put("bytes", file_.bytes());
  state.put("names", joined(names_, "\n"));
}

void CSVLogger::load_state(const StateDict& state) {
  file_.cut(state.integer("bytes"));
  names_.clear();
  const std::string names = state.text("names");
  for (size_t at = 0; at < names.size();) {
    const size_t end = std::min(names.find('\n', at), names.size());
    names_.push_back(names.substr(at, end - at));
    at = end + 1;
  }
}

JsonLinesLogger::JsonLinesLogger(std::string path, bool append)
    : file_("JsonLinesLogger", std::move(path)), append_(append) {}

void JsonLinesLogger::on_train_begin(const Logs&) { file_.open(append_ || resuming()); }

void JsonLinesLogger::on_epoch_begin(int, const Logs&) { epoch_start_ns_ = monotonic_ns(); }

void JsonLinesLogger::on_epoch_end(int epoch, const Logs& logs) {
  std::string line = fmt::format(R"({{"epoch": {}, "seconds": {:.6f})", epoch + 1,
                                 static_cast<double>(monotonic_ns() - epoch_start_ns_) * 1e-9);
  for (const auto& [name, value] : logs) line += fmt::format(", {}: {}", json_quoted(name), json_number(value));
  file_.add(line + "}");
}

void JsonLinesLogger::on_train_end(const Logs&) { file_.close(); }
void JsonLinesLogger::save_state(StateDict& state) const { state.put("bytes", file_.bytes()); }
void JsonLinesLogger::load_state(const StateDict& state) { file_.cut(state.integer("bytes")); }

ProgbarLogger::ProgbarLogger() = default;
ProgbarLogger::~ProgbarLogger() = default;
ProgbarLogger::ProgbarLogger(ProgbarLogger&&) noexcept = default;

// Reading the metrics at every step is worth it only where the line is redrawn.
bool ProgbarLogger::needs_batch_logs() const { return isatty(STDOUT_FILENO); }

void ProgbarLogger::on_train_begin(const Logs&) { line_ = std::make_unique<ProgressLine>(1); }

void ProgbarLogger::on_epoch_begin(int epoch, const Logs&) {
  steps_ = 0;
  line_->begin(fmt::format("Epoch {}/{}", epoch + 1, params().epochs), params().steps);
}

void ProgbarLogger::on_train_batch_end(int64_t, const Logs& logs) {
  ++steps_;
  if (line_->due()) line_->update(steps_, logs);
}

void ProgbarLogger::on_epoch_end(int, const Logs& logs) { line_->end(steps_, logs); }

void ProgbarLogger::on_train_end(const Logs&) { line_.reset(); }

}  // namespace isochron
