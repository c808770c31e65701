// FitBuilder's part for logs that tell by fractions how far epochs are.
#include <algorithm>
#include <cmath>
#include <map>

#include "isochron/base/median.h"
#include "isochron/readers/fit_builder.h"

namespace isochron {
namespace {

using Readings = std::vector<std::pair<double, double>>;  // epochs, and seconds or another count at that place

std::optional<double> at(const Readings& points, double epoch) {
  for (size_t i = 0; i < points.size(); ++i) {
    if (std::abs(points[i].first - epoch) < 1e-3) return points[i].second;
    if (i > 0 && points[i - 1].first < epoch && epoch < points[i].first) {
      const double part = (epoch - points[i - 1].first) / (points[i].first - points[i - 1].first);
      return points[i - 1].second + part * (points[i].second - points[i - 1].second);
    }
  }
  return std::nullopt;
}

// A clock of whole seconds cuts the rest off.
double middle(const Measured& elapsed) { return elapsed.value + (elapsed.width() > 0.5 ? 0.5 : 0.0); }

// What passes between an epoch's last line and the next one beyond the usual pace (it saves) is the end of that epoch;
// behind the last one as much, if the run took that long.
void take_rest_of_epochs(Readings& clock, const std::optional<Measured>& run_time) {
  constexpr double kLeast = 1;  // the bar's clock shows whole seconds
  const auto ends_epoch = [](double epoch) { return std::abs(epoch - std::round(epoch)) < 1e-3; };
  std::vector<double> paces;
  for (size_t i = 1; i < clock.size(); ++i)
    if (!ends_epoch(clock[i - 1].first))
      paces.push_back((clock[i].second - clock[i - 1].second) / (clock[i].first - clock[i - 1].first));
  if (paces.size() < 2) return;
  const double pace = median_of(std::move(paces));
  double rest = 0;
  for (size_t i = 1; i < clock.size(); ++i) {
    if (!ends_epoch(clock[i - 1].first)) continue;
    rest = clock[i].second - clock[i - 1].second - pace * (clock[i].first - clock[i - 1].first);
    if (rest > kLeast) clock[i - 1].second += rest;
  }
  if (rest > kLeast && run_time && ends_epoch(clock.back().first))
    clock.back().second = std::clamp(run_time->value, clock.back().second, clock.back().second + rest + kLeast);
}

}  // namespace

// Hugging Face prints fractions of epochs beside one bar for the whole run: the bar's clock is read at whole epochs.
void FitBuilder::take_positions(Fit& fit) {
  if (fit.positions.size() < 2) return;
  Readings clock, tokens;
  std::map<double, double> validations;  // by the epoch they end
  const bool by_time =
      std::all_of(fit.positions.begin(), fit.positions.end(), [](const Position& p) { return p.time.has_value(); });
  for (const Position& p : fit.positions) {
    // Losses first, then an evaluation at the same place: the epoch lasts until the latter is done.
    const bool again = !clock.empty() && p.epoch == clock.back().first;
    if (p.validation) validations[std::ceil(p.epoch - 1e-3)] += *p.validation;
    if (by_time && again) clock.back().second = *p.time;
    // The bar stands still meanwhile: what it showed last is from before the evaluation.
    const double behind = by_time ? 0 : p.validation.value_or(0);
    if (again) clock.back().second += behind;
    const double redrawn = p.redrawn && !by_time ? middle(*p.redrawn) : 0;
    if (again) clock.back().second = std::max(clock.back().second, redrawn);
    if (!clock.empty() && p.epoch <= clock.back().first) continue;
    if (by_time)
      clock.emplace_back(p.epoch, *p.time);
    else if (p.elapsed)
      clock.emplace_back(p.epoch, std::max(middle(*p.elapsed) + behind, redrawn));
    if (p.tokens) tokens.emplace_back(p.epoch, *p.tokens);
  }
  for (EpochDraft& draft : fit.drafts) {  // tokens seen become tokens of the epoch
    if (!draft.numbered || tokens.empty()) continue;
    const auto end = at(tokens, static_cast<double>(draft.index));
    const auto begin = draft.index == 1 ? std::optional<double>(0.0) : at(tokens, static_cast<double>(draft.index) - 1);
    if (end && begin) draft.metrics["tokens"] = *end - *begin;
  }
  take_rest_of_epochs(clock, by_time ? std::nullopt : fit.run_time);
  const bool numbered =
      std::any_of(fit.drafts.begin(), fit.drafts.end(), [](const EpochDraft& d) { return d.numbered; });
  if (numbered || clock.size() < 2) return;
  if (clock.back().first < 1) return take_part_of_epoch(fit, clock);
  std::vector<EpochDraft> drafts;
  double zero = 0;
  if (by_time) {  // the bar's first appearance, the line before it, or as far back as the pace says
    const double pace = (clock[1].second - clock[0].second) / (clock[1].first - clock[0].first);
    zero = fit.before_first.value_or(clock[0].second - pace * clock[0].first);
    if (!fit.drafts.empty() && fit.drafts[0].train && fit.drafts[0].train->first_time)
      zero = std::max(fit.before_first.value_or(0), *fit.drafts[0].train->first_time);
  }
  for (int64_t index = 1; static_cast<double>(index) <= clock.back().first + 1e-3 && index < 100000; ++index) {
    const auto end = at(clock, static_cast<double>(index));
    const auto begin = index == 1 ? std::optional<double>(zero) : at(clock, static_cast<double>(index) - 1);
    if (!end || !begin || *end <= *begin) continue;
    EpochDraft draft;
    draft.index = index;
    draft.numbered = draft.ended = true;
    if (by_time) {
      draft.begin = begin;
      draft.end = end;
    }
    draft.printed = Measured{*end - *begin, std::max(0.0, *end - *begin - (by_time ? 0.0 : 1.0)),
                             *end - *begin + (by_time ? 0.0 : 1.0)};
    if (const auto validated = validations.find(static_cast<double>(index)); validated != validations.end())
      draft.validation = Measured::exact(validated->second);
    const auto tokens_end = at(tokens, static_cast<double>(index));
    const auto tokens_begin = index == 1 ? std::optional<double>(0.0) : at(tokens, static_cast<double>(index) - 1);
    if (tokens_end && tokens_begin) draft.metrics["tokens"] = *tokens_end - *tokens_begin;
    drafts.push_back(std::move(draft));
  }
  const bool open = std::fmod(clock.back().first, 1.0) > 1e-3;
  if (drafts.empty()) return;
  fit.drafts = std::move(drafts);
  if (open) {
    EpochDraft last;
    last.index = static_cast<int64_t>(clock.back().first) + 1;
    last.numbered = true;
    fit.drafts.push_back(std::move(last));
  }
}

// A run of less than one epoch (`max_steps`): its bar counts the steps of the run, redrawn below each line it prints.
// What it tells is the time of steps.
void FitBuilder::take_part_of_epoch(Fit& fit, const Readings& clock) {
  if (fit.drafts.empty() || !fit.drafts.back().train) return;
  EpochDraft last = fit.drafts.back();
  const double per_epoch = static_cast<double>(last.train->step) / clock.back().first;
  fit.windows.clear();
  for (size_t i = 1; i < clock.size(); ++i) {
    Step window;
    window.index = std::llround(clock[i].first * per_epoch);
    window.start = clock[i - 1].second;
    window.seconds =
        (clock[i].second - clock[i - 1].second) / std::max((clock[i].first - clock[i - 1].first) * per_epoch, 1.0);
    fit.windows.push_back(window);
  }
  fit.drafts.clear();
  if (fit.run_time) return;
  last.index = 1;
  last.ended = false;
  last.train->steps = std::max<int64_t>(std::llround(per_epoch), last.train->step + 1);
  fit.drafts.push_back(std::move(last));
}

}  // namespace isochron
