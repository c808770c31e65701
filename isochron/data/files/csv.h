// CSV files: plain, gzip or zstd; read whole in parallel, or block by block with bounded memory.
//
//   CsvTable table = read_csv("train.csv", {.label = "target"});
//   Tensor x = table.features();                       // float32 (rows, k): all columns of numbers but the label
//   Tensor y = table["target"];
//
//   Dataset rows = csv("train.csv", {.label = "target"}).shuffle(10000).batch(32);   // (features, target)
//   Dataset rows = csv("huge-*.csv.zst", {.in_memory = false});                      // a stream
//
// Columns are int64, float32, boolean ("true", "false") or strings, as the first rows say; in a file that is read
// whole, a column in which other values come later becomes the wider type. Fields may be quoted ("a ""quoted"" word",
// newlines included). Missing values (nothing, NA, nan, null, …) become the column's default, else NaN in float
// columns; in others they are errors. Errors name the line, the column and the text. Blank lines are passed over.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "isochron/data/dataset.h"

namespace isochron::data {

struct CsvOptions {
  char delimiter = ',';
  bool header = true;                           // without: columns are called "0", "1", …
  std::vector<std::string> columns = {};        // to read; all by default
  std::string label = {};                       // column kept out of the features
  std::map<std::string, DType> dtypes = {};     // said instead of inferred: float32, float64, int32, int64, boolean
  std::vector<std::string> texts = {};          // columns of strings, said instead of inferred
  std::map<std::string, double> defaults = {};  // for missing values, by column
  std::vector<std::string> missing = {"", "NA", "N/A", "NaN", "nan", "null", "NULL", "None"};
  int64_t max_row_bytes = int64_t{64} << 20;
  bool in_memory = true;  // of csv(): read whole at once, so that rows have numbers; else a stream
};

class CsvTable {
 public:
  CsvTable(std::vector<std::string> names, std::vector<Component> columns, std::string label);
  int64_t rows() const { return columns_.empty() ? 0 : columns_[0].shape()[0]; }
  const std::vector<std::string>& names() const { return names_; }
  // A column by name, (rows); ValueError with a suggestion when there is none.
  const Component& operator[](const std::string& name) const;
  const std::vector<Component>& columns() const { return columns_; }
  // All columns of numbers except the label as one float32 array.
  Tensor features() const;

 private:
  std::vector<std::string> names_;
  std::vector<Component> columns_;
  std::string label_;
};

CsvTable read_csv(const std::string& path, const CsvOptions& options = {});

// One element a row: with a label, (features float32 (k), label), where the features are all other columns and must be
// numbers; without, one component a column, by name. `pattern` may match several files with the same columns.
Dataset csv(const std::string& pattern, const CsvOptions& options = {});

// Strings as numbers 0 … n - 1 in the order in which they first appear.
struct Categories {
  Tensor codes;  // int64, in the shape of the strings
  Strings names;
};
Categories encode_categories(const Component& strings);

}  // namespace isochron::data
