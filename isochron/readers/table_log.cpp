#include "isochron/readers/table_log.h"

#include <algorithm>
#include <memory>

#include "isochron/base/error.h"
#include "isochron/base/json.h"
#include "isochron/readers/fit_builder.h"
#include "isochron/readers/keyed_values.h"
#include "isochron/readers/line_buffer.h"

namespace isochron {
namespace {

constexpr size_t kMostColumns = 512;

// Where commas are decimal points, columns are separated by semicolons.
char separator_of(std::string_view header) { return header.find(';') == std::string_view::npos ? ',' : ';'; }

std::vector<std::string> split_csv(std::string_view line, char separator) {
  std::vector<std::string> cells(1);
  bool quoted = false;
  for (const char c : line) {
    if (c == '"')
      quoted = !quoted;
    else if (c == separator && !quoted) {
      if (cells.size() >= kMostColumns) break;
      cells.emplace_back();
    } else if (c != '\r') {
      cells.back() += c == ',' && !quoted ? '.' : c;
    }
  }
  return cells;
}

std::string_view first_line(std::string_view text, size_t from = 0) {
  text = text.substr(std::min(from, text.size()));
  return text.substr(0, text.find('\n'));
}

bool names_training(const std::vector<std::string>& names) {
  for (const std::string& name : names) {
    if (names_epoch(name)) return true;
    const std::string plain = lowered(name);
    for (const std::string_view word : {"epoch", "step", "iter"})
      if (plain == word || plain.ends_with(std::string("_") + std::string(word)) ||
          plain.ends_with(std::string("/") + std::string(word)) || plain.starts_with(std::string(word)))
        return true;
  }
  return false;
}

}  // namespace

struct TableLogReader::State {
  State(Form f, std::string name) : form(f), source(std::move(name)) {}

  void read_line(std::string_view line) {
    if (trimmed(line).empty()) return;
    KeyedValues values;
    if (form == Form::csv) {
      if (columns.empty()) separator = separator_of(line);
      std::vector<std::string> cells = split_csv(line, separator);
      if (columns.empty()) {
        columns = std::move(cells);
        return;
      }
      if (cells == columns) return;  // a second run's header
      for (size_t i = 0; i < std::min(cells.size(), columns.size()); ++i)
        if (!cells[i].empty()) values.emplace_back(columns[i], cells[i]);
    } else {
      values = find_dictionary(line);
    }
    const auto event = keyed_event(values);
    if (!event) return;
    LogEvent row = *event;
    const auto wall = keyed_wall_time(values);
    // Keras' CSVLogger and Lightning's CSVs count epochs from 0, and a row closes its epoch.
    if (row.epoch && !row.step && row.kind == LogEvent::Kind::epoch_end) rows_are_epochs = true;
    builder.add(row, wall);
  }

  Form form;
  std::string source;
  FitBuilder builder;
  std::vector<std::string> columns;
  char separator = ',';
  LineBuffer lines;
  bool rows_are_epochs = false;
};

TableLogReader::TableLogReader(Form form, std::string source)
    : state_(std::make_unique<State>(form, std::move(source))) {}
TableLogReader::~TableLogReader() = default;

void TableLogReader::feed(std::string_view bytes) {
  state_->lines.feed(bytes, [&](const std::string& line) { state_->read_line(line); });
}

std::vector<RunRecord> TableLogReader::finish() {
  state_->lines.finish([&](const std::string& line) { state_->read_line(line); });
  std::vector<RunRecord> runs = state_->builder.finish();
  for (RunRecord& run : runs) {
    run.source = state_->form == Form::csv ? "csv" : "jsonl";
    run.open_epoch.reset();  // a table does not say what began and did not end
    if (!run.epochs.empty() && run.epochs.front().start > 1e9) {
      run.wall_start = run.epochs.front().start;
      for (Epoch& epoch : run.epochs) epoch.start -= *run.wall_start;
    }
  }
  return runs;
}

bool looks_like_csv(std::string_view start) {
  const std::string_view header = first_line(start);
  if (header.size() > 20000 || header.find_first_of(",;") == std::string_view::npos) return false;
  const char separator = separator_of(header);
  const auto names = split_csv(header, separator);
  // "epoch 1: loss 0.68, 5098 reads/s, 2.35 s" is a line of a log, not a row of names.
  for (const std::string& name : names)
    for (size_t i = 0; i < name.size(); ++i)
      if (name[i] == ':' || name[i] == '=' || (is_digit(name[i]) && (i == 0 || name[i - 1] == ' '))) return false;
  if (!names_training(names)) return false;
  const std::string_view row = first_line(start, header.size() + 1);
  return row.empty() || split_csv(row, separator).size() == names.size();
}

bool looks_like_json_lines(std::string_view start) {
  const std::string_view line = first_line(start);
  if (!line.starts_with('{') || trimmed(line).empty()) return false;
  const KeyedValues values = find_dictionary(line);
  std::vector<std::string> names;
  for (const auto& [name, value] : values) names.push_back(name);
  return names_training(names);
}

std::string notebook_output(const std::string& text) {
  const Json notebook = parse_json_if_valid(text);
  if (!notebook.is_object() || !notebook.contains("cells") || !notebook["cells"].is_array())
    fail<FileError>("notebook", "it has no cells");
  std::string out;
  const auto add = [&](const Json& part) {
    if (part.is_string()) out += part.get<std::string>();
    if (part.is_array())
      for (const Json& line : part)
        if (line.is_string()) out += line.get<std::string>();
  };
  for (const Json& cell : notebook["cells"]) {
    if (!cell.is_object() || !cell.contains("outputs") || !cell["outputs"].is_array()) continue;
    for (const Json& output : cell["outputs"]) {
      if (!output.is_object()) continue;
      if (output.contains("text")) add(output["text"]);
      if (output.contains("data") && output["data"].is_object() && output["data"].contains("text/plain"))
        add(output["data"]["text/plain"]);
      if (output.contains("traceback")) add(output["traceback"]);
      if (!out.empty() && out.back() != '\n') out += '\n';
    }
  }
  return out;
}

std::string trainer_history(const std::string& text) {
  const Json state = parse_json_if_valid(text);
  if (!state.is_object() || !state.contains("log_history") || !state["log_history"].is_array())
    fail<FileError>("trainer state", "it has no log_history");
  std::string lines;
  for (const Json& row : state["log_history"]) lines += json_text(row) + "\n";
  return lines;
}

}  // namespace isochron
