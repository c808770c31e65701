#include <fmt/core.h>

#include <algorithm>

#include "isochron/base/escape.h"
#include "isochron/base/seconds_text.h"
#include "isochron/diagnose/case.h"
#include "isochron/report/diagnosis_report.h"
#include "isochron/report/html_chart.h"
#include "isochron/report/html_page.h"

namespace isochron {
namespace {

// An epoch's bar: what is usual, and the rest by the causes' shares.
std::vector<BarRow> epoch_rows(const RunRecord& run, const std::vector<Verdict>& verdicts) {
  const EpochShape shape = Case(run).shape;
  const bool overall = verdicts.front().symptom == Symptom::slow_overall;
  std::vector<BarRow> rows;
  constexpr size_t kMost = 200;
  const size_t stride = run.epochs.size() / kMost + 1;
  for (size_t i = 0; i < run.epochs.size(); i += stride) {
    const Epoch& epoch = run.epochs[i];
    const double extra = overall ? epoch.seconds : std::min(shape.extra[i], epoch.seconds);
    BarRow row{fmt::format("epoch {}", epoch.index), seconds_text(epoch.seconds), {epoch.seconds - extra}};
    double left = extra;
    for (size_t k = 0; k < std::min<size_t>(verdicts.size(), 4); ++k) {
      const double part = verdicts[k].cause == Cause::none ? 0 : std::min(left, extra * verdicts[k].share);
      row.parts.push_back(part);
      left -= part;
    }
    row.parts.resize(5, 0);
    row.parts.push_back(left);
    rows.push_back(std::move(row));
  }
  if (run.open_epoch) rows.push_back({fmt::format("epoch {}", run.open_epoch->index), "began, did not end", {}, true});
  return rows;
}

std::string legend(const std::vector<Verdict>& verdicts) {
  const auto entry = [](size_t colour, std::string_view name) {
    return fmt::format("<span><i class=\"part-{}\"></i>{}</span> ", colour, name);
  };
  std::string out = "<p class=\"legend\">" + entry(0, "usual");
  double left = 1;
  for (size_t k = 0; k < std::min<size_t>(verdicts.size(), 4); ++k) {
    if (verdicts[k].share > 0) out += entry(k + 1, name_of(verdicts[k].cause));
    left -= verdicts[k].share;
  }
  return out + (left > 0.01 ? entry(5, "not explained") : "") + "</p>";
}

}  // namespace

std::string diagnosis_html(const RunRecord& run, const std::vector<Verdict>& verdicts) {
  const Verdict& first = verdicts.front();
  const bool healthy = first.symptom == Symptom::healthy;
  std::string out = fmt::format("<h1>{}.</h1><p class=\"tags\"><span class=\"{}\">{}</span>",
                                markup_escaped(html_sentence(first.summary)),
                                healthy ? first.undecided() ? "" : "well" : "ill", tag_of(first));
  if (!healthy) out += fmt::format("<span>{}</span>", name_of(first.cause));
  if (!run.framework.empty()) out += fmt::format("<span>{}</span>", markup_escaped(run.framework));
  out += fmt::format("<span>{} epoch{}</span></p>", run.epochs.size(), run.epochs.size() == 1 ? "" : "s");
  if (!run.epochs.empty() || run.open_epoch) {
    out += "<h2>Epochs</h2>" + bar_chart_html(epoch_rows(run, verdicts));
    if (!healthy) out += legend(verdicts);
  }
  if (first.undecided()) out += fix_html(first);
  if (!healthy) out += "<h2>Why</h2>" + verdict_cards(verdicts);
  out += resource_curves(run);
  out += operation_tables(run);
  return html_page(fmt::format("{} - isochron doctor", tag_of(first)), out,
                   "Made by isochron doctor. What each cause means: docs/causes.md.");
}

}  // namespace isochron
