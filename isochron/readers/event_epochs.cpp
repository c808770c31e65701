// Event files -> epochs and steps, alone or beside a log.
#include <algorithm>
#include <cmath>
#include <optional>
#include <sstream>

#include "isochron/base/median.h"
#include "isochron/readers/tfevents.h"

namespace isochron {
namespace {

using Points = std::vector<ScalarPoint>;

constexpr size_t kMostSteps = 4096;

bool rises(const Points& points) {
  for (size_t i = 1; i < points.size(); ++i)
    if (points[i].step <= points[i - 1].step || points[i].wall < points[i - 1].wall) return false;
  return true;
}

bool is_validation(const std::string& tag) {
  return tag.find("val") != std::string::npos || tag.find("eval") != std::string::npos ||
         tag.find("test") != std::string::npos;
}

// The scalar written most often while training: one point per step, or per so many.
const Points* step_points(const EventSeries& series) {
  const Points* best = nullptr;
  for (const auto& [tag, points] : series.tags) {
    if (points.size() < 8 || !rises(points) || is_validation(tag) || tag.find("epoch_") != std::string::npos) continue;
    if (!best || points.size() > best->size()) best = &points;
  }
  return best;
}

// The scalar written once per epoch: steps that count by one, much rarer than the steps' own.
const Points* epoch_points(const EventSeries& series, const Points* steps, size_t expected) {
  const Points* best = nullptr;
  for (const auto& [tag, points] : series.tags) {
    if (points.size() < 2 || !rises(points) || &points == steps) continue;
    if (points.back().step - points.front().step + 1 != static_cast<int64_t>(points.size())) continue;
    if (expected > 0 ? points.size() != expected : steps && steps->size() < 4 * points.size()) continue;
    if (!steps && expected == 0 && tag.find("epoch") == std::string::npos &&
        (points.back().wall - points.front().wall) / static_cast<double>(points.size()) < 0.5)
      continue;
    // The last one written in an epoch closes it.
    if (!best || points.back().wall > best->back().wall) best = &points;
  }
  return best;
}

// Seconds between two points, most of the time.
double usual_gap(const Points& points) {
  std::vector<double> gaps;
  for (size_t i = 1; i < points.size(); ++i) gaps.push_back(points[i].wall - points[i - 1].wall);
  return median_of(std::move(gaps));
}

// Seconds a step takes, most of the time.
double usual_pace(const Points& points) {
  std::vector<double> paces;
  for (size_t i = 1; i < points.size(); ++i)
    if (const int64_t steps = points[i].step - points[i - 1].step; steps > 0)
      paces.push_back((points[i].wall - points[i - 1].wall) / static_cast<double>(steps));
  return median_of(std::move(paces));
}

// Seconds a step takes where no epoch ends.
double usual_step(const Points& points) {
  std::vector<double> gaps;
  for (size_t i = 1; i < points.size(); ++i)
    if (points[i].value == points[i - 1].value && points[i].step > points[i - 1].step)
      gaps.push_back((points[i].wall - points[i - 1].wall) / static_cast<double>(points[i].step - points[i - 1].step));
  return median_of(std::move(gaps));
}

// Lightning and Hugging Face's Trainer write beside every other scalar which epoch it is, as a number or a fraction. An
// epoch ends where the next one begins its first step, or where the fraction passes a whole number; after the last one
// as much is taken to follow as after the one before.
Points ends_by_counter(const EventSeries& series) {
  for (const auto& [tag, scalars] : series.tags) {
    const Points& points = scalars;  // lambdas can't capture a structured binding
    if (!tag.ends_with("/epoch") && tag != "epoch") continue;
    const auto falls = [](const ScalarPoint& a, const ScalarPoint& b) { return b.value < a.value || b.wall < a.wall; };
    const auto whole = [](const ScalarPoint& p) { return p.value == std::floor(p.value); };
    if (points.size() < 2 || !(points.front().value >= 0) || !(points.back().value < 1e6) ||
        std::adjacent_find(points.begin(), points.end(), falls) != points.end())
      continue;
    // The Trainer's are fractions, even if it only wrote at whole ones.
    const bool numbers = !tag.ends_with("train/epoch") && std::all_of(points.begin(), points.end(), whole);
    const double usual = usual_step(points), pace = usual_pace(points);
    Points ends;
    if (!numbers && points.front().value == 1) ends.push_back({1, points.front().wall});
    double behind = 0;  // between the last point of an epoch and the first step of the next one: validation, callbacks
    for (size_t i = 1; i < points.size(); ++i) {
      const ScalarPoint &before = points[i - 1], &now = points[i];
      if (numbers && now.value > before.value) {
        behind = std::max(0.0, now.wall - before.wall - usual * static_cast<double>(now.step - before.step));
        ends.push_back({static_cast<int64_t>(before.value) + 1, before.wall + behind});
      } else if (!numbers && std::floor(now.value) > std::floor(before.value))
        ends.push_back({static_cast<int64_t>(now.value), before.wall + (std::floor(now.value) - before.value) /
                                                                           (now.value - before.value) *
                                                                           (now.wall - before.wall)});
      else if (!numbers && !ends.empty() && now.value == before.value &&
               now.value == static_cast<double>(ends.back().step))
        ends.back().wall = now.wall;  // an evaluation at an epoch's end is written with the same fraction
      // and what passes then beyond the pace of steps (it saves) is the epoch's as well.
      if (!numbers && !ends.empty() && now.value > before.value &&
          before.value == static_cast<double>(ends.back().step) && whole(before))
        ends.back().wall =
            before.wall + std::max(0.0, now.wall - before.wall - pace * static_cast<double>(now.step - before.step));
    }
    // The last one is told to its end if it has as many points as the one before.
    if (numbers && !ends.empty()) {
      const auto told = [&](double value) {
        return std::count_if(points.begin(), points.end(), [&](const ScalarPoint& p) { return p.value == value; });
      };
      const double last = points.back().value;
      if (told(last) >= told(static_cast<double>(ends.back().step - 1)))
        ends.push_back({static_cast<int64_t>(last) + 1, points.back().wall + behind});
    }
    if (ends.size() >= 2 && rises(ends)) return ends;
  }
  return {};
}

// How a scalar of steps counts them.
struct StepCount {
  int64_t first = 0;   // from 0 or from 1; a resumed run begins in the middle
  int64_t stride = 1;  // one point for so many
  int64_t all = 0;

  explicit StepCount(const Points& points) : stride(points[1].step - points[0].step) {
    const int64_t front = points.front().step;
    first = front == 0 ? 0 : stride == 1 ? front : 1;
    all = points.back().step - first + stride;
  }
};

// Where steps alone are told and how many epochs there were is known, these have as many steps each. What passes
// between the last step of one and the first of the next is taken for the former's: it validates, saves and logs. What
// follows the last step of all nothing tells: as much as after the epoch before.
struct StepBounds {
  Points at;             // the first is the beginning of the first epoch
  double uncertain = 0;  // how much longer the last epoch may be, as others are
};

StepBounds bounds_by_steps(const Points& points, int64_t epochs) {
  const StepCount count(points);
  const int64_t each = epochs > 0 ? (count.all + epochs / 2) / epochs : 0;
  const int64_t least = 2 * count.stride;
  if (epochs < 2 || each < std::max<int64_t>(least, 4) || std::abs(each * epochs - count.all) >= count.stride)
    return {};
  StepBounds out;
  Points& bounds = out.at;
  double behind = 0, longest = 0, usual = 0;
  const ScalarPoint* before = nullptr;
  auto next = points.begin();
  for (int64_t e = 0; e < epochs; ++e) {
    const int64_t low = count.first + each * e, high = low + each;
    const auto head = next;
    std::vector<double> gaps;
    for (; next != points.end() && next->step < high; ++next)
      if (next != head)
        gaps.push_back((next->wall - (next - 1)->wall) / static_cast<double>(next->step - (next - 1)->step));
    if (gaps.empty()) return {};
    const double done = before ? before->wall + usual * static_cast<double>(low - 1 - before->step) : 0;
    usual = median_of(std::move(gaps));
    const double begin = head->wall - usual * static_cast<double>(head->step - low + 1);
    bounds.push_back({e, before ? std::max(begin, before->wall) : begin});
    if (before) behind = std::max(0.0, bounds.back().wall - done);
    longest = std::max(longest, behind);
    before = &*(next - 1);
  }
  const int64_t left = count.first + each * epochs - 1 - before->step;
  bounds.push_back({epochs, before->wall + usual * static_cast<double>(left) + behind});
  out.uncertain = longest - behind;
  return out;
}

std::vector<Step> steps_of(const Points& points, double zero) {
  std::vector<Step> steps;
  const size_t stride = points.size() / kMostSteps + 1;
  for (size_t i = stride; i < points.size(); i += stride) {
    const ScalarPoint &before = points[i - stride], &now = points[i];
    Step step;
    step.index = now.step;
    step.start = before.wall - zero;
    step.seconds = (now.wall - before.wall) / static_cast<double>(std::max<int64_t>(now.step - before.step, 1));
    steps.push_back(step);
  }
  return steps;
}

// Scalars of validation written for some epochs only show which of them were validated.
void note_validation(RunRecord& run, const EventSeries& series, int64_t first) {
  for (const auto& [tag, points] : series.tags) {
    if (!is_validation(tag) || points.size() >= run.epochs.size()) continue;
    for (const ScalarPoint& point : points) {
      const int64_t position = point.step - first;
      if (position >= 0 && position < static_cast<int64_t>(run.epochs.size()))
        run.epochs[static_cast<size_t>(position)].metrics.emplace(tag, point.value);
    }
  }
}

// Places the first and last step of each epoch. `per_epoch` steps each, the first of them numbered `first`.
void place_steps(RunRecord& run, const Points& points, const std::vector<double>& ends, double per_epoch, int64_t first,
                 double zero) {
  for (size_t e = 0; e < run.epochs.size(); ++e) {
    Epoch& epoch = run.epochs[e];
    const double end = ends[e], begin = end - epoch.seconds;
    const auto low = first + static_cast<int64_t>(std::llround(per_epoch * static_cast<double>(e)));
    const auto high = first + static_cast<int64_t>(std::llround(per_epoch * static_cast<double>(e + 1)));
    const ScalarPoint *head = nullptr, *last = nullptr;
    std::vector<double> gaps;
    for (size_t i = 0; i < points.size(); ++i) {
      if (points[i].step < low || points[i].step >= high) continue;
      if (!head) head = &points[i];
      if (last) gaps.push_back((points[i].wall - last->wall) / static_cast<double>(points[i].step - last->step));
      last = &points[i];
    }
    if (!head || gaps.size() < 2) continue;
    const double usual = median_of(gaps);
    const double done_steps = static_cast<double>(head->step - low + 1),
                 left_steps = static_cast<double>(high - 1 - last->step);
    // Steps before the first point and behind the last one took as long as the others.
    const double first_step = head->wall - begin - usual * (done_steps - 1);
    const double tail = end - last->wall - usual * left_steps;
    if (first_step > 0 && !epoch.first_step_seconds) epoch.first_step_seconds = first_step;
    if (tail > 0) epoch.tail_seconds = tail;
    epoch.start = begin - zero;
    if (!epoch.steps) epoch.steps = high - low;
  }
}

// Keras' callback writes down what an evaluation gave as it ends, Hugging Face's Trainer how long it took: of what an
// epoch does behind its steps, so much is validation.
void place_validation(RunRecord& run, const EventSeries& series, const std::vector<double>& ends) {
  for (const auto& [tag, points] : series.tags) {
    const bool at_its_end = series.keras && tag.find("evaluation_") != std::string::npos;
    const bool told = tag.ends_with("eval/runtime");
    if (!at_its_end && !told) continue;
    for (size_t e = 0; e < run.epochs.size(); ++e) {
      Epoch& epoch = run.epochs[e];
      if (epoch.validation_seconds || !epoch.tail_seconds) continue;
      const double steps_done = ends[e] - *epoch.tail_seconds;
      for (const ScalarPoint& point : points)
        if (point.wall > steps_done && point.wall <= ends[e])
          epoch.validation_seconds = told ? point.value : point.wall - steps_done;
    }
  }
}

// Times that grow evenly were taken for readings of a clock. Events know how long the run really was.
void check_clock(RunRecord& run, const EventSeries& series) {
  const Fact* clock = run.find_fact("epochs.clock");
  if (!clock) return;
  std::vector<double> readings;
  double told = 0, taken = 0;
  std::istringstream text(clock->value);
  for (double reading = 0; text >> reading;) {
    readings.push_back(reading);
    told += reading;
  }
  for (const Epoch& epoch : run.epochs) taken += epoch.seconds;
  double begun = 1e11, done = 0;
  for (const auto& [tag, points] : series.tags) {
    begun = std::min(begun, points.front().wall);
    done = std::max(done, points.back().wall);
  }
  const double seen = done - begun;
  if (readings.size() != run.epochs.size() || std::abs(seen - taken) <= std::abs(seen - told)) return;
  for (size_t i = 0; i < readings.size(); ++i) run.epochs[i].seconds = readings[i];
}

}  // namespace

std::string framework_of(const EventSeries& series, const std::string& otherwise) {
  if (series.keras) return "keras";
  // Lightning writes a metric for steps and for epochs under two names.
  const bool two_names = std::any_of(series.tags.begin(), series.tags.end(), [&](const auto& entry) {
    const std::string& tag = entry.first;
    return tag.ends_with("_step") && series.tags.contains(tag.substr(0, tag.size() - 4) + "epoch");
  });
  if (series.plain && two_names && !ends_by_counter(series).empty()) return "lightning";
  return series.plain ? "torch" : otherwise;
}

RunRecord record_of(const EventSeries& series, size_t expected) {
  RunRecord run;
  run.source = "tfevents";
  run.framework = framework_of(series);
  const double zero = series.first_wall;
  run.wall_start = zero;
  const Points* steps = step_points(series);
  if (steps) run.steps = steps_of(*steps, zero);
  // A scalar of each epoch, a counter beside the steps, or so many steps for each.
  const Points* written = epoch_points(series, steps, 0);
  const Points counted = written ? Points() : ends_by_counter(series);
  const auto epochs = static_cast<int64_t>(written ? written->size() : expected);
  const StepBounds by_steps =
      steps && counted.empty() && !series.keras ? bounds_by_steps(*steps, epochs) : StepBounds();
  const Points& bounds = by_steps.at;
  Points ends = !counted.empty() ? counted : written ? *written : bounds;
  if (ends.empty()) return run;
  if (!counted.empty()) run.facts.push_back({"epochs.by-counter", "1", "event files"});
  // Keras opens the file in whole seconds and writes its model there as training begins; a trainer opens it not long
  // before; others at any time: then only steps tell when the first epoch began.
  const bool begun = series.keras && series.model_wall >= zero && series.model_wall < ends.front().wall;
  double before = begun ? series.model_wall : zero;
  if (!bounds.empty()) {
    before = std::max(zero, bounds.front().wall);
    if (!written) ends.erase(ends.begin());
    for (size_t i = 0; i < ends.size(); ++i) {
      ends[i].wall = written ? std::max(ends[i].wall, bounds[i + 1].wall) : bounds[i + 1].wall;
      if (!written) ends[i].step = static_cast<int64_t>(i) + 1;
    }
  }
  const double wait = begun || !steps  ? 0
                      : bounds.empty() ? steps->front().wall - zero - usual_gap(*steps)
                                       : before - zero;
  for (const ScalarPoint& point : ends) {
    Epoch epoch;
    epoch.index = static_cast<int>(point.step - ends.front().step + std::max<int64_t>(ends.front().step, 1));
    epoch.start = before - zero;
    epoch.seconds = point.wall - before;
    before = point.wall;
    run.epochs.push_back(epoch);
  }
  run.seconds = before - zero;
  note_validation(run, series, ends.front().step);
  if (!steps && !series.keras && counted.empty()) run.epochs.erase(run.epochs.begin());
  if (steps) refine(run, series);
  // How much of the wait for the first step is the first epoch's own, nothing tells.
  if (Epoch& first = run.epochs.front(); first.index == 1) first.resolution = std::max(0.0, wait);
  if (run.epochs.size() > 1) run.epochs.back().resolution = by_steps.uncertain;
  return run;
}

void refine(RunRecord& run, const EventSeries& series) {
  const Points* points = step_points(series);
  check_clock(run, series);
  if (!points || run.epochs.empty()) {
    if (points && run.steps.empty()) run.steps = steps_of(*points, series.first_wall);
    return;
  }
  const auto n = static_cast<double>(run.epochs.size());
  const StepCount count(*points);
  const int64_t first = count.first;
  double per_epoch = 0;
  for (const Epoch& epoch : run.epochs) per_epoch += static_cast<double>(epoch.steps.value_or(0)) / n;
  const double counted = static_cast<double>(count.all) / n;
  if (per_epoch == 0 || run.epochs.front().examples) per_epoch = std::round(counted);
  if (std::abs(counted / per_epoch - 1) > 0.2 && !run.open_epoch) return;  // other steps than the epochs' own
  // When epochs ended: by a scalar of theirs whose differences are their times.
  std::vector<double> ends;
  if (const Points* closing = epoch_points(series, points, run.epochs.size())) {
    bool agree = true;
    for (size_t i = 1; i < run.epochs.size(); ++i)
      agree = agree && std::abs((*closing)[i].wall - (*closing)[i - 1].wall - run.epochs[i].seconds) <
                           0.15 * run.epochs[i].seconds + 0.1;
    if (agree)
      for (const ScalarPoint& point : *closing) ends.push_back(point.wall);
  }
  if (first > 1) run.facts.push_back({"events.first-step", std::to_string(points->front().step), "event files"});
  if (ends.empty()) {
    if (run.steps.empty()) run.steps = steps_of(*points, series.first_wall);
    return;
  }
  if (!run.wall_start) run.wall_start = ends.front() - run.epochs.front().seconds;
  place_steps(run, *points, ends, per_epoch, first, *run.wall_start);
  place_validation(run, series, ends);
  if (run.steps.empty()) run.steps = steps_of(*points, *run.wall_start);
}

}  // namespace isochron
