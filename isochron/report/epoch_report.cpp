#include "isochron/report/epoch_report.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <span>

#include "isochron/base/seconds_text.h"
#include "isochron/base/try_print.h"

namespace isochron {
namespace {

constexpr size_t kShowAll = 12, kShowFirst = 5, kShowLast = 3;
// Below this share of a typical epoch a phase's extra time is noise and not a reason.
constexpr double kWorthNaming = 0.002;
// A callback that takes this much of every epoch is heavy.
constexpr double kHeavyCallback = 0.1;

struct Quantiles {
  double low = 0, median = 0, high = 0;
};

template <class Value>
Quantiles quantiles(std::span<const Epoch> epochs, Value value) {
  if (epochs.empty()) return {};
  std::vector<double> all;
  for (const Epoch& epoch : epochs) all.push_back(value(epoch));
  std::sort(all.begin(), all.end());
  const size_t middle = all.size() / 2;
  return {all.front(), all.size() % 2 ? all[middle] : (all[middle - 1] + all[middle]) / 2, all.back()};
}

// `pick` chooses one of the quantiles, for the total and each phase by itself.
Epoch summary_of(std::span<const Epoch> epochs, double Quantiles::*pick) {
  Epoch summary;
  summary.seconds = quantiles(epochs, [](const Epoch& e) { return e.seconds; }).*pick;
  for (int p = 0; p < kPhaseCount; ++p)
    summary.phases[p] = quantiles(epochs, [p](const Epoch& e) { return e.phases[p]; }).*pick;
  return summary;
}

struct PhaseDifference {
  Phase phase;
  double seconds;
};

// What `one` spent more than `other` on, most first; negative where it spent less.
std::vector<PhaseDifference> differences(const Epoch& one, const Epoch& other) {
  std::vector<PhaseDifference> all;
  for (int p = 0; p < kPhaseCount; ++p)
    if (const double extra = one.phases[p] - other.phases[p]; extra != 0) all.push_back({static_cast<Phase>(p), extra});
  std::sort(all.begin(), all.end(), [](const auto& a, const auto& b) { return a.seconds > b.seconds; });
  return all;
}

bool phases_known(const Epoch& epoch) {
  return std::any_of(epoch.phases.begin(), epoch.phases.end(), [](double seconds) { return seconds != 0; });
}

std::string_view said(Phase phase) {
  return phase == Phase::sync ? "threads waiting for each other (sync)" : name_of(phase);
}

std::string with_sign(double seconds) { return fmt::format("{}{}", seconds < 0 ? "" : "+", seconds_text(seconds)); }

// "+0.42 ms compile, +0.21 ms allocate": the phases that make up most of what `slow` took longer than `fast`.
std::string reasons(const Epoch& slow, const Epoch& fast) {
  const double extra = slow.seconds - fast.seconds;
  std::string text;
  double named = 0;
  for (const auto& [phase, seconds] : differences(slow, fast)) {
    if (seconds < kWorthNaming * fast.seconds || seconds < 0.02 * extra) break;
    text += fmt::format("{}{} {}", text.empty() ? "" : ", ", with_sign(seconds), said(phase));
    if ((named += seconds) > 0.95 * extra) break;
  }
  if (!text.empty()) return text;
  return phases_known(slow) ? "no single phase stands out" : "the record does not say why";
}

class Table {
 public:
  Table(std::span<const Epoch> epochs, double typical, const EpochFiles& files)
      : unit_(unit_for(typical)), files_(files) {
    double largest = 0;
    for (const Epoch& epoch : epochs) largest = std::max(largest, epoch.seconds * unit_.per_second);
    decimals_ = largest < 100 ? 2 : largest < 1000 ? 1 : 0;
    number_width_ = fmt::formatted_size("{:.{}f}", largest, decimals_);
    for (int p = 0; p < kPhaseCount; ++p)
      if (std::any_of(epochs.begin(), epochs.end(), [p](const Epoch& e) { return e.phases[p] != 0; }))
        columns_.push_back(static_cast<Phase>(p));
    text_ = fmt::format("Epochs by phase, {}\n{:>8}  {:>{}}", unit_.name, "epoch", "total", width("total"));
    for (Phase phase : columns_) text_ += fmt::format("  {:>{}}", name_of(phase), width(name_of(phase)));
    if (!files_.written.empty()) text_ += files_columns("written", "files");
    text_ += '\n';
  }

  // Number `at` of the epochs, or a summary of some.
  void row(std::string_view label, const Epoch& epoch, std::optional<size_t> at = std::nullopt) {
    text_ += fmt::format("{:>8}  {:>{}}", label, number(epoch.seconds), width("total"));
    for (Phase phase : columns_)
      text_ += fmt::format("  {:>{}}", number(epoch.phases[static_cast<size_t>(phase)]), width(name_of(phase)));
    if (at && !files_.written.empty()) text_ += files_columns(files_.written[*at], files_.kept[*at]);
    text_ += '\n';
  }
  void gap() { text_ += fmt::format("{:>8}\n", "…"); }
  const std::string& text() const { return text_; }

 private:
  static std::string files_columns(std::string_view written, std::string_view kept) {
    return fmt::format("  {:>7}  {:>5}", written, kept);
  }
  size_t width(std::string_view title) const { return std::max(title.size(), number_width_); }
  std::string number(double seconds) const {
    return seconds == 0 ? "-" : fmt::format("{:.{}f}", seconds * unit_.per_second, decimals_);
  }

  TimeUnit unit_;
  const EpochFiles& files_;
  int decimals_;
  size_t number_width_;
  std::vector<Phase> columns_;
  std::string text_;
};

}  // namespace

EpochReport::EpochReport(const RunRecord& run)
    : epochs_(run.epochs), open_epoch_(run.open_epoch), outside_(run.outside_phases) {
  if (epochs_.size() > 1) typical_ = summary_of(std::span(epochs_).subspan(1), &Quantiles::median);
  for (const Fact& fact : run.facts) {
    if (fact.key == "checkpoint.summary") checkpoints_ = fact.value;
    if (fact.key == "slowdown") slowdown_ = fact.value;
    if (fact.key != "input.verdict") continue;
    if (!input_.empty() && fact.value.starts_with(input_.back())) input_.pop_back();  // it goes on with that sentence
    input_.push_back(fact.value);
  }
  files_ = epoch_files(run);
  if (epochs_.empty()) return;
  const std::span<const Epoch> usual = std::span(epochs_).subspan(epochs_.size() > 1 ? 1 : 0);
  double whole = 0;
  for (const Epoch& epoch : usual) whole += epoch.seconds;
  for (const auto& [name, seconds] : epochs_.front().callbacks) {
    const auto time_in = [&name = name](const Epoch& e) {
      const auto found = e.callbacks.find(name);
      return found == e.callbacks.end() ? 0 : found->second;
    };
    // Not the median: saving every fifth epoch is a cost of all of them.
    double all = 0;
    for (const Epoch& epoch : usual) all += time_in(epoch);
    callbacks_.push_back({name, all / static_cast<double>(usual.size()), whole > 0 ? all / whole : 0});
  }
  std::stable_sort(callbacks_.begin(), callbacks_.end(),
                   [](const CallbackTime& a, const CallbackTime& b) { return a.seconds > b.seconds; });
}

std::string EpochReport::sentence() const {
  std::string text = first_epoch_sentence();
  for (const CallbackTime& callback : callbacks_)
    if (callback.share >= kHeavyCallback)
      text += fmt::format(" Callback {} takes {} of an epoch, {:.0f} % of it.", callback.name,
                          seconds_text(callback.seconds), 100 * callback.share);
  return text;
}

std::string EpochReport::first_epoch_sentence() const {
  if (epochs_.empty()) return "No epoch was completed.";
  const Epoch& first = epochs_.front();
  if (epochs_.size() == 1) return fmt::format("There is only epoch {}, so nothing to compare it with.", first.index);
  const std::span<const Epoch> later = std::span(epochs_).subspan(1);
  const Quantiles spread = quantiles(later, [](const Epoch& e) { return e.seconds; });
  const double extra = first.seconds - spread.median;
  if (spread.median <= 0) return "The later epochs took no measurable time.";
  std::string text =
      fmt::format("Epoch {} took {:.2f}x the median of the others", first.index, first.seconds / spread.median);

  const auto steps = quantiles(later, [](const Epoch& e) { return static_cast<double>(e.steps.value_or(0)); });
  if (first.steps && steps.median > 0 && std::fabs(static_cast<double>(*first.steps) / steps.median - 1) > 0.01)
    text += fmt::format(" and did {} steps where they did {:.0f}", *first.steps, steps.median);

  // Logs round, and no two epochs are alike: only what exceeds both is a difference.
  const double noise = std::max({0.01 * spread.median, first.resolution, later.front().resolution});
  if (std::fabs(extra) <= noise) return text + ": no difference worth explaining.";
  if (extra < 0) {
    const std::string why = reasons(typical_, first);
    return fmt::format("{}: the later ones are slower, so nothing at the start is to blame; {}{}.", text,
                       why.starts_with('+') ? "theirs is " : "", why);
  }
  if (first.seconds <= spread.high && !phases_known(first)) return text + ", which is within the spread of the others.";
  return text + ": " + reasons(first, typical_) + ".";
}

std::string EpochReport::to_string() const {
  std::string open;
  if (open_epoch_) {
    open = fmt::format("Epoch {} did not end", open_epoch_->index);
    if (open_epoch_->step && open_epoch_->steps)
      open += fmt::format("; {} of {} steps were done", *open_epoch_->step, *open_epoch_->steps);
    else if (open_epoch_->step)
      open += fmt::format("; {} steps were done", *open_epoch_->step);
    open += ".\n";
  }
  if (epochs_.empty()) return open + sentence() + "\n";
  const std::span<const Epoch> all(epochs_), later = all.subspan(1);
  Table table(all, quantiles(all, [](const Epoch& e) { return e.seconds; }).median, files_);
  const auto rows = [&](size_t from, size_t count) {
    for (size_t i = from; i < from + count; ++i) table.row(std::to_string(all[i].index), all[i], i);
  };
  if (all.size() <= kShowAll) {
    rows(0, all.size());
  } else {
    rows(0, kShowFirst);
    table.gap();
    rows(all.size() - kShowLast, kShowLast);
    table.row("min", summary_of(later, &Quantiles::low));
    table.row("median", typical_);
    table.row("max", summary_of(later, &Quantiles::high));
  }
  std::string text = table.text() + open;
  std::string outside;
  for (int p = 0; p < kPhaseCount; ++p)
    if (outside_[p] != 0)
      outside += fmt::format("{}{} {}", outside.empty() ? "" : ", ", name_of(static_cast<Phase>(p)),
                             seconds_text(outside_[p]));
  if (!outside.empty()) text += "Outside the epochs: " + outside + "\n";
  if (!later.empty() && phases_known(all.front())) {
    const double total = all.front().seconds - typical_.seconds;
    text += fmt::format("Epoch {} against the median of the others: {}", all.front().index, with_sign(total));
    for (const auto& [phase, seconds] : differences(all.front(), typical_))
      if (std::fabs(seconds) >= kWorthNaming * typical_.seconds)
        text += fmt::format("\n  {:<10} {:>11}", name_of(phase), with_sign(seconds));
    text += '\n';
  }
  std::string callbacks;
  for (const CallbackTime& callback : callbacks_)
    callbacks += fmt::format("{}{} {} ({:.1f} %)", callbacks.empty() ? "" : ", ", callback.name,
                             seconds_text(callback.seconds), 100 * callback.share);
  if (!callbacks.empty()) text += "Callbacks, an epoch: " + callbacks + "\n";
  text += sentence() + "\n";
  for (const std::string& verdict : input_) text += "Input: " + verdict + ".\n";
  if (!checkpoints_.empty()) text += "Checkpoints: " + checkpoints_ + ".\n";
  if (!files_.text.empty()) text += "Written: " + files_.text + ".\n";
  if (!slowdown_.empty()) text += "Slower: " + slowdown_ + (slowdown_.ends_with('.') ? "\n" : ".\n");
  return text;
}

void EpochReport::print() const { try_print(stdout, "{}", to_string()); }

}  // namespace isochron
