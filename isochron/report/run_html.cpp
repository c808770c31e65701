#include <fmt/core.h>

#include <algorithm>
#include <cmath>
#include <numeric>

#include "isochron/base/escape.h"
#include "isochron/base/median.h"
#include "isochron/base/seconds_text.h"
#include "isochron/diagnose/case.h"
#include "isochron/diagnose/diagnose.h"
#include "isochron/report/epoch_report.h"
#include "isochron/report/html_chart.h"
#include "isochron/report/html_page.h"
#include "isochron/report/run_report.h"
#include "isochron/report/run_summary.h"

namespace isochron {
namespace {

constexpr size_t kColours = 10;     // classes part-0 to part-9
constexpr size_t kMostEpochs = 60;  // bars

// The phases of the epochs, the largest first; more than there are colours share the last one.
std::vector<Phase> phases_shown(const RunRecord& run) {
  PhaseSeconds sums{};
  for (const Epoch& epoch : run.epochs)
    for (size_t p = 0; p < sums.size(); ++p) sums[p] += epoch.phases[p];
  std::vector<Phase> phases;
  for (int p = 0; p < kPhaseCount; ++p)
    if (sums[static_cast<size_t>(p)] > 0) phases.push_back(static_cast<Phase>(p));
  std::stable_sort(phases.begin(), phases.end(),
                   [&](Phase a, Phase b) { return sums[static_cast<size_t>(a)] > sums[static_cast<size_t>(b)]; });
  return phases;
}

std::string legend(const std::vector<Phase>& phases) {
  std::string out = "<p class=\"legend\">";
  for (size_t i = 0; i < std::min(phases.size(), kColours); ++i) {
    std::string names{name_of(phases[i])};
    for (size_t k = kColours; i + 1 == kColours && k < phases.size(); ++k)
      names += fmt::format(", {}", name_of(phases[k]));
    out += fmt::format("<span><i class=\"part-{}\"></i>{}</span> ", i, names);
  }
  return out + "</p>";
}

std::string epochs(const RunRecord& run) {
  if (run.epochs.empty() && !run.open_epoch) return "";
  const std::vector<Phase> phases = phases_shown(run);
  const size_t stride = run.epochs.size() / kMostEpochs + 1;
  std::vector<BarRow> rows;
  for (size_t i = 0; i < run.epochs.size(); i += stride) {
    const Epoch& epoch = run.epochs[i];
    BarRow row{fmt::format("epoch {}", epoch.index), seconds_text(epoch.seconds), {}};
    if (phases.empty()) row.parts.push_back(epoch.seconds);
    row.parts.resize(std::max<size_t>(std::min(phases.size(), kColours), row.parts.size()), 0);
    for (size_t k = 0; k < phases.size(); ++k)
      row.parts[std::min(k, kColours - 1)] += epoch.phases[static_cast<size_t>(phases[k])];
    rows.push_back(std::move(row));
  }
  if (run.open_epoch) rows.push_back({fmt::format("epoch {}", run.open_epoch->index), "began, did not end", {}, true});
  const std::string title =
      stride > 1 ? fmt::format("Epochs by phase (one of {})", stride) : std::string("Epochs by phase");
  return fmt::format("<h2>{}</h2>", title) + bar_chart_html(rows) + (phases.empty() ? "" : legend(phases));
}

// Phase by phase: the first epoch, a typical later one, and the difference.
std::string first_epoch(const RunRecord& run) {
  if (run.epochs.size() < 2 || phases_shown(run).empty()) return "";
  const Epoch& first = run.epochs.front();
  std::string out = fmt::format(
      "<h2>The first epoch, explained</h2><div class=\"scroll fits\"><table "
      "class=\"plain\"><tr><th>phase</th><th>epoch "
      "{}</th><th>later, median</th><th>difference</th></tr>",
      first.index);
  const auto later = [&](auto value) {
    std::vector<double> values;
    for (size_t i = 1; i < run.epochs.size(); ++i) values.push_back(value(run.epochs[i]));
    return median_of(std::move(values));
  };
  const auto row = [&](std::string_view name, double one, double other) {
    if (one == 0 && other == 0) return;  // something of a few epochs in between
    const auto text = [](double seconds) { return seconds == 0 ? "-" : seconds_text(seconds); };
    out += fmt::format("<tr><td>{}</td><td>{}</td><td>{}</td><td>{}{}</td></tr>", name, text(one), text(other),
                       one > other ? "+" : "", text(one - other));
  };
  for (const Phase phase : phases_shown(run)) {
    const auto seconds = [phase](const Epoch& epoch) { return epoch.phases[static_cast<size_t>(phase)]; };
    row(name_of(phase), seconds(first), later(seconds));
  }
  row("<b>whole epoch</b>", first.seconds, later([](const Epoch& epoch) { return epoch.seconds; }));
  return out + "</table></div>";
}

std::string curve(const std::string& title, const std::vector<std::pair<double, double>>& points,
                  const std::vector<double>& marks) {
  return fmt::format("<p class=\"legend\">{}</p>{}", markup_escaped(title),
                     curve_svg(points, marks, points.back().first));
}

std::string steps(const RunRecord& run) {
  if (run.steps.size() < 3) return "";
  std::vector<std::pair<double, double>> points;
  const double origin = run.steps.front().start;
  for (const Step& step : run.steps) points.emplace_back(step.start + step.seconds - origin, step.seconds);
  std::vector<double> marks;
  for (const Epoch& epoch : run.epochs)
    if (epoch.start >= origin) marks.push_back(epoch.start - origin);
  if (marks.size() > 300) marks.clear();
  const double slowest = std::max_element(points.begin(), points.end(), [](const auto& a, const auto& b) {
                           return a.second < b.second;
                         })->second;
  return "<h2>Steps (lines: where epochs begin)</h2>" +
         curve(fmt::format("Time of a step: up to {}", seconds_text(slowest)), points, marks);
}

std::string metrics(const RunRecord& run) {
  std::map<std::string, std::vector<std::pair<double, double>>> values;
  for (const Epoch& epoch : run.epochs)
    for (const auto& [name, value] : epoch.metrics) values[name].emplace_back(epoch.index, value);
  std::string out;
  for (auto& [name, points] : values) {
    const double last = points.back().second;
    std::erase_if(points, [](const auto& point) { return !std::isfinite(point.second); });
    if (points.size() < 3) continue;
    const auto [lowest, highest] = std::minmax_element(
        points.begin(), points.end(), [](const auto& a, const auto& b) { return a.second < b.second; });
    out += fmt::format("<p class=\"legend\">{}: {:.4g} at the end, from {:.4g} to {:.4g}</p>{}", markup_escaped(name),
                       last, lowest->second, highest->second, fitted_curve_svg(points));
  }
  return out.empty() ? out : "<h2>Metrics by epoch</h2>" + out;
}

std::string input_stages(const RunRecord& run, const EpochReport& report) {
  std::string out;
  if (!run.input_stages.empty()) {
    out +=
        "<div class=\"scroll\"><table class=\"plain\"><tr><th>stage</th><th>elements</th><th>busy</th><th>each</th>"
        "<th>threads</th><th>training waited</th></tr>";
    for (const InputStage& stage : run.input_stages) {
      const double each = stage.elements > 0 ? stage.busy_seconds / static_cast<double>(stage.elements) : 0;
      out += fmt::format("<tr><td>{}</td><td>{}</td><td>{}</td><td>{}</td><td>{}</td><td>{}</td></tr>",
                         markup_escaped(stage.name), stage.elements, seconds_text(stage.busy_seconds),
                         seconds_text(each), stage.threads > 0 ? std::to_string(stage.threads) : "-",
                         stage.threads > 0 ? seconds_text(stage.wait_seconds) : "-");
    }
    out += "</table></div>";
  }
  for (const std::string& sentence : report.input())
    out += fmt::format("<p>{}.</p>", markup_escaped(html_sentence(sentence)));
  return out.empty() ? out : "<h2>Input</h2>" + out;
}

std::string callbacks(const std::vector<Figure>& figures) {
  std::string out;
  for (const Figure& figure : figures)
    if (figure.name.starts_with("callback "))
      out += fmt::format("<tr><td>{}</td><td>{}</td></tr>", markup_escaped(figure.name.substr(9)), figure_text(figure));
  return out.empty() ? out : "<h2>Callbacks</h2><table><tr><th>callback</th><th>an epoch</th></tr>" + out + "</table>";
}

std::string tiles(const std::vector<Figure>& figures) {
  std::string out = "<div class=\"tiles\">";
  for (const char* name : {"whole run", "first epoch", "later epochs, median", "first / later", "first step",
                           "step, median", "step, 95th percentile", "memory, highest"}) {
    const auto found = std::find_if(figures.begin(), figures.end(), [&](const Figure& f) { return f.name == name; });
    if (found != figures.end()) out += fmt::format("<div><b>{}</b><span>{}</span></div>", figure_text(*found), name);
  }
  return out + "</div>";
}

std::string outside(const RunRecord& run) {
  std::string out;
  for (int p = 0; p < kPhaseCount; ++p)
    if (const double seconds = run.outside_phases[static_cast<size_t>(p)]; seconds > 0)
      out += fmt::format("{}{} {}", out.empty() ? "" : ", ", name_of(static_cast<Phase>(p)), seconds_text(seconds));
  return out.empty() ? out : fmt::format("<p class=\"legend\">Outside the epochs: {}.</p>", out);
}

}  // namespace

std::string run_html(const RunRecord& run) {
  const std::vector<Verdict> verdicts = diagnose(run);
  const std::vector<Figure> figures = figures_of(run);
  const bool healthy = verdicts.front().symptom == Symptom::healthy;
  const EpochReport report(run);
  const std::string sentence = report.sentence();
  const std::string title = healthy ? sentence : html_sentence(verdicts.front().summary) + ".";
  std::string out = fmt::format("<h1>{}</h1><p class=\"tags\"><span class=\"{}\">{}</span>", markup_escaped(title),
                                healthy ? "well" : "ill", name_of(verdicts.front().symptom));
  if (!healthy) out += fmt::format("<span>{}</span>", name_of(verdicts.front().cause));
  if (!run.framework.empty()) out += fmt::format("<span>{}</span>", markup_escaped(run.framework));
  out += fmt::format("<span>{} epoch{}</span></p>", run.epochs.size(), run.epochs.size() == 1 ? "" : "s");
  if (!healthy) out += fmt::format("<p>{}</p>", markup_escaped(sentence));
  out += tiles(figures) + epochs(run) + outside(run) + first_epoch(run);
  if (!healthy) out += "<h2>Why</h2>" + verdict_cards(verdicts);
  out += steps(run) + resource_curves(run) + input_stages(run, report) + callbacks(figures) + metrics(run);
  out += operation_tables(run);
  return html_page(fmt::format("{} epochs, {} - isochron", run.epochs.size(), name_of(verdicts.front().symptom)), out,
                   "Made by isochron. What phases are: docs/run-record.md; what causes mean: docs/causes.md.");
}

}  // namespace isochron
