// What the program was doing when: looks at its stack, laid end to end, in fixed memory.
//
//   log.add(now, 0.1, look.activity);
//   PhaseSeconds epoch_2 = log.phases(epoch.start, epoch.start + epoch.seconds);
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>
#include <vector>

#include "isochron/observe/activity.h"
#include "isochron/timeline/run_record.h"

namespace isochron::observe {

class ActivityLog {
 public:
  // For `seconds` up to `now` the program did this. Times must not go back.
  void add(double now, double seconds, const Activity& activity);

  bool empty() const { return entries_.empty(); }
  PhaseSeconds phases(double from, double to) const;

  // When the program was first seen to train: to compute a step, or to wait for the first one's data; empty: never.
  std::optional<double> training_began() const;

  // Input made between `from` and the first step after it, and what the lines that made most of it named.
  struct Lead {
    double seconds = 0;
    Store store = Store::none;
  };
  Lead lead(double from, double to) const;

  struct Share {
    Activity activity;
    double seconds = 0;
  };
  // What took the time between `from` and `to`, the longest first.
  std::vector<Share> shares(double from, double to) const;
  // How long it did this in all, short moments between other work included.
  double seconds_of(std::string_view what) const;

  // Stretches of one phase and kind of work that took at least `shortest` seconds, as spans; looks that
  // differ for a moment in between are skipped over.
  std::vector<Span> spans(double shortest) const;

 private:
  struct Entry {
    double start = 0;
    float seconds = 0;
    uint32_t activity = 0;
  };
  uint32_t intern(const Activity& activity);
  template <class Visit>
  void between(double from, double to, Visit visit) const;

  std::vector<Activity> activities_;
  std::vector<Entry> entries_;
};

}  // namespace isochron::observe
