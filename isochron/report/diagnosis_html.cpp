#include <fmt/core.h>

#include <algorithm>
#include <map>
#include <numeric>

#include "isochron/base/seconds_text.h"
#include "isochron/diagnose/case.h"
#include "isochron/report/diagnosis_report.h"
#include "isochron/report/html_chart.h"
#include "isochron/timeline/sample_keys.h"

namespace isochron {
namespace {

constexpr std::string_view kStyle = R"(
:root{--ink:#1c2330;--soft:#5c6675;--paper:#fff;--line:#dfe4ea;--card:#f6f8fa;--c0:#4c78a8;--c1:#d1495b;--c2:#edae49;--c3:#66a182;--c4:#8d6a9f;--c5:#b0b7c3}
@media(prefers-color-scheme:dark){:root{--ink:#e6e9ee;--soft:#9aa4b2;--paper:#14181f;--line:#2b323d;--card:#1c222b}}
*{box-sizing:border-box}body{margin:0 auto;max-width:60rem;padding:2rem 1.2rem;font:16px/1.5 system-ui,sans-serif;color:var(--ink);background:var(--paper)}
h1{font-size:1.45rem;line-height:1.3;margin:0 0 .4rem}h2{font-size:1.05rem;margin:2rem 0 .6rem}p{margin:.4rem 0}
.tags span{display:inline-block;border:1px solid var(--line);border-radius:1rem;padding:.05rem .7rem;margin:0 .4rem .4rem 0;font-size:.85rem;color:var(--soft)}
.tags .ill{border-color:var(--c1);color:var(--c1)}.tags .well{border-color:var(--c3);color:var(--c3)}
.bars{display:grid;grid-template-columns:max-content 1fr max-content;gap:.3rem .7rem;align-items:center;font-size:.88rem}.bars .label{color:var(--soft);text-align:right}
.bars .bar{display:flex;height:1.05rem;border-radius:.2rem;overflow:hidden;background:var(--card)}.bars .bar i{display:block;height:100%}.bars .value{font-variant-numeric:tabular-nums}
.part-0{background:var(--c0)}.part-1{background:var(--c1)}.part-2{background:var(--c2)}.part-3{background:var(--c3)}.part-4{background:var(--c4)}.part-5{background:var(--c5)}.bars .open{width:12%;border:1px dashed var(--c1)}
.curve{display:block;width:100%;height:70px;background:var(--card);border-radius:.3rem}.curve line{stroke:var(--line);vector-effect:non-scaling-stroke}.curve polyline{fill:none;stroke:var(--c0);stroke-width:1.5;vector-effect:non-scaling-stroke}
.legend{font-size:.85rem;color:var(--soft)}.legend span{white-space:nowrap;margin-right:.9em}.legend i{display:inline-block;width:.8em;height:.8em;border-radius:.15em;margin-right:.35em;vertical-align:-.05em}
.card{background:var(--card);border:1px solid var(--line);border-radius:.5rem;padding:.8rem 1rem;margin:.8rem 0}.card h3{margin:0;font-size:1rem}
.card .numbers{color:var(--soft);font-size:.85rem}.card ul{margin:.5rem 0 .5rem 1.1rem;padding:0}.card code,.fix code{background:var(--paper);padding:0 .25em;border-radius:.2em}
table{border-collapse:collapse;width:100%;font-size:.9rem}td,th{text-align:right;padding:.25rem .5rem;border-bottom:1px solid var(--line)}td:first-child,th:first-child{text-align:left;word-break:break-all}
footer{margin-top:2.5rem;color:var(--soft);font-size:.8rem}
)";

std::string sentence(std::string text) {
  if (!text.empty() && text[0] >= 'a' && text[0] <= 'z') text[0] = static_cast<char>(text[0] - 32);
  return text;
}

// `code` in advice becomes code.
std::string with_code(const std::string& text) {
  std::string out;
  bool code = false;
  for (const char c : html_escaped(text)) {
    if (c == '`') {
      out += code ? "</code>" : "<code>";
      code = !code;
    } else {
      out += c;
    }
  }
  return out + (code ? "</code>" : "");
}

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

std::string cards(const std::vector<Verdict>& verdicts) {
  std::string out;
  for (size_t i = 0; i < verdicts.size(); ++i) {
    const Verdict& verdict = verdicts[i];
    out += fmt::format("<div class=\"card\"><h3>{}</h3><p class=\"numbers\">", name_of(verdict.cause));
    if (verdict.share > 0)
      out += fmt::format("{:.0f} % of the {}time, ", verdict.share * 100,
                         verdict.symptom == Symptom::slow_overall ? "" : "extra ");
    out += fmt::format("confidence {:.0f} %</p>", verdict.confidence * 100);
    if (i > 0) out += fmt::format("<p>{}.</p>", html_escaped(sentence(verdict.summary)));  // the first is the title
    out += "<ul>";
    for (const std::string& evidence : verdict.evidence) out += fmt::format("<li>{}</li>", html_escaped(evidence));
    out += "</ul>";
    if (!verdict.fix.empty()) out += fmt::format("<p class=\"fix\"><b>What to do.</b> {}</p>", with_code(verdict.fix));
    out += "</div>";
  }
  return out;
}

struct Curve {
  const char* key;
  const char* title;
  bool counter;  // drawn as growth per second
};
constexpr Curve kCurves[] = {
    {sample_key::cpu_seconds, "CPU, cores in use", true},
    {sample_key::other_cpu_seconds, "CPU used by other programs, cores", true},
    {sample_key::rss_bytes, "Memory", false},
    {sample_key::read_bytes, "Read from storage, per second", true},
    {sample_key::write_chars, "Written, per second", true},
    {sample_key::throttled_seconds, "Throttled by a CPU quota, seconds per second", true},
};

std::string resources(const RunRecord& run) {
  std::string out;
  std::vector<double> marks;
  for (const Epoch& epoch : run.epochs) marks.push_back(epoch.start);
  if (marks.size() > 300) marks.clear();
  for (const Curve& curve : kCurves) {
    std::vector<std::pair<double, double>> points;
    double last_time = 0, last = 0, end = 0;
    bool any = false;
    for (const Sample& sample : run.samples) {
      const auto value = sample.values.find(curve.key);
      if (value == sample.values.end()) continue;
      if (!curve.counter)
        points.emplace_back(sample.time, value->second);
      else if (any && sample.time > last_time)
        points.emplace_back(sample.time, std::max(0.0, value->second - last) / (sample.time - last_time));
      last = value->second;
      last_time = end = sample.time;
      any = true;
    }
    if (points.size() < 3) continue;
    const double highest = std::max_element(points.begin(), points.end(), [](const auto& a, const auto& b) {
                             return a.second < b.second;
                           })->second;
    if (highest <= 0) continue;
    const std::string_view key = curve.key;
    const bool bytes = key.ends_with("_bytes") || key.ends_with("_chars");
    out += fmt::format("<p class=\"legend\">{}: up to {}</p>{}", curve.title,
                       bytes ? bytes_text(highest) : fmt::format("{:.2g}", highest), curve_svg(points, marks, end));
  }
  return out.empty() ? out : "<h2>Resources over time (lines: where epochs begin)</h2>" + out;
}

std::string operations(const RunRecord& run) {
  std::string out;
  for (const Profile& profile : run.profiles) {
    std::vector<const ProfileOp*> ops;
    for (const ProfileOp& op : profile.ops) ops.push_back(&op);
    const auto total = [](const ProfileOp* op) { return std::accumulate(op->seconds.begin(), op->seconds.end(), 0.0); };
    std::sort(ops.begin(), ops.end(), [&](const ProfileOp* a, const ProfileOp* b) { return total(a) > total(b); });
    out += fmt::format(
        "<h2>Operations in {} ({} steps, {})</h2><table><tr><th>operation</th><th>phase</th><th>calls</th><th>self "
        "time</th></tr>",
        html_escaped(profile.source), profile.steps.size(), seconds_text(profile.seconds));
    for (size_t i = 0; i < std::min<size_t>(ops.size(), 15); ++i)
      out += fmt::format(
          "<tr><td>{}</td><td>{}</td><td>{}</td><td>{}</td></tr>", html_escaped(ops[i]->name), name_of(ops[i]->phase),
          std::accumulate(ops[i]->counts.begin(), ops[i]->counts.end(), int64_t{0}), seconds_text(total(ops[i])));
    out += "</table>";
  }
  return out;
}

}  // namespace

std::string diagnosis_html(const RunRecord& run, const std::vector<Verdict>& verdicts) {
  const Verdict& first = verdicts.front();
  const bool healthy = first.symptom == Symptom::healthy;
  std::string out =
      "<!doctype html><html lang=\"en\"><head><meta charset=\"utf-8\"><meta name=\"viewport\" "
      "content=\"width=device-width\">";
  out +=
      fmt::format("<title>{} - isochron doctor</title><style>{}</style></head><body>", name_of(first.symptom), kStyle);
  out += fmt::format("<h1>{}.</h1><p class=\"tags\"><span class=\"{}\">{}</span>",
                     html_escaped(sentence(first.summary)), healthy ? "well" : "ill", name_of(first.symptom));
  if (!healthy) out += fmt::format("<span>{}</span>", name_of(first.cause));
  if (!run.framework.empty()) out += fmt::format("<span>{}</span>", html_escaped(run.framework));
  out += fmt::format("<span>{} epochs</span></p>", run.epochs.size());
  if (!run.epochs.empty() || run.open_epoch) {
    out += "<h2>Epochs</h2>" + bar_chart_html(epoch_rows(run, verdicts));
    if (!healthy) out += legend(verdicts);
  }
  if (!healthy) out += "<h2>Why</h2>" + cards(verdicts);
  out += resources(run);
  out += operations(run);
  return out + "<footer>Made by isochron doctor. What each cause means: docs/causes.md.</footer></body></html>\n";
}

}  // namespace isochron
