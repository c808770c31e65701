// What threads of running pipelines are doing at this moment, for whoever watches over a run.
//
//   for (const Activity& activity : pipeline_activity())
//     if (activity.seconds > 30) fmt::print("{}\n", activity.to_string());
//   // map(decode) has been at element 812 for 34.0 s in thread 4711
//
// Contract: may be called from any thread at any time. It never waits for user code, and pipelines do not notice: they
// note the stage and element they are at with two plain stores, read here. Times of calls that usually take less than a
// microsecond count from when they were first seen here.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace isochron::data {

struct Activity {
  std::string stage;      // whose code runs, or whose threads are waited for
  int64_t element = -1;   // its number in the pass, at that stage
  double seconds = 0;     // since when
  int thread_id = 0;      // the kernel's, as in /proc/self/task
  bool consumer = false;  // in the thread that asks for elements (training), not in one that runs ahead
  bool waiting = false;   // the consumer waits for threads that run ahead, whose own entries tell why
  std::string to_string() const;
};

// Every thread of every pipeline of this process that is inside a stage, the longest first. Threads between elements
// are not in it.
std::vector<Activity> pipeline_activity();

}  // namespace isochron::data
