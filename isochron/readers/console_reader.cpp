#include "isochron/readers/console_reader.h"

#include <algorithm>
#include <array>
#include <map>
#include <utility>

#include "isochron/readers/fit_builder.h"
#include "isochron/readers/keyed_values.h"
#include "isochron/readers/log_families.h"
#include "isochron/readers/notices.h"
#include "isochron/readers/plain_line.h"
#include "isochron/readers/progress_bar.h"
#include "isochron/readers/rich_handler.h"
#include "isochron/readers/terminal.h"
#include "isochron/readers/timestamp.h"

namespace isochron {
namespace {

constexpr int kMostOfOneNotice = 200;
constexpr size_t kLongestTold = 1000;

// Tables printed row by row: "epoch  train_loss  valid_loss  time" (fastai), "… dur" (skorch), "epoch,loss,sec".
class TableReader {
 public:
  std::optional<LogEvent> feed(std::string_view line) {
    if (columns_.empty() && has_number(line)) return std::nullopt;  // rows come below a header, which has none
    const std::string plain = without_frames(line);
    line = plain;
    std::vector<std::string> cells = cells_of(line);
    if (cells.size() < 2) return std::nullopt;
    const bool by_commas = line.find(',') != std::string_view::npos && line.find(' ') == std::string_view::npos;
    const bool tells_time = std::any_of(cells.begin() + 1, cells.end(), names_time);
    const bool has_numbers =
        std::any_of(cells.begin(), cells.end(), [](const std::string& cell) { return is_digit(cell[0]); });
    // MATLAB counts iterations before epochs.
    if ((names_epoch(cells[0]) || names_epoch(cells[1])) && !has_numbers && (tells_time || by_commas)) {
      columns_ = std::move(cells);
      numbers_rows_ = is_space(line[0]);
      return std::nullopt;
    }
    // pandas numbers its rows, below no name.
    if (numbers_rows_ && cells.size() == columns_.size() + 1 && is_digit(cells[0][0])) cells.erase(cells.begin());
    if (columns_.size() != cells.size() || !is_digit(cells[0][0])) return std::nullopt;
    KeyedValues values;
    for (size_t i = 0; i < cells.size(); ++i) values.emplace_back(columns_[i], cells[i]);
    auto event = keyed_event(values);
    if (event && event->clock && event->step) {  // some rows an epoch: a clock read at its end tells when that was
      event->kind = LogEvent::Kind::epoch_end;
      event->step.reset();
    }
    return event && event->epoch && (event->epoch_time || event->clock || by_commas) ? event : std::nullopt;
  }

 private:
  // A cell that is a number, in a line without frames: most lines of a log have one.
  static bool has_number(std::string_view line) {
    if (line.find_first_of("|\xE2") != std::string_view::npos) return false;
    for (size_t i = 0; i < line.size(); ++i)
      if (is_digit(line[i]) && (i == 0 || is_space(line[i - 1]) || line[i - 1] == ',' || line[i - 1] == ';'))
        return true;
    return false;
  }

  // Where bars stand between them, names may have blanks: "|  Epoch  |  Time Elapsed  |".
  static std::vector<std::string> cells_of(std::string_view line) {
    const bool framed = trimmed(line).starts_with('|') && trimmed(line).ends_with('|');
    const auto separates = [&](char c) { return c == '|' || (!framed && (is_space(c) || c == ',' || c == ';')); };
    std::vector<std::string> cells;
    for (size_t at = 0; at < line.size() && cells.size() < 32;) {
      while (at < line.size() && separates(line[at])) ++at;
      size_t end = at;
      while (end < line.size() && !separates(line[end])) ++end;
      const std::string_view cell = trimmed(line.substr(at, end - at));
      if (cell.starts_with("(") && !cells.empty())
        cells.back().append(cell);  // "time (s)"
      else if (!cell.empty())
        cells.emplace_back(cell);
      at = end;
    }
    return cells;
  }

  // Lines and corners of box drawing (U+2500 to U+257F) become bars of ASCII.
  static std::string without_frames(std::string_view line) {
    std::string plain;
    for (size_t i = 0; i < line.size(); ++i) {
      const bool drawn = line[i] == '\xE2' && i + 2 < line.size() && (line[i + 1] == '\x94' || line[i + 1] == '\x95');
      plain += drawn ? '|' : line[i];
      if (drawn) i += 2;
    }
    return plain;
  }

  std::vector<std::string> columns_;
  bool numbers_rows_ = false;
};

bool numbers_epoch(std::string_view text) {
  const std::string lower_text = lowered(text);
  if (lower_text.find("epoch") == std::string::npos) return false;
  const auto event = plain_event(text, lower_text);
  return event && event->epoch;
}

// "|      Epoch |       3 |": a table of names and values, a line each.
std::string unframed_pair(std::string_view text) {
  const std::string_view line = trimmed(text);
  if (line.size() < 5 || !line.starts_with('|') || !line.ends_with('|')) return {};
  const size_t bar = line.find('|', 1);
  if (bar == line.size() - 1 || line.find('|', bar + 1) != line.size() - 1) return {};
  const std::string_view name = trimmed(line.substr(1, bar - 1));
  const std::string_view value = trimmed(line.substr(bar + 1, line.size() - bar - 2));
  return name.empty() || value.empty() ? std::string() : std::string(name).append(": ").append(value);
}

// What a line says when there is no bar in it.
std::optional<LogEvent> read_event(std::string_view text, std::string_view lower_text, TableReader& table) {
  if (auto event = match_log_family(text, lower_text)) {
    // "Epoch: 01 | Epoch Time: 1m 30s": a form without a number, on a line that has one.
    if (!event->epoch && event->epoch_time && event->framework.empty())
      if (auto numbered = plain_event(text, lower_text); numbered && numbered->epoch && numbered->epoch_time)
        return numbered;
    return event;
  }
  if (auto event = table.feed(text)) return event;
  if (const std::string pair = unframed_pair(text); !pair.empty()) return read_event(pair, lowered(pair), table);
  if (const KeyedValues values = find_dictionary(text); values.size() >= 2)
    if (auto event = keyed_event(values)) return event;
  return plain_event(text, lower_text);
}

}  // namespace

struct ConsoleReader::State {
  explicit State(std::string name)
      : source(std::move(name)), terminal([this](const Terminal::Line& line) { read(line); }) {}

  void read(const Terminal::Line& line) { read_into(builder, line); }

  // On the clock of the process where it is known, else on the clock of the stamps that mark progress: the first
  // line that does chooses it, as other loggers may stamp their lines in other ways.
  std::optional<double> time_of(FitBuilder& into, const Terminal::Line& line, const std::optional<Timestamp>& stamp,
                                bool progress) {
    if (line.time) return line.time;
    if (!stamp) return std::nullopt;
    const auto kind = static_cast<size_t>(stamp->kind);
    const auto time = clocks[kind].unfold(*stamp);
    if (!main_clock && progress) {
      main_clock = kind;
      into.set_clock_resolution(stamp->resolution);
      // Stamps of another resolution are those of other loggers, which speak up at any time.
      if (const auto own = last_stamps.find({kind, stamp->resolution}); own != last_stamps.end())
        into.note_time(own->second);
      else if (last_stamp[kind])
        into.note_foreign_time(*last_stamp[kind]);
    }
    if (time) last_stamp[kind] = last_stamps[{kind, stamp->resolution}] = *time;
    return main_clock == kind ? time : std::nullopt;
  }

  // What `isochron watch` itself said beside the output: a line of its own and indented ones below it.
  bool is_our_note(std::string_view text) {
    const bool begins = text.starts_with("isochron: ");
    in_our_note = begins || (in_our_note && text.starts_with("  "));
    return in_our_note;
  }

  void read_into(FitBuilder& into, const Terminal::Line& line) {
    if (is_our_note(line.text)) return;
    const auto stamp = rich.stamp_of(line.text, find_timestamp(line.text));
    std::string_view text = rich.without_place(line.text);
    std::string around;
    if (stamp && numbers_epoch(text.substr(0, stamp->begin))) {  // "Epoch: 3 [2026-11-15 09:01:00] | (0:01:07)"
      around = std::string(text.substr(0, stamp->begin)).append(text.substr(std::min(stamp->end, text.size())));
      text = around;
    } else if (stamp) {
      text.remove_prefix(std::min(stamp->end, text.size()));
      const size_t message = text.find_first_not_of(" \t]|:).");
      text.remove_prefix(std::min(message, text.size()));
      if (text.empty()) text = std::string_view(line.text).substr(0, stamp->begin);  // "epoch 3 begins at 2026-11-15 …"
    }
    std::vector<Bar> bars = find_bars(text);
    for (Bar& bar : bars) bar.event.line = line.number;
    const std::string_view tail = bars.empty() ? text : text.substr(std::min(bars.back().end, text.size()));
    const std::string lower_text = lowered(text);
    std::optional<LogEvent> event;
    // What a line says about progress stands at its beginning; a line of pages is data.
    if (!trimmed(tail).empty())
      event = read_event(tail.substr(0, kLongestTold),
                         std::string_view(lower_text).substr(text.size() - tail.size(), kLongestTold), table);
    const bool progress = !bars.empty() || (event && event->kind != LogEvent::Kind::run_end && !event->bare);
    const auto time = time_of(into, line, stamp, progress);
    for (const Bar& bar : bars) into.add_bar(bar, time);
    if (runs_within(lower_text) && event && event->kind == LogEvent::Kind::epoch_end) {
      event->role = LogEvent::Role::validation;
      event->within = true;
      event->validation_time = event->epoch_time;
      event->epoch.reset();
    }
    if (event)
      into.add(*event, time);
    else if (time && bars.empty())
      into.note_time(*time);
    if (!trimmed(text).empty() && (!event || event->kind != LogEvent::Kind::epoch_begin)) into.note_line();
    const bool on = std::count_if(bars.begin(), bars.end(), [&](const Bar& bar) { return goes_on(bar); }) > 0;
    read_notice(into, line, lower_text, time, bars.empty() ? progress : on);
  }

  // Ignite runs an engine that evaluates within the one that trains, and both count their epochs.
  bool runs_within(std::string_view lower_text) {
    if (lower_text.find("engine run starting") != std::string_view::npos) ++engines;
    if (lower_text.find("engine run finished") != std::string_view::npos ||
        lower_text.find("engine run complete") != std::string_view::npos)
      engines = std::max(0, engines - 1);
    return engines > 1;
  }

  // tqdm draws its bars once more as a program ends, below the traceback that ended it.
  bool goes_on(const Bar& bar) {
    constexpr size_t kMostBars = 64;
    if (drawn.size() > kMostBars) drawn.clear();
    const std::pair now{bar.event.step, bar.event.steps};
    const auto [before, fresh] = drawn.try_emplace(std::string(bar.label), now);
    return fresh || std::exchange(before->second, now) != now;
  }

  void read_notice(FitBuilder& into, const Terminal::Line& line, std::string_view lower_text,
                   std::optional<double> time, bool progress) {
    const auto [notice, framework] = match_notices(lower_text);
    if (!framework.empty()) into.fact({"framework", std::string(framework), ""});
    if (progress) {  // the run went on: what looked like its end was not
      for (Fact& fact : fatal) {
        fact.key += ".survived";
        into.fact(std::move(fact));
      }
      fatal.clear();
    }
    const auto raised = traceback.feed(line.text);
    if (!notice && !raised) return;
    const std::string where = source + ":" + std::to_string(line.number);
    if (notice) note_shuffle(into, *notice, line, where);
    const std::string value(trimmed(line.text).substr(0, 300));
    if (notice && counts[notice->key]++ < kMostOfOneNotice) {
      Fact fact{std::string(notice->key), value, where, time};
      if (notice->fatal)
        fatal.push_back(std::move(fact));
      else
        into.fact(std::move(fact));
    }
    if (raised && fatal.size() < 100) fatal.push_back({std::string(raised->key), raised->text, where, time});
  }

  // TensorFlow speaks up after ten seconds of filling and when it is done; the stamps of the two lines give the time.
  void note_shuffle(FitBuilder& into, const Notice& notice, const Terminal::Line& line, const std::string& where) {
    const auto stamp = find_timestamp(line.text);
    if (notice.key == "shuffle.fill" && stamp && !shuffle_began) shuffle_began = stamp->seconds;
    if (notice.key != "shuffle.filled" || !stamp || !shuffle_began) return;
    const double seconds = stamp->seconds - *shuffle_began + 10;
    shuffle_began.reset();
    if (seconds >= 10 && seconds < 1e6) into.fact({"shuffle.seconds", std::to_string(seconds), where});
  }

  std::vector<RunRecord> records(FitBuilder finished) const {
    for (const Fact& fact : fatal) finished.fact(fact);
    if (traceback.inside()) finished.fact({"exception", "a traceback that breaks off", source});
    std::vector<RunRecord> runs = finished.finish();
    for (RunRecord& run : runs) {
      run.source = "console";
      if (&run != &runs.back()) run.facts.push_back({"finished", "another run follows in the log", source});
      if (main_clock == static_cast<size_t>(Timestamp::Kind::absolute) && !run.epochs.empty()) {
        // Epochs stand at Unix times: time zero moves to the first.
        const double zero = run.epochs.front().start;
        if (zero < 1e9) continue;
        run.wall_start = zero;
        for (Epoch& epoch : run.epochs) epoch.start -= zero;
        for (Fact& fact : run.facts)
          if (fact.time) *fact.time -= zero;
        for (Step& step : run.steps) step.start -= zero;
        if (run.open_epoch) run.open_epoch->start -= zero;
      }
    }
    return runs;
  }

  std::string source;
  Terminal terminal;
  FitBuilder builder;
  TableReader table;
  RichHandlerLines rich;
  TracebackReader traceback;
  std::array<StampClock, Timestamp::kKinds> clocks;
  std::optional<size_t> main_clock;
  std::array<std::optional<double>, Timestamp::kKinds> last_stamp;
  std::map<std::pair<size_t, double>, double> last_stamps;  // by kind and resolution
  std::map<std::string_view, int> counts;
  std::map<std::string, std::pair<std::optional<int64_t>, std::optional<int64_t>>> drawn;  // bars by their labels
  std::vector<Fact> fatal;  // seen since the last sign of progress
  std::optional<double> shuffle_began;
  bool in_our_note = false;
  int engines = 0;
};

ConsoleReader::ConsoleReader(std::string source) : state_(std::make_unique<State>(std::move(source))) {}
ConsoleReader::~ConsoleReader() = default;
ConsoleReader::ConsoleReader(ConsoleReader&&) noexcept = default;
ConsoleReader& ConsoleReader::operator=(ConsoleReader&&) noexcept = default;

void ConsoleReader::feed(std::string_view bytes, std::optional<double> time) { state_->terminal.feed(bytes, time); }

RunRecord ConsoleReader::snapshot() const {
  FitBuilder builder = state_->builder;
  if (const Terminal::Line line = state_->terminal.pending(); !line.text.empty()) {
    for (const Bar& bar : find_bars(line.text)) builder.add_bar(bar, line.time);
  }
  return state_->records(std::move(builder)).back();
}

std::vector<RunRecord> ConsoleReader::finish() {
  state_->terminal.finish();
  return state_->records(state_->builder);
}

}  // namespace isochron
