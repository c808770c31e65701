#include "isochron/train/rehearsal.h"

#include <algorithm>

#include "isochron/base/median.h"

namespace isochron {
namespace {

constexpr double kMostApart = 1.8;
// Shorter than a speed lasts, longer than a thread waits for its turn.
constexpr int64_t kBlockNs = 10'000'000;
constexpr int64_t kLeastSteps = 3;
constexpr int64_t kLeastNs = 100'000'000, kMostNs = 2'000'000'000, kTimesATraining = 10;
constexpr size_t kLeastTrainings = 8, kLeastEpochs = 20, kMostKept = 1 << 16;

double seconds_of(int64_t ns) { return static_cast<double>(ns) * 1e-9; }

}  // namespace

double middle_of(std::vector<double> seconds) {
  if (seconds.empty()) return 0;
  std::sort(seconds.begin(), seconds.end());
  const size_t tenth = seconds.size() / 10;
  const double quick = seconds[tenth], slow = std::min(seconds[seconds.size() - 1 - tenth], kMostApart * quick);
  return quick + slow > 0 ? 2 * quick * slow / (quick + slow) : 0;
}

Rehearsal::Rehearsal(double steps, int64_t (*clock)())
    : steps_(steps), clock_(clock), begin_(clock()), long_enough_(kMostNs), training_begin_(begin_) {
  for (auto* kept : {&epochs_here_, &epochs_, &rests_}) kept->reserve(kMostKept);
}

bool Rehearsal::over() const { return steps_done_ >= kLeastSteps && clock_() - begin_ >= long_enough_; }

void Rehearsal::epoch_begins() {
  epoch_begin_ = clock_();
  steps_ns_ = 0;
}

void Rehearsal::steps_begin() { last_step_ = clock_(); }

bool Rehearsal::step_done() {
  const int64_t now = clock_(), took = now - std::exchange(last_step_, now);
  steps_ns_ += took;
  if (!std::exchange(warm_, true)) return false;  // the first one touches its memory
  ++steps_done_;
  block_ns_ += took;
  ++block_steps_;
  if (block_ns_ >= kBlockNs) {
    blocks_.push_back(seconds_of(block_ns_) / static_cast<double>(block_steps_));
    block_ns_ = block_steps_ = 0;
  }
  cut_ = steps_done_ >= kLeastSteps && now - begin_ >= long_enough_;
  return cut_;
}

void Rehearsal::epoch_ends() {
  const double took = seconds_of(clock_() - epoch_begin_);
  const auto keep = [&](std::vector<double>& kept, double value) {
    if (kept.size() < kMostKept)
      kept.push_back(value);
    else
      kept[static_cast<size_t>(whole_epochs_) % kMostKept] = value;
  };
  keep(rests_, took - seconds_of(steps_ns_));
  if (std::exchange(first_epoch_, false) || cut_) return;
  keep(epochs_, took);
  if (epochs_here_.size() < kMostKept) epochs_here_.push_back(took);
  ++whole_epochs_;
}

void Rehearsal::training_ends() {
  if (!cut_ && !epochs_here_.empty()) trainings_.push_back(median_of(epochs_here_));
  epochs_here_.clear();
  first_epoch_ = true;
  const int64_t now = clock_(), took = now - std::exchange(training_begin_, now);
  if (!cut_) long_enough_ = std::clamp(kTimesATraining * took, kLeastNs, long_enough_);
}

double Rehearsal::beside_steps() const { return median_of(rests_); }

double Rehearsal::epoch_seconds() const {
  if (steps_ <= 0) return 0;
  // The machine as it was for the last ten: one that ends in a blink meets what there is right now.
  if (trainings_.size() >= kLeastTrainings)
    return middle_of(
        {trainings_.end() - std::min<std::ptrdiff_t>(kTimesATraining, std::ssize(trainings_)), trainings_.end()});
  if (epochs_.size() >= kLeastEpochs) return middle_of(epochs_);
  return middle_of(blocks_) * steps_ + beside_steps();
}

double Rehearsal::step_seconds() const {
  if (steps_ <= 0) return middle_of(blocks_);
  return std::max(0., epoch_seconds() - beside_steps()) / steps_;
}

}  // namespace isochron
