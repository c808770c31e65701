#include "isochron/readers/progress_bar.h"

#include <algorithm>

namespace isochron {
namespace {

constexpr std::string_view kHeavyLine = "\u2501";  // ━, of Rich and Keras 3
constexpr std::string_view kLightLine = "\u2500";  // ─, the undone part in ultralytics
constexpr std::string_view kHalfLines[] = {"\u2578", "\u257A", "\u2578"};

// Behind a run of ━, ─, ╸, ╺.
bool skip_drawn_line(Scanner& scan) {
  bool any = false;
  while (true) {
    const std::string_view rest = scan.rest();
    const bool drawn = rest.starts_with(kHeavyLine) || rest.starts_with(kLightLine) ||
                       std::any_of(std::begin(kHalfLines), std::end(kHalfLines),
                                   [&](std::string_view half) { return rest.starts_with(half); });
    if (!drawn) return any;
    any = true;
    scan.move_to(scan.position() + kHeavyLine.size());
  }
}

// "123", "1.61k" or "2.5M", as tqdm scales counts.
std::optional<int64_t> scaled_count(Scanner& scan) {
  const auto number = scan.number();
  if (!number || number->value < 0) return std::nullopt;
  const double scale = scan.any_of("kK") ? 1e3 : scan.any_of("M") ? 1e6 : scan.any_of("G") ? 1e9 : 1;
  const double value = number->value * scale;
  return value < 1e15 ? std::optional<int64_t>(static_cast<int64_t>(value + 0.5)) : std::nullopt;
}

// "12.3it/s" gives a rate, "1.5s/it" a time per item.
bool read_rate(Scanner& scan, Bar& bar, std::string_view line) {
  const auto value = scan.number();
  if (!value) {
    return scan.any_of("?");
  }
  const size_t unit = scan.position();
  size_t end = unit;
  while (end < line.size() && !is_space(line[end]) && line[end] != ',' && line[end] != ']' && line[end] != '/') ++end;
  if (end >= line.size() || line[end] != '/') return false;
  size_t after = end + 1;
  while (after < line.size() && (is_word(line[after]))) ++after;
  const std::string_view per = line.substr(end + 1, after - end - 1);
  if (per == "s" || per == "sec") {
    bar.unit = line.substr(unit, end - unit);
    bar.event.rate = value;
  } else if (line.substr(unit, end - unit) == "s") {
    bar.unit = per;
    bar.event.step_time = value;
  } else {
    return false;
  }
  scan.move_to(after);
  return true;
}

// The label ends before "  20%|███   |" or "100% ━━━"; a bar without a percentage has the text before its count.
std::string_view label_before(std::string_view text) {
  const size_t percent = text.rfind('%');
  size_t end = percent;
  if (percent != std::string_view::npos) {
    while (end > 0 && (is_digit(text[end - 1]) || text[end - 1] == '.')) --end;
    if (end == percent) end = text.size();
  } else {
    end = text.size();
  }
  std::string_view label = trimmed(text.substr(0, end));
  while (!label.empty() && (label.back() == ':' || label.back() == '|'))
    label = trimmed(label.substr(0, label.size() - 1));
  return label;
}

// The "11/50" or "57it" that ends at `end`; sets `start` to where it begins.
bool read_counts_before(std::string_view line, size_t from, size_t end, Bar& bar, size_t& start) {
  while (end > from && is_space(line[end - 1])) --end;
  start = end;
  while (start > from && !is_space(line[start - 1]) && line[start - 1] != '|') --start;
  Scanner scan(line, start);
  bar.event.step = scaled_count(scan);
  if (!bar.event.step) return false;
  if (scan.any_of("/")) {
    if (scan.any_of("?")) return true;
    bar.event.steps = scaled_count(scan);
    return bar.event.steps && scan.position() == end;
  }
  return is_letter(scan.peek()) && scan.position() < end && end - scan.position() < 12;  // "57it"
}

// Ignite has the counts before the bar: "Epoch [1/4]: [100/200]  50%|█████, loss=0.3 [00:40<00:40]"
bool read_counts_ahead(std::string_view line, size_t from, size_t end, Bar& bar, size_t& start) {
  const std::string_view text = line.substr(0, end);
  const size_t drawn = text.find("%|", from);
  const size_t close = drawn == std::string_view::npos ? drawn : text.rfind(']', drawn);
  start = close == std::string_view::npos ? close : text.rfind('[', close);
  if (start == std::string_view::npos || start < from) return false;
  if (text.find_first_not_of(" 0123456789.", close + 1) != drawn) return false;
  Scanner scan(line, start + 1);
  bar.event.step = scaled_count(scan);
  if (!bar.event.step || !scan.any_of("/")) return false;
  bar.event.steps = scaled_count(scan);
  return bar.event.steps && scan.position() == close;
}

// tqdm: … 11/50 [1:55:52<6:50:13, 631.11s/it, loss=0.1]; 57it [00:03, 18.2it/s]; fastprogress: [79/220 00:05<00:10]
bool read_bracketed(std::string_view line, size_t from, size_t bracket, Bar& bar) {
  Scanner scan(line, bracket + 1);
  size_t start = bracket;
  if (Scanner inside = scan; inside.count() && inside.any_of("/")) {
    bar.event.step = scan.count();
    scan.any_of("/");
    bar.event.steps = scan.count();
    if (!bar.event.steps || !scan.any_of(" ")) return false;
  } else if (!read_counts_before(line, from, bracket, bar, start) &&
             !read_counts_ahead(line, from, bracket, bar, start)) {
    return false;
  }
  bar.event.elapsed = scan.clock();
  if (!bar.event.elapsed) return false;
  if (scan.any_of("<")) {
    bar.event.left = scan.clock();
    // Narrow terminals cut bars off: behind "<" nothing, or half of a clock.
    const bool cut = scan.rest().find_first_not_of("0123456789:") == std::string_view::npos;
    if (!bar.event.left && !scan.any_of("?") && !cut) return false;
  }
  scan.any_of(",");
  scan.skip_spaces();
  read_rate(scan, bar, line);
  const size_t close = line.find(']', scan.position());
  bar.end = close == std::string_view::npos ? line.size() : close + 1;
  bar.label = label_before(line.substr(from, start - from));
  bar.style = Bar::Style::tqdm;
  return true;
}

// OpenMMLab, which tests by it: "[>>>>>     ] 312/5000, 55.6 task/s, elapsed: 6s, ETA:    84s"
bool read_tasks(std::string_view line, size_t from, size_t bracket, Bar& bar) {
  const size_t close = line.find_first_not_of("> ", bracket + 1);
  if (close == std::string_view::npos || close < bracket + 3 || line[close] != ']') return false;
  Scanner scan(line, close + 1);
  scan.skip_spaces();
  bar.event.step = scan.count();
  if (!bar.event.step || !scan.any_of("/")) return false;
  bar.event.steps = scan.count();
  if (!bar.event.steps || !scan.literal(", ")) return false;
  bar.event.rate = scan.number();
  if (!bar.event.rate || !scan.literal(" task/s, elapsed: ")) return false;
  bar.unit = "task";
  bar.event.elapsed = scan.duration();
  if (!bar.event.elapsed) return false;
  if (scan.literal(", eta:")) {
    scan.skip_spaces();
    bar.event.left = scan.number();
    scan.any_of("s");
  }
  bar.label = line.substr(from, bracket - from);
  bar.end = scan.position();
  return true;
}

// " - name: 0.5 - other: 1e-3": what Keras prints behind the time.
void read_metrics(std::string_view text, LogEvent& event) {
  constexpr size_t kMost = 64;
  for (size_t at = text.find(" - "); at != std::string_view::npos && event.metrics.size() < kMost;
       at = text.find(" - ", at)) {
    at += 3;
    const size_t colon = text.find(": ", at);
    if (colon == std::string_view::npos || colon - at > 80) continue;
    const std::string_view name = text.substr(at, colon - at);
    Scanner scan(text, colon + 2);
    const auto value = scan.number();
    if (value && name.find(" - ") == std::string_view::npos) event.metrics.emplace_back(name, value->value);
  }
}

// What stands behind a Keras bar: " - ETA: 3s", " - 36s 92ms/step", " 45s 488ms/step", " - 28s - loss … - 28s/epoch".
bool read_keras_times(std::string_view line, Scanner& scan, Bar& bar) {
  LogEvent& event = bar.event;
  const bool complete = event.steps && *event.step >= *event.steps;
  bool any = false;
  while (true) {
    scan.skip_spaces();
    if (scan.literal("- ")) scan.skip_spaces();
    const size_t before = scan.position();
    const bool eta = scan.literal("eta: ");
    const auto time = scan.duration();
    if (!time) {
      scan.move_to(before);
      break;
    }
    any = true;
    if (scan.any_of("/")) {
      if (scan.literal("epoch"))
        event.elapsed = time;
      else if (scan.literal("step") || scan.literal("sample"))
        event.step_time = time;
    } else if (eta || !complete) {
      // Time left is cut off to whole seconds.
      event.left = Measured{time->value, time->value, time->value + 1};
    } else {
      event.elapsed = time;
    }
  }
  read_metrics(line.substr(std::min(scan.position() >= 3 ? scan.position() - 3 : 0, line.size())), event);
  // Keras 2 with verbose=2 repeats its times at the end of the line.
  for (const std::string_view per : {"/epoch", "/step"}) {
    size_t slash = line.find(per, scan.position());
    if (slash == std::string_view::npos) continue;
    for (size_t next; (next = line.find(per, slash + 1)) != std::string_view::npos;) slash = next;
    size_t start = slash;
    while (start > 0 && !is_space(line[start - 1])) --start;
    Scanner number(line, start);
    if (const auto time = number.duration()) (per == "/step" ? event.step_time : event.elapsed) = time;
  }
  bar.end = line.size();
  return any || !event.metrics.empty();
}

// Keras: "387/387 [=====] - 36s 92ms/step", "64/64 ━━━━ 45s 488ms/step", "250/250 - 28s - loss: 0.1"
bool read_keras(std::string_view line, size_t from, size_t slash, Bar& bar) {
  size_t start = slash;
  while (start > from && is_digit(line[start - 1])) --start;
  if (start == slash || (start > 0 && (is_word(line[start - 1]) || line[start - 1] == '.'))) return false;
  Scanner scan(line, start);
  bar.event.step = scan.count();
  scan.any_of("/");
  bar.event.steps = scan.count();
  if (!bar.event.step || (!bar.event.steps && !scan.literal("unknown"))) return false;
  bar.label = trimmed(line.substr(from, start - from));
  const std::string_view word = bar.label.substr(bar.label.size() > 5 ? bar.label.size() - 5 : 0);
  if (lowered(word) == "epoch") return false;  // "Epoch 3/10 - loss: 0.1" counts epochs
  scan.skip_spaces();
  if (scan.any_of("[")) {
    const std::string_view rest = scan.rest();
    const size_t close = rest.find_first_not_of("=>.-# ");
    if (close == std::string_view::npos || close < 5 || rest[close] != ']') return false;
    scan.move_to(scan.position() + close + 1);
  } else if (!skip_drawn_line(scan) && !(bar.label.empty() && scan.rest().starts_with("- "))) {
    return false;
  }
  bar.style = Bar::Style::keras;
  return read_keras_times(line, scan, bar);
}

// What Rich draws by itself: "━━━  50% 0:00:03", and in the end "━━━ 100% 0:00:06": first the time left, then the
// whole.
bool read_percent(Scanner& scan, Bar& bar) {
  const auto percent = scan.count();
  if (!percent || *percent > 100 || !scan.any_of("%")) return false;
  scan.skip_spaces();
  const auto time = scan.clock();
  if ((!time && !scan.literal("-:--:--")) || !trimmed(scan.rest()).empty()) return false;
  bar.event.step = percent;
  bar.event.steps = 100;
  (*percent < 100 ? bar.event.left : bar.event.elapsed) = time;
  return true;
}

// Behind a drawn line. Rich: "━━━ 40/188 0:00:00 • 0:00:03 71.43it/s"; ultralytics: "━━━ 337/337 6.9it/s 48.8s<0.2s"
bool read_rich(std::string_view line, size_t from, size_t drawn, Bar& bar) {
  Scanner scan(line, drawn);
  if (!skip_drawn_line(scan)) return false;
  scan.skip_spaces();
  const auto found = [&] {
    bar.style = Bar::Style::rich;
    bar.label = label_before(line.substr(from, drawn - from));
    bar.end = scan.position();
    return true;
  };
  if (Scanner by_percent = scan; read_percent(by_percent, bar)) {
    scan = by_percent;
    return found();
  }
  bar.event.step = scan.count();
  if (!bar.event.step || !scan.any_of("/")) return false;
  bar.event.steps = scan.count();
  if (!bar.event.steps && !scan.any_of("?") && !scan.literal("--")) return false;
  scan.skip_spaces();
  if (const auto elapsed = scan.clock()) {
    bar.event.elapsed = elapsed;
    scan.skip_spaces();
    if (scan.literal("\u2022")) {
      scan.skip_spaces();
      if (!(bar.event.left = scan.clock())) scan.literal("-:--:--");
      scan.skip_spaces();
    }
    read_rate(scan, bar, line);
  } else {
    if (!read_rate(scan, bar, line)) return false;
    scan.skip_spaces();
    bar.event.elapsed = scan.duration();
    if (scan.any_of("<")) bar.event.left = scan.duration();
  }
  return found();
}

// YOLOv9: "100%|██████████| 653/653 15:31"
bool read_bare_clock(std::string_view line, size_t from, size_t pipe, Bar& bar) {
  Scanner scan(line, pipe + 1);
  scan.skip_spaces();
  bar.event.step = scan.count();
  if (!bar.event.step || !scan.any_of("/")) return false;
  bar.event.steps = scan.count();
  if (!bar.event.steps || !scan.any_of(" ")) return false;
  bar.event.elapsed = scan.clock();
  if (!bar.event.elapsed) return false;
  bar.label = label_before(line.substr(from, pipe - from));
  bar.end = scan.position();
  return true;
}

}  // namespace

std::vector<Bar> find_bars(std::string_view line) {
  std::vector<Bar> bars;
  size_t from = 0;  // the end of the last bar
  for (size_t at = 0; at < line.size(); ++at) {
    const char c = line[at];
    if (c != '[' && c != '/' && c != '|' && c != kHeavyLine[0]) continue;
    Bar bar;
    bar.event.kind = LogEvent::Kind::progress;
    bool found = false;
    if (c == '[')
      found = read_bracketed(line, from, at, bar) || read_tasks(line, from, at, bar);
    else if (c == '/')
      found = read_keras(line, from, at, bar);
    else if (c == '|')
      found = read_bare_clock(line, from, at, bar);
    else if (c == kHeavyLine[0] && (at == 0 || line[at - 1] == ' '))
      found = read_rich(line, from, at, bar);
    if (!found) continue;
    bars.push_back(std::move(bar));
    from = at = bars.back().end;
    --at;
  }
  return bars;
}

}  // namespace isochron
