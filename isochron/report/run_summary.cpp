#include "isochron/report/run_summary.h"

#include <fmt/core.h>

#include <algorithm>
#include <set>

#include "isochron/base/json.h"
#include "isochron/base/median.h"
#include "isochron/base/seconds_text.h"
#include "isochron/diagnose/case.h"
#include "isochron/diagnose/diagnose.h"
#include "isochron/report/epoch_report.h"
#include "isochron/timeline/sample_keys.h"

namespace isochron {

namespace {

// Sorted in place; `at` from 0 to 1.
double quantile(std::vector<double>& values, double at) {
  const auto rank = static_cast<size_t>(at * static_cast<double>(values.size() - 1) + 0.5);
  std::nth_element(values.begin(), values.begin() + static_cast<ptrdiff_t>(rank), values.end());
  return values[rank];
}

void add_epochs(const RunRecord& run, std::vector<Figure>& out) {
  if (run.epochs.empty()) return;
  const auto usual_begin = run.epochs.begin() + (run.epochs.size() > 1 ? 1 : 0);
  const auto each = [&](auto value) {
    std::vector<double> values;
    std::for_each(usual_begin, run.epochs.end(), [&](const Epoch& epoch) { values.push_back(value(epoch)); });
    return values;
  };
  const double typical = median_of(each([](const Epoch& e) { return e.seconds; }));
  out.push_back({"first epoch", FigureUnit::seconds, run.epochs.front().seconds, true});
  if (run.epochs.size() > 1) {
    out.push_back({"later epochs, median", FigureUnit::seconds, typical, true});
    std::vector<double> seconds = each([](const Epoch& e) { return e.seconds; });
    out.push_back({"later epochs, slowest", FigureUnit::seconds, quantile(seconds, 1)});
    if (typical > 0) out.push_back({"first / later", FigureUnit::ratio, run.epochs.front().seconds / typical});
  }
  for (int p = 0; p < kPhaseCount; ++p) {
    const double seconds = median_of(each([p](const Epoch& e) { return e.phases[static_cast<size_t>(p)]; }));
    if (seconds > 0)
      out.push_back({fmt::format("phase {}", name_of(static_cast<Phase>(p))), FigureUnit::seconds, seconds});
  }
  std::set<std::string> callbacks;
  for (const Epoch& epoch : run.epochs)
    for (const auto& [name, seconds] : epoch.callbacks) callbacks.insert(name);
  for (const std::string& name : callbacks) {
    double all = 0;
    const std::vector<double> values = each([&](const Epoch& e) {
      const auto found = e.callbacks.find(name);
      return found == e.callbacks.end() ? 0 : found->second;
    });
    for (const double seconds : values) all += seconds;
    out.push_back({"callback " + name, FigureUnit::seconds, all / static_cast<double>(values.size())});
  }
}

void add_steps(const RunRecord& run, std::vector<Figure>& out) {
  std::vector<double> steps, input;
  for (const Step& step : run.steps) {
    if (step.index > 1) steps.push_back(step.seconds);
    if (step.input_seconds && step.index > 1) input.push_back(*step.input_seconds);
  }
  if (!run.steps.empty() && run.steps.front().index == 1)
    out.push_back({"first step", FigureUnit::seconds, run.steps.front().seconds});
  if (steps.empty()) return;
  out.push_back({"step, median", FigureUnit::seconds, quantile(steps, 0.5), true});
  out.push_back({"step, 95th percentile", FigureUnit::seconds, quantile(steps, 0.95)});
  out.push_back({"step, slowest", FigureUnit::seconds, quantile(steps, 1)});
  if (!input.empty()) out.push_back({"step, wait for input", FigureUnit::seconds, quantile(input, 0.5)});
}

void add_samples(const RunRecord& run, std::vector<Figure>& out) {
  const auto values = [&](const char* key) {
    std::vector<double> all;
    for (const Sample& sample : run.samples)
      if (const auto found = sample.values.find(key); found != sample.values.end()) all.push_back(found->second);
    return all;
  };
  if (const std::vector<double> memory = values(sample_key::rss_bytes); !memory.empty()) {
    out.push_back({"memory, highest", FigureUnit::bytes, *std::max_element(memory.begin(), memory.end()), true});
    out.push_back({"memory, growth after the first reading", FigureUnit::bytes, memory.back() - memory.front()});
  }
  if (const std::vector<double> read = values(sample_key::read_bytes); !read.empty())
    out.push_back({"read from storage", FigureUnit::bytes, read.back()});
  if (const std::vector<double> written = values(sample_key::write_bytes); !written.empty())
    out.push_back({"written to storage", FigureUnit::bytes, written.back()});
}

}  // namespace

std::vector<Figure> figures_of(const RunRecord& run) {
  std::vector<Figure> out{{"whole run", FigureUnit::seconds, run.seconds},
                          {"epochs", FigureUnit::count, static_cast<double>(run.epochs.size())}};
  add_epochs(run, out);
  add_steps(run, out);
  add_samples(run, out);
  return out;
}

std::string value_text(FigureUnit unit, double value) {
  switch (unit) {
    case FigureUnit::seconds:
      return seconds_text(value);
    case FigureUnit::bytes:
      return value < 0 ? "-" + bytes_text(-value) : bytes_text(value);
    case FigureUnit::ratio:
      return fmt::format("{:.2f}x", value);
    case FigureUnit::count:
      break;
  }
  return fmt::format("{:.0f}", value);
}

std::string run_summary_json(const RunRecord& run) {
  Json out{{"schema", 1}, {"framework", run.framework}, {"sentence", EpochReport(run).sentence()}};
  out["figures"] = Json::object();
  for (const Figure& figure : figures_of(run)) out["figures"][figure.name] = figure.value;
  out["epochs"] = Json::array();
  for (const Epoch& epoch : run.epochs) {
    Json row{{"index", epoch.index}, {"seconds", epoch.seconds}};
    for (int p = 0; p < kPhaseCount; ++p)
      if (epoch.phases[static_cast<size_t>(p)] != 0)
        row["phases"][std::string(name_of(static_cast<Phase>(p)))] = epoch.phases[static_cast<size_t>(p)];
    if (!epoch.callbacks.empty()) row["callbacks"] = epoch.callbacks;
    out["epochs"].push_back(std::move(row));
  }
  const std::vector<Verdict> verdicts = diagnose(run);
  out["symptom"] = name_of(verdicts.front().symptom);
  out["verdicts"] = Json::array();
  for (const Verdict& verdict : verdicts)
    out["verdicts"].push_back(
        {{"cause", name_of(verdict.cause)}, {"share", verdict.share}, {"summary", verdict.summary}});
  return json_text(out, 1);
}

}  // namespace isochron
