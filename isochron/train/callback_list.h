// The callbacks of one fit, called in order, and what each of them costs in every epoch.
#pragma once

#include <algorithm>
#include <memory>
#include <string>
#include <vector>

#include "isochron/timeline/timeline.h"
#include "isochron/train/callback.h"

namespace isochron {

class CallbackList {
 public:
  explicit CallbackList(const std::vector<std::shared_ptr<Callback>>& callbacks);

  bool empty() const { return callbacks_.empty(); }
  bool needs_batch_logs() const { return needs_batch_logs_; }

  // f(callback) for each, on its own account: no time is taken where no timeline is current.
  template <class F>
  void each(F&& f) {
    for (size_t i = 0; i < callbacks_.size(); ++i) {
      ScopedSpan span(Phase::callback, names_[i]);
      f(*callbacks_[i]);
      epoch_ns_[i] += span.end();
    }
  }

  void begin_epoch() { std::fill(epoch_ns_.begin(), epoch_ns_.end(), 0); }
  void end_epoch() { past_ns_.insert(past_ns_.end(), epoch_ns_.begin(), epoch_ns_.end()); }
  // Epoch `at` of those that ended, counted from 0.
  void add_times(size_t at, Epoch& epoch) const;

 private:
  std::vector<std::shared_ptr<Callback>> callbacks_;
  std::vector<const char*> names_;  // kept for good: timelines and profiles hold on to them
  std::vector<int64_t> epoch_ns_;   // so far in this epoch
  std::vector<int64_t> past_ns_;    // by epoch and callback
  bool needs_batch_logs_ = false;
};

}  // namespace isochron
