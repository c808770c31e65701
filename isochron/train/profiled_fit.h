// A profile that runs while fit() does, also when fit() ends by an error.
#pragma once

#include "isochron/base/clock.h"
#include "isochron/profiler/profile.h"
#include "isochron/timeline/run_record.h"

namespace isochron {

class ProfiledFit {
 public:
  explicit ProfiledFit(profiler::Profile* profile) : profile_(profile) {
    if (profile_) profile_->start();
  }
  ~ProfiledFit() {
    try {
      finish();
    } catch (...) {  // of the user's on_trace_ready, while another error is on its way
    }
  }
  ProfiledFit(const ProfiledFit&) = delete;
  ProfiledFit& operator=(const ProfiledFit&) = delete;

  void finish() {
    if (profile_) profile_->stop();
  }
  void add_to(RunRecord& run) const {
    if (!profile_) return;
    const auto since_zero = static_cast<int64_t>(run.seconds * 1e9);
    run.profiles.push_back(profile_->for_record(monotonic_ns() - since_zero));
  }

 private:
  profiler::Profile* profile_;
};

}  // namespace isochron
