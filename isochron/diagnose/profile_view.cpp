#include "isochron/diagnose/profile_view.h"

#include <algorithm>
#include <cmath>
#include <numeric>

#include "isochron/base/median.h"
#include "isochron/diagnose/case.h"

namespace isochron {

double phase_seconds(const Profile& profile, size_t step, Phase phase) {
  return step < profile.step_phases.size() ? profile.step_phases[step][static_cast<size_t>(phase)] : 0;
}

double phase_total(const Profile& profile, Phase phase, size_t first_step) {
  double sum = 0;
  for (size_t i = first_step; i < profile.steps.size(); ++i) sum += phase_seconds(profile, i, phase);
  return sum;
}

double steps_total(const Profile& profile, size_t first_step) {
  double sum = 0;
  for (size_t i = first_step; i < profile.steps.size(); ++i) sum += profile.steps[i].seconds;
  return sum;
}

double first_step_excess(const Profile& profile, Phase phase) {
  if (profile.steps.empty()) return 0;
  std::vector<double> others;
  for (size_t i = 1; i < profile.steps.size(); ++i) others.push_back(phase_seconds(profile, i, phase));
  return std::max(0.0, phase_seconds(profile, 0, phase) - median_of(std::move(others)));
}

bool starts_cold(const Profile& profile) {
  if (profile.steps.size() < 2) return false;
  std::vector<double> others;
  for (size_t i = 1; i < profile.steps.size(); ++i) others.push_back(profile.steps[i].seconds);
  return profile.steps[0].seconds > 3 * median_of(std::move(others));
}

TracedShare largest_share(const RunRecord& run, Phase phase) {
  TracedShare largest;
  for (const Profile& profile : run.profiles) {
    const size_t from = profile.steps.size() > 2 ? 1 : 0;
    const double spent = phase_total(profile, phase, from), all = steps_total(profile, from);
    if (all > 0 && spent > largest.share * all)
      largest = {spent / all, spent / static_cast<double>(profile.steps.size() - from), &profile};
  }
  return largest;
}

TracedShare outside_of_operations(const RunRecord& run) {
  constexpr double kMost = 0.6, kLeast = 5e-3;  // tiny models pass half of a millisecond in Python, and nobody minds
  const TracedShare outside = largest_share(run, Phase::other);
  if (outside.share < kMost || outside.per_step < kLeast) return {};
  double inside = 0;  // on whichever thread: a GPU's backward pass has its own
  for (const ProfileOp& op : outside.profile->ops)
    if (op.phase != Phase::other) inside += op_seconds(op);
  return inside < (1 - kMost) * steps_total(*outside.profile) ? outside : TracedShare{};
}

bool keras_runs_steps(const Profile& profile) {
  return std::any_of(profile.ops.begin(), profile.ops.end(),
                     [](const ProfileOp& op) { return op.name.find("step_on_iterator") != std::string::npos; });
}

bool runs_small_graph(const Profile& profile) {
  constexpr size_t kFew = 300;
  // Of what XLA compiled into one the trace shows little.
  const auto compiled = [](const ProfileOp& op) { return op.name.find("Xla") != std::string::npos; };
  return !profile.ops.empty() && profile.ops.size() < kFew &&
         std::none_of(profile.ops.begin(), profile.ops.end(), compiled);
}

std::optional<LateBatches> late_batches(const Profile& profile) {
  constexpr double kLonger = 3, kMostly = 0.6, kFarLonger = 100;
  constexpr size_t kFewOf = 4;  // at most one in so many, unless it is the only one
  const bool by_processes = std::any_of(profile.ops.begin(), profile.ops.end(), [](const ProfileOp& op) {
    return op.name.find("_MultiProcessing") != std::string::npos;
  });
  if (!by_processes) return std::nullopt;
  std::vector<double> seconds;
  for (const Step& step : profile.steps) seconds.push_back(step.seconds);
  const double usual_step = median_of(seconds);
  LateBatches late;
  double others = 0, others_waited = 0;
  for (size_t i = 0; i < seconds.size(); ++i) {
    const double waited = phase_seconds(profile, i, Phase::input);
    if (seconds[i] > kLonger * usual_step && waited > kMostly * seconds[i]) {
      late.steps.insert(i);
      late.seconds += waited;
    } else {
      others += seconds[i];
      others_waited += waited;
    }
  }
  const size_t count = late.steps.size(), rest = seconds.size() - count;
  if (count == 0 || rest == 0 || (count > 1 && count * kFewOf > seconds.size())) return std::nullopt;
  late.usual = others_waited / static_cast<double>(rest);
  late.seconds = late.seconds / static_cast<double>(count) - late.usual;
  // Where the others wait most of their time, too, the workers are slow, not only late; but a tiny model waits for
  // moments always.
  if (others_waited > kMostly * others && late.seconds < kFarLonger * late.usual) return std::nullopt;
  return late;
}

double op_seconds(const ProfileOp& op) { return std::accumulate(op.seconds.begin(), op.seconds.end(), 0.0); }
int64_t op_count(const ProfileOp& op) { return std::accumulate(op.counts.begin(), op.counts.end(), int64_t{0}); }
double op_elements(const ProfileOp& op) { return std::accumulate(op.elements.begin(), op.elements.end(), 0.0); }

const ProfileOp* find_op(const Profile& profile, std::string_view name) {
  const auto found =
      std::find_if(profile.ops.begin(), profile.ops.end(), [&](const ProfileOp& op) { return op.name == name; });
  return found == profile.ops.end() ? nullptr : &*found;
}

std::vector<const ProfileOp*> ops_where(const Profile& profile, const std::function<bool(const ProfileOp&)>& wanted) {
  std::vector<const ProfileOp*> found;
  for (const ProfileOp& op : profile.ops)
    if (wanted(op)) found.push_back(&op);
  return found;
}

std::vector<const ProfileOp*> largest_ops(const Profile& profile, size_t most) {
  std::vector<const ProfileOp*> all = ops_where(profile, [](const ProfileOp&) { return true; });
  std::sort(all.begin(), all.end(),
            [](const ProfileOp* a, const ProfileOp* b) { return op_seconds(*a) > op_seconds(*b); });
  all.resize(std::min(all.size(), most));
  return all;
}

Growth growth_of(const std::vector<double>& values) {
  if (values.size() < 3) return {};
  constexpr double kEven = 0.2;  // by so much of their mean may steps differ from it
  const double mean = (values.back() - values.front()) / static_cast<double>(values.size() - 1);
  size_t down = 0;
  bool even = mean > 0;
  for (size_t i = 1; i < values.size(); ++i) {
    if (values[i] <= values[i - 1]) ++down;
    even = even && std::abs(values[i] - values[i - 1] - mean) <= kEven * mean;
  }
  return {down * 5 <= values.size() - 1 && values.back() > values.front(), values.front(), values.back(), even};
}

std::optional<EarlyAndLate> early_and_late(const RunRecord& run) {
  const Profile *early = nullptr, *late = nullptr;
  for (const Profile& profile : run.profiles) {
    if (profile.steps.empty()) continue;
    if (!early || profile.start < early->start) early = &profile;
    if (!late || profile.start > late->start) late = &profile;
  }
  if (!early || early == late) return std::nullopt;
  return EarlyAndLate{early, late};
}

}  // namespace isochron
