#include "isochron/report/run_comparison.h"

#include <fmt/core.h>

#include <algorithm>
#include <cmath>
#include <map>

#include "isochron/base/json.h"
#include "isochron/diagnose/diagnose.h"

namespace isochron {

namespace {

constexpr double kNothing = 0.005;
constexpr const char* kTypicalEpoch = "later epochs, median";

// The last value of each key; counters and verdicts repeat themselves. How a log was written is no difference.
std::map<std::string, std::string> facts_of(const RunRecord& run) {
  std::map<std::string, std::string> out;
  for (const Fact& fact : run.facts)
    if (fact.key != "finished" && !fact.key.starts_with("log.")) out[fact.key] = fact.value;
  return out;
}

std::string signed_text(FigureUnit unit, double value) { return (value < 0 ? "" : "+") + value_text(unit, value); }

// By a percentage, or where that would have four digits by how many times as much it is.
constexpr double kManyTimes = 9;
std::string change_text(double change) {
  return change > kManyTimes ? fmt::format("{:.1f}x", 1 + change) : fmt::format("{:+.1f} %", 100 * change);
}

std::string optional_text(FigureUnit unit, std::optional<double> value) {
  return value ? value_text(unit, *value) : "-";
}

}  // namespace

std::optional<double> ComparedFigure::change() const {
  if (!before || !after || *before == 0) return std::nullopt;
  return (*after - *before) / std::fabs(*before);
}

RunComparison::RunComparison(const RunRecord& before, const RunRecord& after) {
  for (const Figure& figure : figures_of(before))
    figures_.push_back({figure.name, figure.unit, figure.value, std::nullopt, figure.judged});
  auto place = figures_.begin();
  for (const Figure& figure : figures_of(after)) {
    const auto found =
        std::find_if(figures_.begin(), figures_.end(), [&](const auto& known) { return known.name == figure.name; });
    if (found != figures_.end()) {
      found->after = figure.value;
      place = found + 1;
    } else {
      // What only the second run has stands where it stood there.
      place = figures_.insert(place, {figure.name, figure.unit, std::nullopt, figure.value, figure.judged}) + 1;
    }
  }
  const auto first = facts_of(before), second = facts_of(after);
  std::map<std::string, std::string> keys = first;
  keys.insert(second.begin(), second.end());
  for (const auto& [key, ignored] : keys) {
    const auto value = [&key = key](const auto& facts) {
      const auto found = facts.find(key);
      return found == facts.end() ? std::string("-") : found->second;
    };
    if (value(first) != value(second)) facts_.push_back({key, value(first), value(second)});
  }
  size_t side = 0;
  for (const RunRecord* run : {&before, &after}) {
    const Verdict verdict = diagnose(*run).front();
    symptoms_[side] = name_of(verdict.symptom);
    verdicts_[side++] = verdict.summary;
  }
}

bool RunComparison::judges() const {
  return std::any_of(figures_.begin(), figures_.end(),
                     [](const ComparedFigure& figure) { return figure.judged && figure.change(); });
}

double RunComparison::worst() const {
  double worst = 0;
  for (const ComparedFigure& figure : figures_)
    if (figure.judged) worst = std::max(worst, figure.change().value_or(0));
  return worst;
}

std::string RunComparison::sentence() const {
  const auto found = std::find_if(figures_.begin(), figures_.end(),
                                  [](const ComparedFigure& figure) { return figure.name == kTypicalEpoch; });
  if (found == figures_.end() || !found->change()) return "The two runs have no later epochs to compare.";
  const double change = *found->change(), difference = *found->after - *found->before;
  if (std::fabs(change) < kNothing)
    return fmt::format("Epochs take as long as before: {}.", optional_text(found->unit, found->after));
  std::string text = "Epochs take ";
  text += change > kManyTimes ? change_text(change) + " as long"
                              : fmt::format("{:.1f} % {}", 100 * std::fabs(change), change > 0 ? "longer" : "less");
  text += fmt::format(": {} instead of {}", optional_text(found->unit, found->after),
                      optional_text(found->unit, found->before));
  std::vector<const ComparedFigure*> phases;
  const auto extra = [](const ComparedFigure* figure) {
    return figure->after.value_or(0) - figure->before.value_or(0);
  };
  for (const ComparedFigure& figure : figures_)
    if (figure.name.starts_with("phase ") && extra(&figure) * difference > 0) phases.push_back(&figure);
  std::sort(phases.begin(), phases.end(),
            [&](const auto* a, const auto* b) { return std::fabs(extra(a)) > std::fabs(extra(b)); });
  double named = 0;
  std::string reasons;
  for (const ComparedFigure* phase : phases) {
    if (std::fabs(extra(phase)) < 0.05 * std::fabs(difference) || named > 0.95 * std::fabs(difference)) break;
    named += std::fabs(extra(phase));
    reasons += fmt::format("{}{} {}", reasons.empty() ? "" : ", ", signed_text(FigureUnit::seconds, extra(phase)),
                           phase->name.substr(6));
  }
  return text + (reasons.empty() ? "." : " (" + reasons + ").");
}

std::string RunComparison::to_string(bool all) const {
  std::vector<std::vector<std::string>> rows{{"", "before", "after", "difference", "change"}};
  for (const ComparedFigure& figure : figures_) {
    const std::optional<double> change = figure.change();
    if (!all && change && std::fabs(*change) < kNothing && !figure.judged) continue;
    if (!all && !figure.before.value_or(0) && !figure.after.value_or(0)) continue;
    rows.push_back({figure.name, optional_text(figure.unit, figure.before), optional_text(figure.unit, figure.after),
                    figure.before && figure.after ? signed_text(figure.unit, *figure.after - *figure.before) : "-",
                    change ? change_text(*change) : "-"});
  }
  std::vector<size_t> widths(rows.front().size(), 0);
  for (const auto& row : rows)
    for (size_t c = 0; c < row.size(); ++c) widths[c] = std::max(widths[c], row[c].size());
  std::string out = sentence() + "\n\n";
  for (const auto& row : rows) {
    out += fmt::format("{:<{}}", row[0], widths[0]);
    for (size_t c = 1; c < row.size(); ++c) out += fmt::format("  {:>{}}", row[c], widths[c]);
    out += '\n';
  }
  if (!facts_.empty()) out += "\nWhat else differs\n";
  for (const ComparedFact& fact : facts_) out += fmt::format("  {}: {} -> {}\n", fact.key, fact.before, fact.after);
  out += fmt::format("\nVerdicts\n  before: {}: {}\n  after:  {}: {}\n", symptoms_[0], verdicts_[0], symptoms_[1],
                     verdicts_[1]);
  return out;
}

std::string RunComparison::to_json() const {
  Json out{{"schema", 1}, {"sentence", sentence()}, {"worst_change", worst()}};
  out["figures"] = Json::array();
  const auto number = [](const std::optional<double>& value) { return value ? Json(*value) : Json(); };
  for (const ComparedFigure& figure : figures_)
    out["figures"].push_back({{"name", figure.name},
                              {"before", number(figure.before)},
                              {"after", number(figure.after)},
                              {"change", number(figure.change())},
                              {"judged", figure.judged}});
  out["facts"] = Json::array();
  for (const ComparedFact& fact : facts_)
    out["facts"].push_back({{"key", fact.key}, {"before", fact.before}, {"after", fact.after}});
  out["before"] = {{"symptom", symptoms_[0]}, {"summary", verdicts_[0]}};
  out["after"] = {{"symptom", symptoms_[1]}, {"summary", verdicts_[1]}};
  return json_text(out, 1);
}

}  // namespace isochron
