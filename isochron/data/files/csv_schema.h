// The columns of a CSV file: which are read, as what, and where their values go.
#pragma once

#include <limits>
#include <string>
#include <vector>

#include "isochron/data/files/csv.h"

namespace isochron::data::csv_file {

enum class Type : uint8_t { skipped, boolean, int64, int32, float32, float64, text };
std::string_view name_of(Type type);
DType dtype_of(Type type);

struct Column {
  std::string name;
  Type type = Type::skipped;
  bool inferred = false;  // may become a wider type
  bool has_default = false;
  double default_value = std::numeric_limits<double>::quiet_NaN();
  // Where values go: array `output`, `offset` bytes into its row of `stride` bytes.
  size_t output = 0, offset = 0, stride = 0;
};

// An array that is made of one or several columns.
struct Output {
  std::string name;
  Type type = Type::float32;
  std::vector<int64_t> dims = {};  // of a row
  size_t row_bytes = 0;
};

struct Schema {
  char delimiter = ',';
  std::vector<std::string> missing;
  std::vector<Column> columns;  // of the file
  std::vector<Output> outputs;
  bool is_missing(std::string_view text) const;
};

// From the first rows of a file (`text` ends with a newline and has 8 bytes behind it). `data_at` is where they begin
// behind the header. `stacked`: all but the label become one float32 array called "features".
Schema infer_schema(const std::string& path, std::string_view text, const CsvOptions& options, bool stacked,
                    size_t& data_at);
// Lays the outputs out anew after types have changed.
void lay_out(Schema& schema, const CsvOptions& options, bool stacked);

// The field at p, its quotes resolved (into `scratch` when it has escaped ones); p then points at the delimiter or
// newline behind it. nullptr text when a quote is never closed, or something follows a closing one.
std::string_view take_field(const char*& p, const char* end, char delimiter, std::string& scratch);

}  // namespace isochron::data::csv_file
