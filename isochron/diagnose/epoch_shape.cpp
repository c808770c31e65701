#include "isochron/diagnose/epoch_shape.h"

#include <algorithm>
#include <cmath>
#include <numeric>

#include "isochron/base/median.h"

namespace isochron {
namespace {

// Shared machines make healthy epochs differ by a quarter; what users complain about is well above.
constexpr double kSlowFirst = 1.4;  // first epoch against the later ones
constexpr double kSlowFirstSeconds = 0.2;
constexpr double kUnevenSeconds = 0.2;  // by less than that any scheduler makes single epochs longer
constexpr double kNoticed = 0.5;        // seconds that stand out even if they are less than kLasting
constexpr double kUnevenShare = 0.05;   // of all time; what single epochs lost must matter
constexpr double kSpread = 1.35;        // slowest against fastest later epoch, below which they are even
constexpr double kSlowEpoch = 1.3;      // an epoch that stands out against the usual ones
constexpr double kLasting = 1.6;        // or a change by so much, where it is shorter than kUnevenSeconds
constexpr double kTrendFit = 0.7;       // how well a trend or a step must explain the times
constexpr double kJump = 0.4;           // a step's own part of the whole range, at least

double mean(const double* first, const double* last) {
  return std::accumulate(first, last, 0.0) / static_cast<double>(last - first);
}

double squares(const double* first, const double* last) {
  const double m = mean(first, last);
  double sum = 0;
  for (const double* x = first; x < last; ++x) sum += (*x - m) * (*x - m);
  return sum;
}

struct Fit {
  double explained = 0;  // share of the variance
  size_t split = 0;
  double slope = 0;
};

Fit fit_line(const std::vector<double>& y) {
  const auto n = static_cast<double>(y.size());
  const double mean_x = (n - 1) / 2, mean_y = mean(y.data(), y.data() + y.size());
  double xy = 0, xx = 0;
  for (size_t i = 0; i < y.size(); ++i) {
    xy += (static_cast<double>(i) - mean_x) * (y[i] - mean_y);
    xx += (static_cast<double>(i) - mean_x) * (static_cast<double>(i) - mean_x);
  }
  const double total = squares(y.data(), y.data() + y.size());
  return {total > 0 ? xy * xy / xx / total : 0, 0, xx > 0 ? xy / xx : 0};
}

Fit fit_step(const std::vector<double>& y) {
  const double* data = y.data();
  const double total = squares(data, data + y.size());
  Fit best;
  for (size_t split = 1; split < y.size(); ++split) {
    if (mean(data, data + split) >= mean(data + split, data + y.size())) continue;
    const double left = squares(data, data + split) + squares(data + split, data + y.size());
    if (total > 0 && 1 - left / total > best.explained) best = {1 - left / total, split, 1};
  }
  return best;
}

std::vector<double> logarithms(const std::vector<double>& values) {
  std::vector<double> out;
  for (const double v : values) out.push_back(std::log(std::max(v, 1e-9)));
  return out;
}

// The median of the faster half: what an epoch costs when nothing is in the way.
double usual_of(std::vector<double> values) {
  std::sort(values.begin(), values.end());
  values.resize((values.size() + 1) / 2);
  return median_of(values);
}

}  // namespace

EpochShape shape_of(const std::vector<double>& seconds, const std::vector<double>& resolution) {
  EpochShape shape;
  const size_t n = seconds.size();
  shape.extra.assign(n, 0);
  if (n == 0) return shape;
  const double blur = resolution.empty() ? 0 : median_of(resolution);
  std::vector<double> later(seconds.begin() + 1, seconds.end());
  if (later.empty()) {
    shape.usual = seconds[0];
    return shape;
  }
  const double later_usual = usual_of(later);
  // Against the next epochs rather than all: a later slow-down must not hide a slow start.
  const double next =
      median_of({later.begin(), later.begin() + static_cast<std::ptrdiff_t>(std::min<size_t>(later.size(), 3))});
  const double start_base = std::min(next, std::max(later_usual, seconds[1] * 0.5));
  shape.first_overhead = seconds[0] - start_base;
  shape.first_is_slow = seconds[0] > kSlowFirst * start_base && shape.first_overhead > kSlowFirstSeconds + 2 * blur;

  // The first epoch takes part in the rest of the story unless it is slow for reasons of its own.
  const size_t begin = shape.first_is_slow ? 1 : 0;
  const std::vector<double> rest(seconds.begin() + static_cast<std::ptrdiff_t>(begin), seconds.end());
  const auto [fastest, slowest] = std::minmax_element(rest.begin(), rest.end());
  const bool uneven = rest.size() >= 2 && *slowest > kSpread * *fastest && *slowest - *fastest > 4 * blur + 0.02;
  Symptom later_symptom = Symptom::healthy;
  std::vector<double> later_extra(n, 0);
  double base = median_of(rest);
  size_t change = 0;
  if (uneven) {
    const Fit line = fit_line(rest), curve = fit_line(logarithms(rest));
    const Fit step = fit_step(rest), jump = fit_step(logarithms(rest));
    const double trend = std::max(line.slope > 0 ? line.explained : 0, curve.slope > 0 ? curve.explained : 0);
    const double stepped = std::max(step.explained, jump.explained);
    const size_t split = step.explained >= jump.explained ? step.split : jump.split;
    const double before = split > 0 ? median_of({rest.begin(), rest.begin() + static_cast<std::ptrdiff_t>(split)}) : 0;
    const double after = split > 0 ? median_of({rest.begin() + static_cast<std::ptrdiff_t>(split), rest.end()}) : 0;
    const bool matters = after - before > kUnevenSeconds || after > kLasting * before;
    if (std::max(trend, stepped) >= kTrendFit && after > kSlowEpoch * before && matters) {
      // Of a jump one rise is most; many small ones are a trend even if the machine's noise bends its end.
      double largest_rise = 0;
      for (size_t i = 1; i < rest.size(); ++i) largest_rise = std::max(largest_rise, rest[i] - rest[i - 1]);
      const bool many_rises = largest_rise < kJump * (*slowest - *fastest);
      const bool gradual = (trend > stepped || many_rises) && rest.size() >= 3;
      later_symptom = gradual ? Symptom::slowing : Symptom::slower_later;
      base = gradual ? *std::min_element(rest.begin(),
                                         rest.begin() + static_cast<std::ptrdiff_t>(std::min<size_t>(rest.size(), 2)))
                     : before;
      change = begin + split;
    } else if (rest.size() >= 3) {
      base = usual_of(rest);
      const double more = *slowest - base;
      const bool stands_out = *slowest > kLasting * base || more > kNoticed;
      if (*slowest > 1.4 * base && more > kUnevenSeconds && stands_out) later_symptom = Symptom::uneven;
    }
    if (later_symptom != Symptom::healthy)
      for (size_t i = begin; i < n; ++i)
        if (seconds[i] > (later_symptom == Symptom::slowing ? 1.02 : kSlowEpoch) * base)
          later_extra[i] = seconds[i] - base;
  }
  if (later_symptom == Symptom::uneven) {  // beside epochs that stand out, small unevenness is noise
    const double most = *std::max_element(later_extra.begin(), later_extra.end());
    for (double& extra : later_extra)
      if (extra < 0.2 * most) extra = 0;
    if (std::accumulate(later_extra.begin(), later_extra.end(), 0.0) <
        kUnevenShare * std::accumulate(rest.begin(), rest.end(), 0.0)) {
      later_symptom = Symptom::healthy;
      later_extra.assign(n, 0);
    }
  }
  const double later_total = std::accumulate(later_extra.begin(), later_extra.end(), 0.0);
  if (shape.first_is_slow && shape.first_overhead >= later_total) {
    shape.symptom = Symptom::slow_first;
    shape.usual = start_base;
    shape.extra[0] = shape.first_overhead;
    shape.ratio = seconds[0] / std::max(start_base, 1e-9);
  } else {
    shape.symptom = later_symptom;
    shape.usual = base;
    shape.extra = later_extra;
    shape.change = change;
    double slow = 0;
    int count = 0;
    for (size_t i = 0; i < n; ++i)
      if (later_extra[i] > 0) {
        slow += seconds[i];
        ++count;
      }
    if (count > 0) shape.ratio = slow / count / std::max(base, 1e-9);
  }
  shape.extra_total = std::accumulate(shape.extra.begin(), shape.extra.end(), 0.0);
  return shape;
}

}  // namespace isochron
