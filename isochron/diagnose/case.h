// A run prepared for the rules: the record, the shape of its epochs, and questions rules ask again and again.
#pragma once

#include <functional>
#include <initializer_list>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "isochron/base/seconds_text.h"
#include "isochron/diagnose/epoch_shape.h"
#include "isochron/diagnose/verdict.h"
#include "isochron/timeline/run_record.h"

namespace isochron {

// What a rule found. `seconds` are seconds of the extra time it explains; a finding about every epoch alike
// (`overall`) counts seconds of the whole run.
struct Finding {
  Cause cause = Cause::unknown;
  double seconds = 0;
  double confidence = 0;
  std::string summary;
  std::vector<std::string> evidence;
  bool overall = false;
  std::optional<Symptom> symptom = std::nullopt;  // a finding that is a symptom by itself: stuck, died
};

// What the epochs of a record are. Where nobody counted epochs, steps take their place.
struct EpochUnit {
  std::string word = "epoch";
  double count = 1;     // so many of them are in one
  bool traced = false;  // steps as a trace shows them: all of a few
};

class Case {
 public:
  explicit Case(const RunRecord& run, EpochUnit unit = {});

  const RunRecord& run;
  const EpochUnit unit;
  EpochShape shape;
  std::vector<double> set_aside;  // seconds of each epoch that are no complaint and no part of the shape; empty: none
  double total = 0;               // seconds of all epochs

  bool tensorflow() const { return run.framework == "keras" || run.framework == "tensorflow"; }
  bool torch() const { return run.framework == "torch" || run.framework == "lightning"; }
  const std::vector<Epoch>& epochs() const { return run.epochs; }
  const Epoch& epoch(size_t position) const { return run.epochs[position]; }
  bool empty() const { return run.epochs.empty(); }

  std::vector<const Fact*> facts(std::string_view key) const;
  std::vector<const Fact*> loads() const;  // of saved state, by runs that go on and by those that only take weights
  std::optional<double> number(std::string_view key) const;  // of a fact whose value is one

  // Seconds of an epoch by phase; nullopt where the record does not attribute them.
  std::optional<double> phase(size_t position, Phase phase) const;
  // The same over the epochs from a position on; what is not attributed counts nothing.
  double phase_total(Phase which, size_t from = 0) const;
  // What the phases explain of the extra time; nullopt where no epoch is attributed.
  std::optional<double> explained_by(std::initializer_list<Phase> phases) const;
  // The spans of a phase that took the most time within slow epochs, as evidence: "torch.save 1.2 s in epoch 4".
  std::vector<std::string> spans_text(std::initializer_list<Phase> phases) const;

  // A value per epoch (nullopt where unknown) summed over the extra of the slow epochs: how much of the extra time
  // it explains if in the other epochs it is what `usual` epochs have. Never more than the extra time.
  double explained(const std::function<std::optional<double>(size_t)>& seconds_of) const;
  // Median of a per-epoch value over the epochs that are not slow.
  std::optional<double> usually(const std::function<std::optional<double>(size_t)>& value_of) const;

  // Growth of a counter of the samples, or the last reading of a gauge minus the first, between two times.
  std::optional<double> growth(const char* key, double from, double to) const;
  std::optional<double> growth(const char* key, size_t epoch) const;
  std::optional<double> average(const char* key, double from, double to) const;
  std::optional<double> average(const char* key, size_t epoch) const;
  std::optional<double> highest(const char* key, double from, double to) const;
  std::optional<double> latest(const char* key, double until) const;
  bool watched() const { return run.samples.size() >= 4; }
  // `isochron watch` has seen it, for however short a time.
  bool under_watch() const { return watched() || run.source == "watch"; }

  // A cost in every epoch alike that is so large that what makes some of them slower hardly matters. Epochs that take
  // two and a half times as long as others matter to everybody.
  bool dwarfs_extra(double seconds) const {
    return shape.ratio < 2.5 && seconds > 0.5 * total && seconds > 2 * shape.extra_total;
  }

  // "epoch 3", or "epochs 3, 6 and 9", by position.
  std::string epochs_text(const std::vector<size_t>& positions) const;
  std::vector<size_t> slow_epochs() const;
  // Of epochs by number the slow ones, if they hold most of the extra time and hardly an epoch without; else none.
  std::vector<size_t> slow_among(const std::vector<int>& indices) const;
  // The same for the epochs of facts. A line printed behind an epoch's end counts for the next one, though the epoch
  // before it may have paid: then all of them are one off.
  std::vector<size_t> slow_with_fact(std::string_view key) const;
  double extra_of(const std::vector<size_t>& positions) const;
};

// "8.2 s", "1.4 min", "2.1 h": as a person would say it.
std::string time_text(double seconds);
std::string percent_text(double share);

// Every rule has this form and a file of its own; rules.cpp lists them.
using Rule = void (*)(const Case& patient, std::vector<Finding>& findings);

}  // namespace isochron
