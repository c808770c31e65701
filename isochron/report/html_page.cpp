#include "isochron/report/html_page.h"

#include <fmt/core.h>

#include <algorithm>
#include <numeric>

#include "isochron/base/escape.h"
#include "isochron/base/seconds_text.h"
#include "isochron/diagnose/case.h"
#include "isochron/report/html_chart.h"
#include "isochron/timeline/sample_keys.h"

namespace isochron {
namespace {

constexpr std::string_view kStyle = R"(
:root{--ink:#1c2330;--soft:#5c6675;--paper:#fff;--line:#dfe4ea;--card:#f6f8fa;--c0:#4c78a8;--c1:#d1495b;--c2:#edae49;--c3:#66a182;--c4:#8d6a9f;--c5:#b0b7c3;--c6:#2a9d8f;--c7:#e07a5f;--c8:#7d8cc4;--c9:#a3b18a}
@media(prefers-color-scheme:dark){:root{--ink:#e6e9ee;--soft:#9aa4b2;--paper:#14181f;--line:#2b323d;--card:#1c222b}}
*{box-sizing:border-box}body{margin:0 auto;max-width:60rem;padding:2rem 1.2rem;font:16px/1.5 system-ui,sans-serif;color:var(--ink);background:var(--paper)}
h1{font-size:1.45rem;line-height:1.3;margin:0 0 .4rem}h2{font-size:1.05rem;margin:2rem 0 .6rem}p{margin:.4rem 0}h1,p,li,.card{overflow-wrap:anywhere}
.tags span{display:inline-block;border:1px solid var(--line);border-radius:1rem;padding:.05rem .7rem;margin:0 .4rem .4rem 0;font-size:.85rem;color:var(--soft)}
.tags .ill{border-color:var(--c1);color:var(--c1)}.tags .well{border-color:var(--c3);color:var(--c3)}
.bars{display:grid;grid-template-columns:max-content 1fr max-content;gap:.3rem .7rem;align-items:center;font-size:.88rem}.bars .label{color:var(--soft);text-align:right}
.bars .bar{display:flex;height:1.05rem;border-radius:.2rem;overflow:hidden;background:var(--card)}.bars .bar i{display:block;height:100%}.bars .value{font-variant-numeric:tabular-nums}
.part-0{background:var(--c0)}.part-1{background:var(--c1)}.part-2{background:var(--c2)}.part-3{background:var(--c3)}.part-4{background:var(--c4)}.part-5{background:var(--c5)}.part-6{background:var(--c6)}.part-7{background:var(--c7)}.part-8{background:var(--c8)}.part-9{background:var(--c9)}.bars .open{width:12%;border:1px dashed var(--c1)}
.curve{display:block;width:100%;height:70px;background:var(--card);border-radius:.3rem}.curve line{stroke:var(--line);vector-effect:non-scaling-stroke}.curve polyline{fill:none;stroke:var(--c0);stroke-width:1.5;vector-effect:non-scaling-stroke}
.legend{font-size:.85rem;color:var(--soft)}.legend span{display:inline-block;max-width:100%;margin-right:.9em}.legend i{display:inline-block;width:.8em;height:.8em;border-radius:.15em;margin-right:.35em;vertical-align:-.05em}
.card{background:var(--card);border:1px solid var(--line);border-radius:.5rem;padding:.8rem 1rem;margin:.8rem 0}.card h3{margin:0;font-size:1rem}
.card .numbers{color:var(--soft);font-size:.85rem}.card ul{margin:.5rem 0 .5rem 1.1rem;padding:0}.card code,.fix code{background:var(--paper);padding:0 .25em;border-radius:.2em}
table{border-collapse:collapse;width:100%;font-size:.9rem}td,th{text-align:right;padding:.25rem .5rem;border-bottom:1px solid var(--line)}td:first-child,th:first-child{text-align:left;word-break:break-all}
table.plain td,table.plain th{white-space:nowrap}.scroll{overflow-x:auto}.tiles{display:grid;grid-template-columns:repeat(auto-fit,minmax(8.5rem,1fr));gap:.6rem;margin:1rem 0}.tiles div{background:var(--card);border:1px solid var(--line);border-radius:.5rem;padding:.5rem .8rem}.tiles b{display:block;font-size:1.15rem;font-variant-numeric:tabular-nums}.tiles span{color:var(--soft);font-size:.8rem}
footer{margin-top:2.5rem;color:var(--soft);font-size:.8rem}
@media(max-width:30rem){body{padding:1.2rem .8rem}table{font-size:.78rem}td,th{padding:.25rem .3rem}table.plain th{white-space:normal}}
)";

// `code` in advice becomes code.
std::string with_code(const std::string& text) {
  std::string out;
  bool code = false;
  for (const char c : markup_escaped(text)) {
    if (c == '`') {
      out += code ? "</code>" : "<code>";
      code = !code;
    } else {
      out += c;
    }
  }
  return out + (code ? "</code>" : "");
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

}  // namespace

std::string html_sentence(std::string text) {
  if (!text.empty() && text[0] >= 'a' && text[0] <= 'z') text[0] = static_cast<char>(text[0] - 32);
  return text;
}

std::string fix_html(const Verdict& verdict) {
  if (verdict.fix.empty()) return "";
  return fmt::format("<p class=\"fix\"><b>What to do.</b> {}</p>", with_code(verdict.fix));
}

std::string verdict_cards(const std::vector<Verdict>& verdicts) {
  std::string out;
  for (size_t i = 0; i < verdicts.size(); ++i) {
    const Verdict& verdict = verdicts[i];
    out += fmt::format("<div class=\"card\"><h3>{}</h3><p class=\"numbers\">", name_of(verdict.cause));
    if (verdict.share > 0)
      out += fmt::format("{:.0f} % of the {}time, ", verdict.share * 100,
                         verdict.symptom == Symptom::slow_overall ? "" : "extra ");
    out += fmt::format("confidence {:.0f} %</p>", verdict.confidence * 100);
    if (i > 0)
      out += fmt::format("<p>{}.</p>", markup_escaped(html_sentence(verdict.summary)));  // the first is the title
    out += "<ul>";
    for (const std::string& evidence : verdict.evidence) out += fmt::format("<li>{}</li>", markup_escaped(evidence));
    out += "</ul>";
    out += fix_html(verdict);
    out += "</div>";
  }
  return out;
}

std::string resource_curves(const RunRecord& run) {
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

std::string operation_tables(const RunRecord& run) {
  std::string out;
  for (const Profile& profile : run.profiles) {
    std::vector<const ProfileOp*> ops;
    for (const ProfileOp& op : profile.ops) ops.push_back(&op);
    const auto total = [](const ProfileOp* op) { return std::accumulate(op->seconds.begin(), op->seconds.end(), 0.0); };
    std::sort(ops.begin(), ops.end(), [&](const ProfileOp* a, const ProfileOp* b) { return total(a) > total(b); });
    out += fmt::format(
        "<h2>Operations in {} ({} steps, {})</h2><table><tr><th>operation</th><th>phase</th><th>calls</th><th>self "
        "time</th></tr>",
        markup_escaped(profile.source), profile.steps.size(), seconds_text(profile.seconds));
    for (size_t i = 0; i < std::min<size_t>(ops.size(), 15); ++i)
      out += fmt::format(
          "<tr><td>{}</td><td>{}</td><td>{}</td><td>{}</td></tr>", markup_escaped(ops[i]->name), name_of(ops[i]->phase),
          std::accumulate(ops[i]->counts.begin(), ops[i]->counts.end(), int64_t{0}), seconds_text(total(ops[i])));
    out += "</table>";
  }
  return out;
}

std::string html_page(const std::string& title, const std::string& body, const std::string& footer) {
  return fmt::format(
      "<!doctype html><html lang=\"en\"><head><meta charset=\"utf-8\"><meta name=\"viewport\" "
      "content=\"width=device-width\"><title>{}</title><style>{}</style></head><body>{}<footer>{}</footer></body></"
      "html>\n",
      markup_escaped(title), kStyle, body, markup_escaped(footer));
}

}  // namespace isochron
