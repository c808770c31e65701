#include "isochron/train/resume.h"

#include <filesystem>

#include "isochron/base/clock.h"
#include "isochron/base/demangled.h"
#include "isochron/base/log.h"
#include "isochron/base/seconds_text.h"
#include "isochron/base/threads.h"
#include "isochron/timeline/timeline.h"

namespace isochron {

void Resume::find() {
  begin_ns_ = monotonic_ns();
  ScopedSpan span(Phase::checkpoint, "read checkpoint");
  for (const auto& callback : options_.callbacks)
    if (const std::string folder = callback->resume_from(); !folder.empty() && look_in(folder, false)) return;
  if (!options_.resume.empty()) look_in(options_.resume, true);
}

bool Resume::look_in(const std::string& path, bool must) {
  std::vector<std::string> rejected;
  found_ = read_newest_checkpoint(path, &rejected);
  for (const std::string& why : rejected) log_line(LogLevel::warning, "resume", "passed over " + why);
  if (found_) {
    info_ = found_->info;
    if (!rejected.empty()) log_line(LogLevel::warning, "resume", "the newest valid checkpoint is " + info_.path);
    spent_ns_ = monotonic_ns() - begin_ns_;
    return true;
  }
  std::error_code failed;
  if (must && std::filesystem::is_regular_file(path, failed))
    fail<FileError>("resume", "{} is a file, and a checkpoint is a folder; load_weights() and load_model() read files",
                    path);
  if (must && !std::filesystem::exists(path, failed))
    fail<FileError>("resume",
                    "{}: there is no such folder; to begin anew where there is nothing to go on from, use "
                    "BackupAndRestore, or leave .resume empty",
                    path);
  if (must)
    fail<FileError>("resume", "{}: there is no valid checkpoint{}", path,
                    rejected.empty() ? "" : "; " + rejected.front());
  return false;
}

Checkpoint Resume::take() {
  begin_ns_ = monotonic_ns();
  Checkpoint out = std::move(*found_);
  found_.reset();
  return out;
}

std::string Resume::sentence(int epochs, int64_t step, std::optional<int64_t> steps, bool stopped) const {
  if (step > 0 && info_.epoch >= epochs)
    return fmt::format("resumed from {}: it is in epoch {}, beyond the {} asked for; nothing is left to train",
                       info_.path, info_.epoch + 1, epochs);
  if (stopped || info_.epoch >= epochs)
    return fmt::format("resumed from {}: training had ended after epoch {}", info_.path, info_.epoch);
  const double seconds = static_cast<double>(spent_ns_ + monotonic_ns() - begin_ns_) * 1e-9;
  const std::string place = steps && step >= *steps ? "after its last step" : fmt::format("step {}", step + 1);
  std::string text =
      fmt::format("resumed from {}: epoch {}, {}, {}", info_.path, info_.epoch + 1, place, seconds_text(seconds));
  if (info_.threads != get_num_threads())
    text += fmt::format(" (saved with {} threads, now {}: the same training, to rounding)", info_.threads,
                        get_num_threads());
  return text;
}

namespace {

template <class F>
void each_by_class(const std::vector<std::shared_ptr<Callback>>& callbacks, F&& f) {
  std::map<std::string, int> seen;
  for (const auto& callback : callbacks) {
    const Callback& object = *callback;
    const std::string kind = demangled(typeid(object).name());
    f(*callback, fmt::format("callbacks/{}.{}", kind, seen[kind]++));
  }
}

}  // namespace

void put_callback_states(StateDict& state, const std::vector<std::shared_ptr<Callback>>& callbacks) {
  each_by_class(callbacks, [&](const Callback& callback, const std::string& name) {
    StateDict own;
    callback.save_state(own);
    state.put_all(name, own);
  });
}

void restore_callback_states(const StateDict& state, const std::vector<std::shared_ptr<Callback>>& callbacks) {
  each_by_class(callbacks, [&](Callback& callback, const std::string& name) {
    if (const StateDict own = state.part(name); !own.empty()) callback.load_state(own);
  });
}

}  // namespace isochron
