#include "isochron/readers/wrapped_log.h"

#include <algorithm>

#include "isochron/base/json.h"
#include "isochron/readers/keyed_values.h"

namespace isochron {
namespace {

// The name under which an object keeps its line; null: it keeps none.
const char* key_of_line(const Json& object) {
  if (!object.is_object()) return nullptr;
  for (const char* key : {"log", "message", "msg", "textPayload", "MESSAGE", "text", "event"})
    if (const auto found = object.find(key); found != object.end() && found->is_string()) return key;
  return nullptr;
}

}  // namespace

void WrappedLogReader::read_line(const std::string& line) {
  const Json object = parse_json_if_valid(line);
  const char* const key = key_of_line(object);
  if (!key) return console_.feed(line + "\n");
  KeyedValues values;
  bool told_by_fields = false;  // {"event": "epoch_end", "epoch": 3, "seconds": 12.1}
  for (const auto& [name, value] : object.items()) {
    if (value.is_primitive())
      values.emplace_back(name, value.is_string() ? value.get<std::string>() : json_text(value));
    told_by_fields = told_by_fields || names_epoch(name);
  }
  const auto written = keyed_wall_time(values);
  if (!origin_) origin_ = written;
  std::string text = told_by_fields ? line : object[key].get<std::string>();
  // Docker keeps the ends of lines, and long lines in parts; others leave them out.
  if (told_by_fields || std::string_view(key) != "log") text += '\n';
  console_.feed(text, written ? std::optional<double>(*written - *origin_) : std::nullopt);
}

void WrappedLogReader::feed(std::string_view bytes) {
  lines_.feed(bytes, [&](const std::string& line) { read_line(line); });
}

std::vector<RunRecord> WrappedLogReader::finish() {
  lines_.finish([&](const std::string& line) { read_line(line); });
  return console_.finish();
}

bool looks_like_wrapped_log(std::string_view start) {
  const std::string_view line = start.substr(0, start.find('\n'));
  return line.starts_with('{') && key_of_line(parse_json_if_valid(line)) != nullptr;
}

}  // namespace isochron
