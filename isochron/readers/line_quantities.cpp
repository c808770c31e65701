#include "isochron/readers/line_quantities.h"

#include <fmt/core.h>

#include <algorithm>
#include <cmath>
#include <string>

#include "isochron/readers/keyed_values.h"

namespace isochron {

std::string_view word_before(std::string_view text, size_t end) {
  while (end > 0 && is_space(text[end - 1])) --end;
  size_t start = end;
  while (start > 0 && is_word(text[start - 1])) --start;
  return text.substr(start, end - start);
}

namespace {

// What the words before a time make of it.
void store_time(std::string_view key, const Measured& time, LogEvent& event, std::optional<Measured>& train,
                std::optional<Measured>& best, bool& best_named) {
  const bool named =
      has_any(key, {"time", "took", "dur", "epoch", "done", "finish", "complete", "second", "sec", "runtime"});
  if (has_any(key, {"eta", "remain", "left", "to go"}))
    event.left = time;
  else if (has_any(key, {"cpu"}))
    return;  // of all threads
  else if (has_any(key, {"data", "load", "fetch"}))
    event.data_time = time;
  else if (has_any(key, {"val", "eval", "test"}))
    event.validation_time = time;
  else if (has_any(key, {"total", "elapsed", "so far", "since", "wall", "overall"}))
    event.clock = time;
  else if (has_any(key, {"step", "batch", "iter"}))
    event.step_time = time;
  else if (has_any(key, {"train"}))
    train = time;
  else if (named || !best_named) {
    best = time;
    best_named = named;
  }
}

// "val loss 0.41" and "val_loss=0.41" are one metric.
void note_metric(std::string_view key, double value, LogEvent& event) {
  constexpr size_t kMost = 32;
  const size_t end = key.find_last_not_of(" :=(") + 1;
  const std::string_view last = word_before(key, end);
  if (last.size() < 2 || !is_letter(last[0]) || last == "tokens" || event.metrics.size() >= kMost) return;
  const std::string_view before = trimmed(key.substr(0, static_cast<size_t>(last.data() - key.data())));
  const std::string_view first = word_before(before, before.size());
  const bool joined =
      is_one_of(first, {"val", "valid", "validation", "eval", "test", "dev", "heldout", "holdout", "train"});
  const bool held_out =
      has_any(before.substr(before.size() - std::min<size_t>(before.size(), 8)), {"held-out", "held out", "hold-out"});
  const std::string_view data = held_out ? "held_out" : joined ? first : "";
  event.metrics.emplace_back(data.empty() ? std::string(last) : fmt::format("{}_{}", data, last), value);
}

// Whether a number without a unit is a time: "time: 3.2", "took 3.2", "sec=3.2".
bool names_seconds(std::string_view key) {
  if (has_any(key, {"lr", "learning"})) return false;
  if (has_any(key, {"seconds", "secs", "(sec)", "(s)", "duration", "took", "runtime"})) return true;
  const std::string_view last = word_before(key, key.find_last_not_of(" :=(|") + 1);
  const std::string_view text = trimmed(key);
  const bool assigned = text.ends_with('=') || text.ends_with(':') || text.ends_with('|');
  return last.ends_with("time") || last == "time_per_epoch" || last == "elapsed" || last == "wall" ||
         (assigned && names_time(last));
}

// "loss|0.31|time|12.1": a bar between a name and its value.
bool is_cell_of_key(std::string_view line, size_t from, size_t bar) {
  const std::string_view name = trimmed(line.substr(from, bar - from));
  const size_t value = line.find_first_not_of(' ', bar + 1);
  return !name.empty() && std::all_of(name.begin(), name.end(), is_word) && value != std::string_view::npos &&
         is_digit(line[value]);
}

bool counts_data(std::string_view name) {
  return is_one_of(name, {"examples", "samples", "images", "sequences", "sentences", "rows", "records"});
}

// "12 s elapsed", "12 s total", but not "12 s total 20 s".
bool is_so_far(Scanner scan) {
  if (scan.literal(" so far")) return true;
  if (!scan.literal(" elapsed") && !scan.literal(" total")) return false;
  while (scan.any_of(" :=")) {
  }
  return !is_digit(scan.peek());
}

bool counts_steps(std::string_view name) {
  return is_one_of(name, {"updates", "steps", "batches", "iterations", "iters"});
}

}  // namespace

Quantities find_quantities(std::string_view line, std::string_view lower_line, size_t from, LogEvent& event) {
  Quantities out;
  std::optional<Measured> train;
  bool named = false;
  std::string counted;  // "25 updates"
  double count = 0;
  double parts = 0;  // what the durations of the line add up to
  int count_of_parts = 0;
  size_t key_start = from;
  for (size_t at = from; at < line.size();) {
    const bool number_starts =
        is_digit(line[at]) || (at + 2 < line.size() && is_digit(line[at + 2]) && lower_line.substr(at, 2) == "pt");
    const bool starts = number_starts && (at == 0 || (!is_word(line[at - 1]) && line[at - 1] != '.'));
    if (!starts) {
      // "val=nan 3.2s": a number too, so what follows is not its own.
      if (const std::string_view rest = lower_line.substr(at);
          (rest[0] == 'n' || rest[0] == 'i') && (rest.starts_with("nan") || rest.starts_with("inf")) && at > from &&
          !is_word(line[at - 1]) && (rest.size() == 3 || !is_word(rest[3]))) {
        at += 3;
        key_start = at;
        continue;
      }
      if (line[at] == ',' || line[at] == ';' || (line[at] == '|' && !is_cell_of_key(line, key_start, at)))
        key_start = at + 1;
      ++at;
      continue;
    }
    const std::string_view key = lower_line.substr(key_start, at - key_start);
    Scanner scan(line, at);
    if (const auto time = scan.duration()) {
      if (scan.any_of("/")) {
        if (scan.literal("epoch") || (scan.literal("ep") && !is_word(scan.peek())))
          out.time = time;
        else if (scan.literal("it") || scan.literal("step") || scan.literal("batch"))
          event.step_time = time;
      } else if (Scanner both = scan; both.literal(" / ") && (event.clock = both.duration())) {
        out.time = time;  // "4.2s / 17.1s": of the epoch and of all so far
        scan = both;
      } else if (scan.literal(" per step") || scan.literal(" per batch") || scan.literal(" per iter")) {
        event.step_time = time;
      } else if (is_so_far(scan)) {
        event.clock = time;
      } else if (counts_steps(counted) && trimmed(key) == counted + " in") {
        out.time = time;  // "100 steps in 60.1s"
        named = true;
      } else if (!trimmed(key).ends_with(" at") && !has_any(key, {"mem", "rss"})) {
        // But "finished at 22:13:07" and "rss 512m" are no durations.
        store_time(key, *time, event, train, out.time, named);
        // "epoch 3: 80.2 s (step 1: 40.0 s)": what follows the epoch at once is its own.
        if (key_start == from && from > 0 && key.find_first_not_of(" :|-(,=[") == std::string_view::npos) named = true;
        if (!has_any(key, {"total", "eta", "remain", "left"})) {
          parts += time->value;
          ++count_of_parts;
        }
      }
    } else if (const auto number = scan.number()) {
      Scanner unit = scan;
      unit.skip_spaces();
      const size_t unit_start = unit.position();
      size_t unit_end = unit_start;
      while (unit_end < line.size() && is_word(line[unit_end])) ++unit_end;
      const std::string_view name = lower_line.substr(unit_start, unit_end - unit_start);
      unit.move_to(unit_end);
      if (!name.empty() && (unit.literal("/s") || unit.literal(" per s"))) {
        if (name == counted && number->value > 0) {  // "25 updates, …, 4.5 updates/s"
          const auto inverse =
              Measured{count / number->value, count / number->high, number->low > 0 ? count / number->low : 0};
          if (!out.time && inverse.high > 0) out.time = inverse;
        }
        if (has_any(name, {"it", "step", "batch", "update"}))
          event.rate = number;
        else
          event.examples_rate = number;
      } else if (key.size() < 40 && number->value >= 0 && names_seconds(key)) {
        if (has_any(key, {"micro"}) && out.time)  // timedelta(seconds=60, microseconds=120000)
          out.time = *out.time + *number * 1e-6;
        else
          store_time(key, *number * (has_any(key, {"ms", "milli"}) ? 1e-3 : 1), event, train, out.time, named);
      } else {
        ++out.numbers;
        note_metric(key, number->value, event);
        constexpr double kLargestCount = 1e15;
        if (!name.empty() && number->value < kLargestCount && number->value == std::floor(number->value)) {
          counted = name;
          count = number->value;
          // Of this epoch, unless it says that earlier ones count too.
          if (counts_data(name) && !has_any(key, {"seen", "total", "so far"}) && !unit.literal(" seen") &&
              !unit.literal(" so far"))
            event.examples = count;
          if (counts_steps(name)) event.steps = static_cast<int64_t>(count);
        }
      }
    } else {
      ++at;
      continue;
    }
    at = std::max(scan.position(), at + 1);
    key_start = at;
  }
  // "train 3.2s, val 0.5s": an epoch is both; a time that names neither is the whole.
  if (!out.time && train) out.time = event.validation_time ? *train + *event.validation_time : *train;
  // "data 20.1s | forward 5.0s | backward 6.0s | total 31.1s": the total of this line, not of the run.
  if (event.clock && count_of_parts > 1 && std::abs(event.clock->value - parts) < 0.05 * parts) {
    out.time = event.clock;
    event.clock.reset();
  }
  return out;
}

}  // namespace isochron
