// What goes on while no step ends: looked at again and again, then told.
#pragma once

#include <map>
#include <optional>
#include <string>

#include "isochron/nn/model.h"
#include "isochron/timeline/timeline.h"

namespace isochron {

// Where training stands, as far as the one who asks knows it.
struct StallPlace {
  int epoch = 0, epochs = 0;
  int64_t epoch_step = 0;   // of it done
  int64_t epoch_steps = 0;  // of it in all; 0: unknown
  int64_t steps = 0;        // seen so far
  double usual_step = 0;    // seconds; of no meaning before the first step
};

class Stall {
 public:
  Stall(int training_thread, const Timeline& timeline, int64_t since_ns);

  void look(int64_t now);
  // Enough looks to tell what moves from what does not.
  bool known() const { return looks_ >= 3; }
  std::string report(int64_t now, const StallPlace& place, OnStall action);

 private:
  std::string pace_text(int64_t now, const std::string& stage, const StallPlace& place) const;

  const int tid_;
  const Timeline& timeline_;
  const int64_t since_ns_;
  int looks_ = 0;
  int64_t begin_ns_ = 0;
  int64_t alive_ns_ = 0;  // when something was last seen to move; 0: never
  int64_t span_since_ns_ = 0;
  // By thread: the element of a pipeline's stage it is at, and the CPU time it had used, and waited for, when it came
  // to it.
  struct At {
    std::string stage;
    int64_t element = -1;
    int64_t since_ns = 0;
    double cpu_seconds = 0;
    int64_t delay_ns = 0;
  };
  std::map<int, At> threads_;
  struct Pace {
    int64_t first = 0, last = 0, from_ns = 0;
  };
  std::map<std::string, Pace> stages_;  // the furthest element at the first look, and now
};

// "some avg10" of /proc/pressure/…, in percent; -1 where the kernel does not tell.
double pressure_percent(const char* resource);

}  // namespace isochron
