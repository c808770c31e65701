// Questions to profiles: what a step was spent on, what grew, what differs between an early and a late window.
#pragma once

#include <functional>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "isochron/timeline/run_record.h"

namespace isochron {

// Seconds of one phase, in one step or in all from `first_step` on.
double phase_seconds(const Profile& profile, size_t step, Phase phase);
double phase_total(const Profile& profile, Phase phase, size_t first_step = 0);
double steps_total(const Profile& profile, size_t first_step = 0);
// What the first step spent on a phase beyond what the others usually do.
double first_step_excess(const Profile& profile, Phase phase);
// The first step is not like the others: at least three times as long as their median.
bool starts_cold(const Profile& profile);

// What traced steps spend on a phase, without a first one that may be special.
struct TracedShare {
  double share = 0, per_step = 0;    // of their time, and seconds
  const Profile* profile = nullptr;  // the one it is most of; null: none
};
TracedShare largest_share(const RunRecord& run, Phase phase);
// Most of each step, and milliseconds of it, in no operation at all.
TracedShare outside_of_operations(const RunRecord& run);
// The steps are those of Keras' own loop, in which only callbacks run beside the training function.
bool keras_runs_steps(const Profile& profile);
// So few different operations that a framework traces them in a moment.
bool runs_small_graph(const Profile& profile);

// Steps that wait for their batch far longer than the others, by loader processes: the first of each iterator, whether
// the trace begins with an epoch or goes on into the next one.
struct LateBatches {
  std::set<size_t> steps;
  double seconds = 0;  // each, beyond what others wait
  double usual = 0;    // what others wait
};
std::optional<LateBatches> late_batches(const Profile& profile);

double op_seconds(const ProfileOp& op);
int64_t op_count(const ProfileOp& op);
double op_elements(const ProfileOp& op);
const ProfileOp* find_op(const Profile& profile, std::string_view name);
std::vector<const ProfileOp*> ops_where(const Profile& profile, const std::function<bool(const ProfileOp&)>& wanted);
// The operations with the most time, largest first.
std::vector<const ProfileOp*> largest_ops(const Profile& profile, size_t most);

// Grows from step to step (at most one step in five does not), and by how much from first to last.
struct Growth {
  bool steady = false;
  double first = 0;
  double last = 0;
  bool even = false;  // by about as much from each step to the next
};
Growth growth_of(const std::vector<double>& values);

// The earliest and the latest profile if there are several that tell of different times of one run.
struct EarlyAndLate {
  const Profile* early = nullptr;
  const Profile* late = nullptr;
};
std::optional<EarlyAndLate> early_and_late(const RunRecord& run);

}  // namespace isochron
