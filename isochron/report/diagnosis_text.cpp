#include <fmt/core.h>

#include <algorithm>
#include <set>

#include "isochron/base/seconds_text.h"
#include "isochron/report/diagnosis_report.h"

namespace isochron {
namespace {

class Painter {
 public:
  explicit Painter(bool colour) : colour_(colour) {}
  std::string bold(const std::string& text) const { return paint("1", text); }
  std::string faint(const std::string& text) const { return paint("2", text); }
  std::string red(const std::string& text) const { return paint("31", text); }
  std::string green(const std::string& text) const { return paint("32", text); }
  std::string cyan(const std::string& text) const { return paint("36", text); }

 private:
  std::string paint(const char* code, const std::string& text) const {
    return colour_ && !text.empty() ? fmt::format("\x1b[{}m{}\x1b[0m", code, text) : text;
  }
  bool colour_;
};

std::string capitalised(std::string text) {
  if (!text.empty() && text[0] >= 'a' && text[0] <= 'z') text[0] = static_cast<char>(text[0] - 32);
  return text;
}

// Breaks at blanks; lines after the first begin with `indent` blanks.
std::string wrapped(const std::string& text, int width, int indent) {
  std::string out;
  int column = indent;
  size_t at = 0;
  while (at < text.size()) {
    size_t end = text.find(' ', at);
    if (end == std::string::npos) end = text.size();
    const int length = static_cast<int>(end - at);
    if (column + 1 + length > width && column > indent) {
      out.append(1, '\n').append(static_cast<size_t>(indent), ' ');
      column = indent;
    } else if (at > 0) {
      out += ' ';
      ++column;
    }
    out += text.substr(at, end - at);
    column += length;
    at = end + 1;
  }
  return out;
}

// Which epochs to draw: all of a few; of many the ends and the longest.
std::vector<size_t> shown(const std::vector<Epoch>& epochs) {
  constexpr size_t kMost = 14;
  std::set<size_t> rows;
  if (epochs.size() <= kMost) {
    for (size_t i = 0; i < epochs.size(); ++i) rows.insert(i);
    return {rows.begin(), rows.end()};
  }
  for (size_t i = 0; i < 4; ++i) {
    rows.insert(i);
    rows.insert(epochs.size() - 1 - i);
  }
  std::vector<size_t> order(epochs.size());
  for (size_t i = 0; i < order.size(); ++i) order[i] = i;
  std::sort(order.begin(), order.end(), [&](size_t a, size_t b) { return epochs[a].seconds > epochs[b].seconds; });
  for (size_t i = 0; rows.size() < kMost && i < order.size(); ++i) rows.insert(order[i]);
  return {rows.begin(), rows.end()};
}

std::string chart(const RunRecord& run, const TextStyle& style, const Painter& paint) {
  double longest = 0;
  std::vector<double> sorted;
  for (const Epoch& epoch : run.epochs) {
    longest = std::max(longest, epoch.seconds);
    sorted.push_back(epoch.seconds);
  }
  if (run.epochs.empty() || longest <= 0) return "";
  std::sort(sorted.begin(), sorted.end());
  const double usual = sorted[sorted.size() / 4];
  const int width = std::clamp(style.width - 30, 10, 60);
  std::string out;
  size_t before = 0;
  for (const size_t i : shown(run.epochs)) {
    if (i > before + 1)
      out += paint.faint(fmt::format("       {} {} more\n", style.unicode ? "\u22ee" : ":", i - before - 1));
    before = i;
    const Epoch& epoch = run.epochs[i];
    const int cells = std::max(1, static_cast<int>(epoch.seconds / longest * width + 0.5));
    const int plain = std::min(cells, std::max(1, static_cast<int>(usual * 1.3 / longest * width + 0.5)));
    const auto bar = [&](int count) {
      std::string text;
      for (int k = 0; k < count; ++k) text += style.unicode ? "\u2588" : "#";
      return text;
    };
    out += fmt::format("{:>9} {}{}{} {}\n", fmt::format("{}{}", i == 0 ? "epoch " : "", epoch.index),
                       paint.cyan(bar(plain)), paint.red(bar(cells - plain)),
                       std::string(static_cast<size_t>(std::max(0, width - cells)), ' '), seconds_text(epoch.seconds));
  }
  if (run.open_epoch) out += fmt::format("{:>9} {}\n", run.open_epoch->index, paint.red("began, did not end"));
  return out;
}

std::string reasons(const std::vector<Verdict>& verdicts, const TextStyle& style, const Painter& paint) {
  std::string out = fmt::format("{}\n", paint.bold("Why"));
  for (const Verdict& verdict : verdicts) {
    std::string head = fmt::format("  {}", name_of(verdict.cause));
    if (verdict.share > 0 && verdict.symptom != Symptom::died && verdict.symptom != Symptom::stuck)
      head += fmt::format(", {:.0f} % of the {}time", verdict.share * 100,
                          verdict.symptom == Symptom::slow_overall ? "" : "extra ");
    head += fmt::format(", confidence {:.0f} %", verdict.confidence * 100);
    out += fmt::format("{}\n", paint.cyan(head));
    if (&verdict != &verdicts.front())
      out += fmt::format("    {}\n", wrapped(capitalised(verdict.summary) + ".", style.width, 4));
    for (const std::string& evidence : verdict.evidence)
      out += fmt::format("    - {}\n", wrapped(evidence, style.width, 6));
  }
  return out;
}

}  // namespace

std::string diagnosis_text(const RunRecord& run, const std::vector<Verdict>& verdicts, const TextStyle& style) {
  const Painter paint(style.colour);
  const Verdict& first = verdicts.front();
  const bool healthy = first.symptom == Symptom::healthy;
  std::string out = wrapped(capitalised(first.summary) + ".", style.width, 0);
  out = (healthy && !first.undecided() ? paint.green(out) : paint.bold(out)) + "\n";
  std::string line(tag_of(first));
  if (!healthy) line += fmt::format(" - {}", name_of(first.cause));
  if (!run.framework.empty()) line += fmt::format(" - {}", run.framework);
  if (!run.epochs.empty()) line += fmt::format(" - {} epoch{}", run.epochs.size(), run.epochs.size() == 1 ? "" : "s");
  out += fmt::format("{}\n\n", paint.faint(line));
  if (const std::string bars = chart(run, style, paint); !bars.empty()) out += bars + "\n";
  if (healthy && first.fix.empty()) return out;
  if (!healthy) out += reasons(verdicts, style, paint) + "\n";
  out += fmt::format("{}\n", paint.bold("What to do"));
  std::set<std::string> said;
  for (const Verdict& verdict : verdicts)
    if (!verdict.fix.empty() && said.insert(verdict.fix).second && (verdict.share >= 0.15 || &verdict == &first))
      out += fmt::format("  {}\n", wrapped(verdict.fix, style.width, 2));
  return out;
}

}  // namespace isochron
