#include "isochron/readers/keyed_values.h"

#include <algorithm>
#include <cmath>

#include "isochron/readers/timestamp.h"

namespace isochron {
namespace {

constexpr size_t kMostValues = 256;

bool contains(std::string_view text, std::string_view part) { return text.find(part) != std::string_view::npos; }

// "trainer/global_step" -> "global_step"; "Epoch Time (s)" -> "epoch_time"
std::string plain_key(std::string_view key) {
  // "sec/epoch" is no epoch.
  if (const std::string whole = lowered(trimmed(key)); whole.ends_with("/epoch"))
    if (const std::string unit = whole.substr(0, whole.size() - 6);
        is_one_of(unit, {"s", "sec", "secs", "seconds", "time"}))
      return "epoch_time";
  if (const size_t slash = key.rfind('/'); slash != std::string_view::npos && slash + 1 < key.size())
    key = key.substr(slash + 1);
  std::string plain = lowered(trimmed(key.substr(0, key.find('('))));
  std::replace(plain.begin(), plain.end(), ' ', '_');
  std::replace(plain.begin(), plain.end(), '-', '_');
  return plain;
}

bool in_milliseconds(std::string_view key) { return key == "ms" || key.ends_with("_ms") || key.ends_with("_millis"); }

bool tells_time(std::string_view key) {
  if (contains(key, "per_s")) return false;  // a rate
  return is_one_of(key, {"time", "dur", "duration", "seconds", "secs", "sec", "took", "runtime", "elapsed", "time_s",
                         "wall", "t", "dt", "time_elapsed", "timeelapsed", "time_taken"}) ||
         key.ends_with("_time") || key.ends_with("_seconds") || key.ends_with("_duration") ||
         key.ends_with("_runtime") || key.ends_with("_sec") || key.ends_with("_secs") || key.ends_with("_s") ||
         in_milliseconds(key);
}

std::optional<Measured> whole_duration(std::string_view text) {
  Scanner scan(trimmed(text));
  auto time = scan.duration();
  if (!time) time = scan.number();
  return time && scan.done() && time->value >= 0 ? time : std::nullopt;
}

std::optional<Measured> whole_number(std::string_view text) {
  Scanner scan(trimmed(text));
  const auto value = scan.number();
  return value && scan.done() ? value : std::nullopt;
}

// "3/10"
bool read_epoch_of(std::string_view text, LogEvent& event) {
  Scanner scan(trimmed(text));
  const auto epoch = scan.count();
  const auto epochs = epoch && scan.any_of("/") ? scan.count() : std::nullopt;
  if (!epochs || !scan.done() || *epoch > *epochs) return false;
  event.epoch = epoch;
  event.epochs = epochs;
  return true;
}

}  // namespace

bool names_time(std::string_view key) { return tells_time(plain_key(key)); }

bool names_epoch(std::string_view key) {
  return is_one_of(plain_key(key), {"epoch", "ep", "current_epoch", "epochs_completed"});
}

std::optional<LogEvent> keyed_event(const KeyedValues& values) {
  LogEvent event;
  std::optional<Measured> time, train_time;
  bool any = false;
  // Hugging Face's Trainer counts fractions of epochs, and shows a whole one as '1'.
  const bool trainer = std::any_of(values.begin(), values.end(), [](const auto& value) {
    return is_one_of(value.first, {"grad_norm", "train_runtime", "eval_runtime", "train_samples_per_second"});
  });
  if (trainer) event.framework = "torch";
  // The time in ultralytics' results.csv is that since the run began.
  const bool since_start =
      std::any_of(values.begin(), values.end(), [](const auto& value) { return trimmed(value.first) == "lr/pg0"; });
  for (const auto& [name, text] : values) {
    const std::string key = plain_key(name);
    if (tells_time(key)) {
      auto value = whole_duration(text);
      if (!value || (key == "t" && !contains(text, "."))) continue;  // a whole t is a step
      if (in_milliseconds(key) && whole_number(text)) value = *value * 1e-3;
      if (is_one_of(key, {"data_time", "load_time", "data_seconds"}))
        event.data_time = value;
      else if (is_one_of(key, {"iter_time", "step_time", "batch_time", "step_seconds"}))
        event.step_time = value;
      else if (contains(key, "epoch"))
        event.epoch_time = value;
      else if (key == "train_runtime")
        event.run_time = value;
      else if (contains(key, "eval") || contains(key, "val") || contains(key, "test"))
        event.validation_time = value;
      else if (contains(key, "train"))
        train_time = value;
      else if (contains(key, "elapsed") || contains(key, "total") || contains(key, "wall") || since_start)
        event.clock = value;
      else if (key != "wall_time")
        time = value;
      continue;
    }
    if (names_epoch(key) && read_epoch_of(text, event)) {
      any = true;
      continue;
    }
    const auto value = whole_number(text);
    if (!value) continue;
    const bool whole = value->value == std::floor(value->value) && value->value >= 0 && value->value < 1e15;
    if (names_epoch(key)) {
      any = true;
      if (whole && !contains(text, ".") && !trainer)
        event.epoch = static_cast<int64_t>(value->value);
      else
        event.epoch_position = value->value;
    } else if (whole && is_one_of(key, {"step", "steps", "iter", "iteration", "global_step", "batch"})) {
      event.step = static_cast<int64_t>(value->value);
    } else if (is_one_of(key, {"num_input_tokens_seen", "tokens", "total_tokens", "tokens_seen"})) {
      event.tokens = value->value;
    } else if (event.metrics.size() < 64) {
      event.metrics.emplace_back(name, value->value);
    }
  }
  const bool begins = std::any_of(values.begin(), values.end(), [](const auto& value) {
    return is_one_of(value.first, {"msg", "message", "event", "type", "name", "status"}) &&
           (contains(lowered(value.second), "start") || contains(lowered(value.second), "begin"));
  });
  if (begins && event.epoch && !time && !train_time && !event.epoch_time) event.kind = LogEvent::Kind::epoch_begin;
  // fairseq's "update": 1.25 beside its "epoch": 2 is a line from the middle of an epoch.
  const bool inner = event.epoch && std::any_of(values.begin(), values.end(),
                                                [](const auto& value) { return value.first == "update"; });
  const bool per_step = inner || (event.step && !event.epoch_position);
  if (time && per_step && !event.step_time)
    event.step_time = time;
  else if (time && !event.epoch_time)
    event.epoch_time = time;
  if (train_time && !event.epoch_time && !per_step) event.epoch_time = train_time;
  if (event.run_time)
    event.kind = LogEvent::Kind::run_end;
  else if (event.validation_time && !event.epoch_time)
    event.role = LogEvent::Role::validation;
  else if (per_step)
    event.kind = LogEvent::Kind::step;
  if (!any && !event.epoch_time && !event.run_time && !event.step) return std::nullopt;
  return event;
}

std::optional<double> keyed_wall_time(const KeyedValues& values) {
  for (const auto& [name, text] : values) {
    const std::string key = plain_key(name);
    if (!is_one_of(key, {"timestamp", "_timestamp", "@timestamp", "asctime", "wall_time", "walltime", "created_at",
                         "date", "datetime", "ts", "time"}))
      continue;
    const auto stamp = find_timestamp(text);
    if (stamp && stamp->kind == Timestamp::Kind::absolute) return stamp->seconds;
  }
  return std::nullopt;
}

KeyedValues find_dictionary(std::string_view line) {
  KeyedValues values;
  const size_t open = line.find('{');
  if (open == std::string_view::npos) return values;
  Scanner scan(line, open + 1);
  while (!scan.done() && values.size() < kMostValues) {
    scan.skip_spaces();
    const char quote = scan.peek();
    if (quote != '\'' && quote != '"') break;
    const std::string_view rest = scan.rest().substr(1);
    const size_t close = rest.find(quote);
    if (close == std::string_view::npos) break;
    const std::string_view key = rest.substr(0, close);
    scan.move_to(scan.position() + close + 2);
    scan.skip_spaces();
    if (!scan.any_of(":")) break;
    scan.skip_spaces();
    std::string_view value = scan.rest();
    size_t end = 0;
    if (!value.empty() && (value[0] == '\'' || value[0] == '"')) {
      end = value.find(value[0], 1);
      if (end == std::string_view::npos) break;
      values.emplace_back(key, value.substr(1, end - 1));
      ++end;
    } else {
      // Brackets inside a value (lists, tensor(0.3)) keep their commas.
      int depth = 0;
      for (; end < value.size(); ++end) {
        const char c = value[end];
        if (c == '(' || c == '[' || c == '{')
          ++depth;
        else if (depth > 0 && (c == ')' || c == ']' || c == '}'))
          --depth;
        else if (depth == 0 && (c == ',' || c == '}'))
          break;
      }
      values.emplace_back(key, trimmed(value.substr(0, end)));
    }
    scan.move_to(scan.position() + end);
    scan.skip_spaces();
    if (!scan.any_of(",")) break;
  }
  return values;
}

}  // namespace isochron
