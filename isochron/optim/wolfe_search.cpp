#include "isochron/optim/wolfe_search.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <utility>

namespace isochron::optim {
namespace {

constexpr double kDecrease = 1e-4, kCurvature = 0.9;

// Where the cubic through two points with their slopes is least, within bounds; their middle where it has no minimum.
double cubic_minimum(const LinePoint& a, const LinePoint& b, double low, double high) {
  const LinePoint &left = a.t <= b.t ? a : b, &right = a.t <= b.t ? b : a;
  const double bend = left.slope + right.slope - 3 * (left.loss - right.loss) / (left.t - right.t);
  const double discriminant = bend * bend - left.slope * right.slope;
  if (!(discriminant >= 0)) return (low + high) / 2;
  const double root = std::sqrt(discriminant);
  const double least =
      right.t - (right.t - left.t) * ((right.slope + root - bend) / (right.slope - left.slope + 2 * root));
  return std::isnan(least) ? (low + high) / 2 : std::min(std::max(least, low), high);
}

}  // namespace

WolfeResult wolfe_search(const std::function<LinePoint(double t)>& evaluate, const LinePoint& start,
                         const WolfeSearch& options) {
  WolfeResult result;
  const auto at = [&](double t) {
    ++result.evaluations;
    LinePoint point = evaluate(t);
    if (std::isnan(point.loss)) point.loss = std::numeric_limits<double>::infinity();
    return point;
  };
  const auto too_high = [&](const LinePoint& p) { return p.loss > start.loss + kDecrease * p.t * start.slope; };
  const auto flat_enough = [&](const LinePoint& p) { return std::abs(p.slope) <= -kCurvature * start.slope; };

  // Go on until an interval holds such a point.
  LinePoint before = start, now = at(options.first_t);
  int64_t iteration = 0;
  LinePoint low, high;
  bool done = false, bracketed = false;
  for (; iteration < options.most_iterations; ++iteration) {
    if (too_high(now) || (iteration > 1 && now.loss >= before.loss) || (!flat_enough(now) && now.slope >= 0)) {
      bracketed = true;
      low = before, high = now;
      break;
    }
    if (flat_enough(now)) return result.point = now, result;
    const double next = cubic_minimum(before, now, now.t + 0.01 * (now.t - before.t), now.t * 10);
    before = std::exchange(now, at(next));
  }
  if (!bracketed) low = start, high = now;
  if (low.loss > high.loss) std::swap(low, high);

  // Narrow it.
  bool slow = false;
  while (!done && iteration < options.most_iterations) {
    const double left = std::min(low.t, high.t), right = std::max(low.t, high.t);
    if ((right - left) * options.direction_size < options.tolerance_change) break;
    double t = cubic_minimum(low, high, left, right);
    // Twice in a row near an end, or at it, is no progress: a tenth of the interval off that end is tried instead.
    const double margin = 0.1 * (right - left);
    const bool at_an_end = std::min(right - t, t - left) < margin;
    if (at_an_end && (slow || t >= right || t <= left)) {
      t = std::abs(t - right) < std::abs(t - left) ? right - margin : left + margin;
      slow = false;
    } else {
      slow = at_an_end;
    }
    LinePoint tried = at(t);
    ++iteration;
    if (too_high(tried) || tried.loss >= low.loss) {
      high = std::move(tried);
      if (low.loss > high.loss) std::swap(low, high);
      continue;
    }
    if (flat_enough(tried))
      done = true;
    else if (tried.slope * (high.t - low.t) >= 0)
      high = low;
    low = std::move(tried);
  }
  result.point = std::move(low);
  return result;
}

}  // namespace isochron::optim
