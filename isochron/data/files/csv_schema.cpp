#include "isochron/data/files/csv_schema.h"

#include <algorithm>
#include <charconv>
#include <cstring>

#include "isochron/base/names.h"

namespace isochron::data::csv_file {
namespace {

constexpr int kSampleRows = 1000;

bool is_boolean(std::string_view text) {
  return text == "true" || text == "false" || text == "True" || text == "False" || text == "TRUE" || text == "FALSE";
}

template <class T>
bool is_number(std::string_view text) {
  if (text.starts_with('+')) text.remove_prefix(1);
  T value;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  return end == text.data() + text.size() && (error == std::errc() || error == std::errc::result_out_of_range) &&
         !(std::is_integral_v<T> && error != std::errc());
}

Type type_of_field(std::string_view text) {
  if (is_number<int64_t>(text)) return Type::int64;
  if (is_number<double>(text)) return Type::float32;
  return is_boolean(text) ? Type::boolean : Type::text;
}

// The narrowest type that holds both.
Type widened(Type a, Type b) {
  if (a == Type::skipped || a == b) return b;
  if (b == Type::skipped) return a;
  const auto number = [](Type t) { return t == Type::int64 || t == Type::float32; };
  return number(a) && number(b) ? Type::float32 : Type::text;
}

bool end_of_row(char c) { return c == '\n' || c == '\r'; }

void skip_row_end(const char*& p, const char* end) {
  while (p < end && end_of_row(*p)) ++p;
}

// The fields of the row at p, which then points at the next row that is not blank.
std::vector<std::string> take_row(const char*& p, const char* end, char delimiter, const std::string& path) {
  std::vector<std::string> out;
  std::string scratch;
  for (;;) {
    const std::string_view field = take_field(p, end, delimiter, scratch);
    if (!field.data())
      fail<FileError>("read_csv", "{}: a quote in the first rows is never closed, or text follows it", path);
    out.emplace_back(field);
    if (p >= end || *p != delimiter) break;
    ++p;
  }
  skip_row_end(p, end);
  return out;
}

Type type_from_dtype(DType dtype, const std::string& column) {
  switch (dtype) {
    case DType::float32:
      return Type::float32;
    case DType::float64:
      return Type::float64;
    case DType::int32:
      return Type::int32;
    case DType::int64:
      return Type::int64;
    case DType::boolean:
      return Type::boolean;
    default:
      fail<ValueError>("read_csv", "column \"{}\": columns are float32, float64, int32, int64 or boolean, got {}",
                       column, dtype);
  }
}

Column& column_called(Schema& schema, const std::string& name, const std::string& path) {
  std::vector<std::string_view> names;
  for (Column& column : schema.columns) {
    if (column.name == name) return column;
    names.push_back(column.name);
  }
  fail<ValueError>("read_csv", "{}: there is no column \"{}\"{}", path, name, did_you_mean(name, names));
}

}  // namespace

std::string_view name_of(Type type) { return type == Type::text ? "string" : isochron::name_of(dtype_of(type)); }

DType dtype_of(Type type) {
  switch (type) {
    case Type::boolean:
      return DType::boolean;
    case Type::int64:
      return DType::int64;
    case Type::int32:
      return DType::int32;
    case Type::float64:
      return DType::float64;
    default:
      return DType::float32;
  }
}

bool Schema::is_missing(std::string_view text) const {
  return std::find(missing.begin(), missing.end(), text) != missing.end();
}

std::string_view take_field(const char*& p, const char* end, char delimiter, std::string& scratch) {
  while (p < end && *p == ' ' && delimiter != ' ') ++p;
  const char* start = p;
  if (p < end && *p == '"') {
    bool escaped = false;
    start = ++p;
    for (;;) {
      const auto* quote = static_cast<const char*>(std::memchr(p, '"', static_cast<size_t>(end - p)));
      if (!quote) return {};
      if (quote + 1 < end && quote[1] == '"') {
        if (!escaped) scratch.clear();
        escaped = true;
        scratch.append(start, quote + 1);
        start = p = quote + 2;
        continue;
      }
      p = quote + 1;
      while (p < end && *p == ' ' && delimiter != ' ') ++p;
      if (p < end && *p != delimiter && !end_of_row(*p)) return {};
      if (!escaped) return {start, static_cast<size_t>(quote - start)};
      scratch.append(start, quote);
      return scratch;
    }
  }
  while (p < end && *p != delimiter && !end_of_row(*p)) ++p;
  const char* stop = p;
  while (stop > start && stop[-1] == ' ') --stop;
  return {start, static_cast<size_t>(stop - start)};
}

void lay_out(Schema& schema, const CsvOptions& options, bool stacked) {
  schema.outputs.clear();
  if (stacked) schema.outputs.push_back({"features", Type::float32, {0}, 0});
  for (Column& column : schema.columns) {
    if (column.type == Type::skipped) continue;
    if (stacked && column.name != options.label) {
      Output& features = schema.outputs[0];
      column.output = 0;
      column.offset = features.row_bytes;
      column.type = column.type == Type::text ? Type::text : Type::float32;
      features.row_bytes += sizeof(float);
      ++features.dims[0];
    } else {
      column.output = schema.outputs.size();
      column.offset = 0;
      schema.outputs.push_back(
          {column.name, column.type, {}, column.type == Type::text ? 0 : size_of(dtype_of(column.type))});
    }
  }
  for (Column& column : schema.columns)
    if (column.type != Type::skipped) column.stride = schema.outputs[column.output].row_bytes;
}

Schema infer_schema(const std::string& path, std::string_view text, const CsvOptions& options, bool stacked,
                    size_t& data_at) {
  Schema schema;
  schema.delimiter = options.delimiter;
  schema.missing = options.missing;
  if (options.delimiter == '\n' || options.delimiter == '\r' || options.delimiter == '"')
    fail<ValueError>("read_csv", "a newline or a quote can't be the delimiter");
  if (text.starts_with("\xFF\xFE") || text.starts_with("\xFE\xFF"))
    fail<FileError>("read_csv", "{}: the text is UTF-16; convert it first: iconv -f UTF-16 -t UTF-8", path);
  const char *p = text.data(), *const end = text.data() + text.size();
  if (text.starts_with("\xEF\xBB\xBF")) p += 3;  // the mark some programs put before UTF-8
  skip_row_end(p, end);
  if (p == end) fail<FileError>("read_csv", "{}: the file has no rows", path);
  const char* const first_row = p;
  std::vector<std::string> names = take_row(p, end, options.delimiter, path);
  if (!options.header) {
    p = first_row;
    for (size_t i = 0; i < names.size(); ++i) names[i] = std::to_string(i);
  }
  data_at = static_cast<size_t>(p - text.data());
  for (std::string& name : names) schema.columns.push_back({.name = std::move(name)});

  std::vector<Type> types(schema.columns.size(), Type::skipped);
  std::vector<bool> missing(schema.columns.size(), false);
  for (int row = 0; row < kSampleRows && p < end; ++row) {
    const std::vector<std::string> fields = take_row(p, end, options.delimiter, path);
    for (size_t i = 0; i < std::min(fields.size(), types.size()); ++i) {
      if (schema.is_missing(fields[i]))
        missing[i] = true;
      else
        types[i] = widened(types[i], type_of_field(fields[i]));
    }
  }
  const auto listed = [](const std::vector<std::string>& list, const std::string& name) {
    return std::find(list.begin(), list.end(), name) != list.end();
  };
  for (const auto* list : {&options.columns, &options.texts})
    for (const std::string& name : *list) column_called(schema, name, path);
  for (const auto& [name, value] : options.defaults) {
    Column& column = column_called(schema, name, path);
    column.has_default = true;
    column.default_value = value;
  }
  for (size_t i = 0; i < types.size(); ++i) {
    Column& column = schema.columns[i];
    if (!options.columns.empty() && !listed(options.columns, column.name) && column.name != options.label) continue;
    column.inferred = true;
    column.type = types[i] == Type::skipped ? Type::float32 : types[i];
    // A gap in whole numbers needs NaN, unless a default fills it.
    if (missing[i] && column.type == Type::int64 && !column.has_default) column.type = Type::float32;
  }
  for (const auto& [name, dtype] : options.dtypes) {
    Column& column = column_called(schema, name, path);
    column.inferred = false;
    column.type = type_from_dtype(dtype, name);
  }
  for (const std::string& name : options.texts) {
    Column& column = column_called(schema, name, path);
    column.inferred = false;
    column.type = Type::text;
  }
  if (!options.label.empty()) column_called(schema, options.label, path);
  if (stacked)
    for (const Column& column : schema.columns)
      if (column.type == Type::text && column.name != options.label)
        fail<ValueError>(
            "csv",
            "{}: column \"{}\" holds strings, which are no features; leave it out by `columns`, or read_csv "
            "and encode_categories",
            path, column.name);
  lay_out(schema, options, stacked);
  return schema;
}

}  // namespace isochron::data::csv_file
