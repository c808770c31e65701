#include "isochron/data/files/csv.h"

#include <fmt/ranges.h>

#include <algorithm>
#include <atomic>
#include <cstring>
#include <future>
#include <mutex>
#include <optional>
#include <unordered_map>

#include "isochron/base/names.h"
#include "isochron/base/signals_blocked.h"
#include "isochron/base/threads.h"
#include "isochron/data/files/csv_parse.h"
#include "isochron/data/files/file_stream.h"
#include "isochron/data/files/opening.h"
#include "isochron/data/files/paths.h"
#include "isochron/timeline/timeline.h"

namespace isochron::data {
namespace {

using csv_file::BlockReader;
using csv_file::FieldError;
using csv_file::Rows;
using csv_file::Schema;
using csv_file::TextBlock;

// The first block of a file; its rows begin at `data_at`.
struct Start {
  TextBlock block;
  size_t data_at = 0;
};

Start read_start(BlockReader& reader) {
  Start start;
  if (!reader.next(start.block)) fail<FileError>("read_csv", "{}: the file is empty", reader.path());
  return start;
}

// Whether arrays of rows stay where they were parsed, all as long as each other.
enum class Lifetime { together, each_its_own };

// All rows of a file, one Rows a block in their order. FieldError with the smallest offset when one does not fit.
std::vector<Rows> parse_file(BlockReader& reader, const Start& start, const Schema& schema, bool one_block,
                             Lifetime lifetime) {
  std::mutex reading;
  std::optional<FieldError> error;
  std::vector<Rows> all(1);
  bool first_given = false, stop = false;
  ThreadTeam& team = ThreadTeam::global();
  // Of a file of one block the other threads would have nothing.
  team.parallel(one_block ? 1 : team.size(), [&](int, int) {
    TextBlock block;
    Slabs slabs;
    Slabs* const shared = one_block || lifetime == Lifetime::each_its_own ? nullptr : &slabs;
    for (;;) {
      size_t index = 0;
      const TextBlock* text = &block;
      size_t skip = 0;
      {
        const std::lock_guard lock(reading);
        if (stop) return;
        if (!first_given) {
          first_given = true;
          text = &start.block;
          skip = start.data_at;
        } else {
          try {
            if (!reader.next(block)) {
              stop = true;
              return;
            }
          } catch (...) {
            stop = true;
            throw;
          }
          index = all.size();
          all.emplace_back();
        }
      }
      try {
        Rows rows = csv_file::parse_rows(schema, *text, skip, shared);
        const std::lock_guard lock(reading);
        all[index] = std::move(rows);
      } catch (const FieldError& e) {
        const std::lock_guard lock(reading);
        stop = true;
        if (!error || e.offset < error->offset) error = e;
        return;
      }
    }
  });
  if (error) throw *error;
  return all;
}

struct Parsed {
  Schema schema;
  std::vector<Rows> blocks;
};

Parsed parse_whole(const std::string& path, const CsvOptions& options, bool stacked, Lifetime lifetime) {
  const ScopedSpan span(Phase::input, "read csv");
  BlockReader reader(path, options.max_row_bytes);
  Start start = read_start(reader);
  Schema schema = csv_file::infer_schema(path, start.block.text(), options, stacked, start.data_at);
  const int64_t second_block = reader.offset();
  const bool one_block = reader.ended();
  for (;;) {
    try {
      return {schema, parse_file(reader, start, schema, one_block, lifetime)};
    } catch (const FieldError& error) {
      const bool fixed = error.wider == csv_file::Type::skipped || (stacked && error.wider == csv_file::Type::text &&
                                                                    schema.columns[error.column].name != options.label);
      if (fixed) csv_file::fail_field(path, schema, error);
      schema.columns[error.column].type = error.wider;
      csv_file::lay_out(schema, options, stacked);
      reader.seek(second_block);
    }
  }
}

// One array of all blocks; their memory is given back on the way.
Component column_of(const csv_file::Output& output, size_t index, std::vector<Rows>& blocks) {
  int64_t rows = 0;
  for (const Rows& block : blocks) rows += block.count;
  std::vector<int64_t> dims = output.dims;
  dims.insert(dims.begin(), rows);
  if (output.type == csv_file::Type::text) {
    Strings texts;
    texts.reserve(static_cast<size_t>(rows));
    for (Rows& block : blocks) {
      std::move(block.texts[index].begin(), block.texts[index].end(), std::back_inserter(texts));
      block.texts[index] = {};
    }
    return Component(std::move(texts), Shape(dims));
  }
  const TensorSpec spec{csv_file::dtype_of(output.type), Shape(dims)};
  Storage bytes = Storage::allocate(static_cast<size_t>(spec.bytes()));
  std::byte* to = bytes.data();
  for (Rows& block : blocks) {
    const size_t size = static_cast<size_t>(block.count) * output.row_bytes;
    if (size > 0) std::memcpy(to, block.arrays[index].data(), size);
    to += size;
    block.arrays[index] = {};
  }
  return Component(Tensor::from_storage(std::move(bytes), spec));
}

std::vector<ComponentSpec> specs_of(const Schema& schema) {
  std::vector<ComponentSpec> out;
  for (const csv_file::Output& output : schema.outputs)
    out.push_back({csv_file::dtype_of(output.type), output.dims, output.type == csv_file::Type::text});
  return out;
}

Names names_of(const Schema& schema) {
  std::vector<std::string> names;
  for (const csv_file::Output& output : schema.outputs) names.push_back(output.name);
  return std::make_shared<const std::vector<std::string>>(std::move(names));
}

void add_row(const Schema& schema, const Rows& rows, int64_t row, Element& out) {
  for (size_t i = 0; i < schema.outputs.size(); ++i) {
    const csv_file::Output& output = schema.outputs[i];
    if (output.type == csv_file::Type::text)
      out.add(Component(rows.texts[i][static_cast<size_t>(row)]));
    else
      out.add(Component::row({csv_file::dtype_of(output.type), Shape(output.dims)},
                             rows.arrays[i].data() + static_cast<size_t>(row) * output.row_bytes, rows.arrays[i]));
  }
}

// What decides about the rows beside the files.
std::string fingerprint_of(const CsvOptions& options) {
  std::vector<std::string> dtypes;
  for (const auto& [column, dtype] : options.dtypes) dtypes.push_back(fmt::format("{} {}", column, name_of(dtype)));
  return fmt::format("{}:{}:{}:{}:{}:{}:{}:{}", options.delimiter, options.header, options.columns, options.label,
                     dtypes, options.texts, options.defaults, options.missing);
}

// Rows where they were parsed: nothing is joined or copied.
class CsvRows : public IndexedSource {
 public:
  CsvRows(std::vector<std::string> paths, const CsvOptions& options, bool stacked)
      : paths_(std::move(paths)),
        fingerprint_("csv:" + fingerprint_of(options) + ":" + fingerprint_of_files(paths_)),
        opening_(paths_) {
    starts_.push_back(0);
    for (const std::string& path : paths_) {
      Parsed parsed = parse_whole(path, options, stacked, Lifetime::together);
      if (schema_.outputs.empty()) schema_ = parsed.schema;
      if (specs_of(parsed.schema) != specs_of(schema_) || *names_of(parsed.schema) != *names_of(schema_))
        fail<FileError>("csv", "{}: its columns differ from those of {}; say `dtypes` if they should be the same", path,
                        paths_[0]);
      for (Rows& rows : parsed.blocks) {
        starts_.push_back(starts_.back() + rows.count);
        blocks_.push_back(std::move(rows));
        file_of_block_.push_back(static_cast<size_t>(&path - paths_.data()));
      }
    }
    opening_.done();
    names_ = names_of(schema_);
    for (const csv_file::Output& output : schema_.outputs) texts_ = texts_ || output.type == csv_file::Type::text;
  }
  int64_t size() const override { return starts_.back(); }
  void get(int64_t i, Element& out) const override {
    const size_t block = block_of(i);
    add_row(schema_, blocks_[block], i - starts_[block], out);
    out.set_names(names_);
  }
  bool view(int64_t i, std::span<const std::byte*> rows) const override {
    if (texts_) return false;
    const size_t block = block_of(i);
    for (size_t c = 0; c < rows.size(); ++c)
      rows[c] =
          blocks_[block].arrays[c].data() + static_cast<size_t>(i - starts_[block]) * schema_.outputs[c].row_bytes;
    return true;
  }
  bool slice(int64_t first, int64_t count, Element& out) const override {
    const size_t block = block_of(first);
    if (texts_ || first + count > starts_[block + 1]) return false;
    for (size_t c = 0; c < schema_.outputs.size(); ++c) {
      const csv_file::Output& output = schema_.outputs[c];
      const Storage& bytes = blocks_[block].arrays[c];
      out.emplace(TensorSpec{csv_file::dtype_of(output.type), Shape(output.dims).insert(0, count)},
                  bytes.data() + static_cast<size_t>(first - starts_[block]) * output.row_bytes, bytes);
    }
    return true;
  }
  std::vector<ComponentSpec> specs() const override { return specs_of(schema_); }
  Names names() const override { return names_; }
  std::string describe() const override { return describe_files("csv", paths_); }
  std::string fingerprint() const override { return fingerprint_; }
  std::string file_of(int64_t i) const override { return paths_[file_of_block_[block_of(i)]]; }
  std::string note() const override { return opening_.note(describe()); }
  bool in_memory() const override { return true; }

 private:
  size_t block_of(int64_t i) const {
    size_t block = last_block_.load(std::memory_order_relaxed);  // mostly the one asked for last
    if (i >= starts_[block] && i < starts_[block + 1]) return block;
    block = static_cast<size_t>(std::upper_bound(starts_.begin(), starts_.end(), i) - starts_.begin()) - 1;
    last_block_.store(block, std::memory_order_relaxed);
    return block;
  }
  std::vector<std::string> paths_;
  std::string fingerprint_;
  Opening opening_;
  Schema schema_;
  std::vector<Rows> blocks_;
  std::vector<int64_t> starts_;
  std::vector<size_t> file_of_block_;
  Names names_;
  bool texts_ = false;
  mutable std::atomic<size_t> last_block_{0};
};

// Block by block; the next one is unpacked and parsed by another thread meanwhile.
class CsvStreamReader : public StreamReader {
 public:
  CsvStreamReader(const std::string& path, std::shared_ptr<const Schema> schema, const CsvOptions& options,
                  bool stacked)
      : reader_(path, options.max_row_bytes), schema_(std::move(schema)), names_(names_of(*schema_)) {
    Start start = read_start(reader_);
    const Schema found = csv_file::infer_schema(path, start.block.text(), options, stacked, start.data_at);
    if (found.columns.size() != schema_->columns.size())
      fail<FileError>("csv", "{}: has {} columns, the first file has {}", path, found.columns.size(),
                      schema_->columns.size());
    reader_.seek(static_cast<int64_t>(start.data_at));
  }
  bool next(Element& out) override {
    while (row_ == block_.rows.count) {
      if (block_.error) fail_behind_rows();
      row_ = block_.rows.count = 0;  // also when the next line throws
      block_ = ahead_.valid() ? ahead_.get() : read_block();
      if (block_.rows.count == 0 && block_.last) return false;
      if (!block_.last) {
        const SignalsBlocked signals;
        ahead_ = std::async(std::launch::async, [this] { return read_block(); });
      }
    }
    add_row(*schema_, block_.rows, row_++, out);
    out.set_names(names_);
    return true;
  }
  void save(StateWriter& state) const override {
    state.put(block_.at);
    state.put(row_);
  }
  void restore(StateReader& state) override {
    if (ahead_.valid()) ahead_.wait();
    ahead_ = {};
    rest_ = 0;
    block_ = {.at = state.get_count()};
    reader_.seek(block_.at);
    const int64_t row = state.get_count();
    row_ = 0;
    if (row == 0) return;
    Element dropped;
    if (!next(dropped) || row > block_.rows.count) fail<StateError>("restore", "{}: has changed", reader_.path());
    row_ = row;
  }
  std::string file() const override { return reader_.path(); }

 private:
  struct Block {
    int64_t at = 0;  // in the file
    Rows rows = {};
    bool last = false;
    std::exception_ptr error = {};  // of the row behind these
    int64_t goes_on = 0;            // in the file, behind that row
  };
  Block read_block() {
    const size_t from = std::exchange(rest_, 0);
    Block block{.at = from > 0 ? text_.offset + static_cast<int64_t>(from) : reader_.offset()};
    block.last = from == 0 && !reader_.next(text_);
    if (block.last) return block;
    try {
      block.rows = csv_file::parse_rows(*schema_, text_, from);
    } catch (const FieldError& error) {
      read_up_to(error, from, block);
    }
    return block;
  }
  // Rows in front of the one that is wrong come before its error, and those behind it after that.
  void read_up_to(const FieldError& error, size_t from, Block& block) {
    const auto in_block = static_cast<size_t>(error.offset - text_.offset);
    const csv_file::RowPlace bad = csv_file::row_at(text_.text().substr(from), in_block - from, schema_->delimiter);
    const size_t whole = std::exchange(text_.size, from + bad.begin);
    if (bad.begin > 0) block.rows = csv_file::parse_rows(*schema_, text_, from);
    text_.size = whole;
    if (from + bad.end < whole) rest_ = from + bad.end;
    block.goes_on = rest_ > 0 ? text_.offset + static_cast<int64_t>(rest_) : reader_.offset();
    try {
      csv_file::fail_field(reader_.path(), *schema_, error);
    } catch (const FileError&) {
      block.error = std::current_exception();
    }
  }
  [[noreturn]] void fail_behind_rows() {
    const std::exception_ptr error = block_.error;
    block_ = {.at = block_.goes_on};
    row_ = 0;
    std::rethrow_exception(error);
  }

  BlockReader reader_;
  std::shared_ptr<const Schema> schema_;
  Names names_;
  TextBlock text_;
  size_t rest_ = 0;  // where rows of text_ go on that are yet to be parsed; 0: there are none
  Block block_{.at = reader_.offset()};
  int64_t row_ = 0;
  std::future<Block> ahead_;  // uses reader_ and text_ while it runs; goes first
};

}  // namespace

CsvTable::CsvTable(std::vector<std::string> names, std::vector<Component> columns, std::string label)
    : names_(std::move(names)), columns_(std::move(columns)), label_(std::move(label)) {}

const Component& CsvTable::operator[](const std::string& name) const {
  for (size_t i = 0; i < names_.size(); ++i)
    if (names_[i] == name) return columns_[i];
  fail<ValueError>("csv", "there is no column \"{}\"{}", name, did_you_mean(name, {names_.begin(), names_.end()}));
}

Tensor CsvTable::features() const {
  std::vector<const Component*> used;
  for (size_t i = 0; i < names_.size(); ++i)
    if (names_[i] != label_ && !columns_[i].is_text()) used.push_back(&columns_[i]);
  const auto width = static_cast<int64_t>(used.size());
  const TensorSpec spec{DType::float32, {rows(), width}};
  Storage bytes = Storage::allocate(static_cast<size_t>(spec.bytes()));
  auto* to = reinterpret_cast<float*>(bytes.data());
  // Some rows at a time, so that a row's cache lines are still there for its next column.
  constexpr int64_t kRows = 256;
  for (int64_t begin = 0; begin < rows(); begin += kRows)
    for (int64_t c = 0; c < width; ++c)
      visit_dtype(used[static_cast<size_t>(c)]->dtype(), [&]<class T>(Type<T>) {
        const auto* from = reinterpret_cast<const T*>(used[static_cast<size_t>(c)]->data());
        for (int64_t row = begin; row < std::min(rows(), begin + kRows); ++row)
          to[row * width + c] = static_cast<float>(from[row]);
      });
  return Tensor::from_storage(std::move(bytes), spec);
}

CsvTable read_csv(const std::string& path, const CsvOptions& options) {
  Parsed parsed = parse_whole(path, options, false, Lifetime::each_its_own);
  std::vector<std::string> names;
  std::vector<Component> columns;
  for (size_t i = 0; i < parsed.schema.outputs.size(); ++i) {
    names.push_back(parsed.schema.outputs[i].name);
    columns.push_back(column_of(parsed.schema.outputs[i], i, parsed.blocks));
  }
  return CsvTable(std::move(names), std::move(columns), options.label);
}

Dataset csv(const std::string& pattern, const CsvOptions& options) {
  std::vector<std::string> paths = matching_files(pattern);
  const bool stacked = !options.label.empty();
  if (options.in_memory) return from_source(std::make_shared<const CsvRows>(std::move(paths), options, stacked));
  BlockReader reader(paths[0], options.max_row_bytes);
  Start start = read_start(reader);
  if (!reader.in_file())
    fail<FileError>("csv",
                    "{}: a pipe can be read only once, a stream of rows starts anew in every pass; leave "
                    "in_memory on, or put it into a file",
                    paths[0]);
  auto schema = std::make_shared<const Schema>(
      csv_file::infer_schema(paths[0], start.block.text(), options, stacked, start.data_at));
  return from_source(std::make_shared<const FileStream>(
      "csv", std::move(paths),
      [=](const std::string& path) { return std::make_unique<CsvStreamReader>(path, schema, options, stacked); },
      fingerprint_of(options)));
}

Categories encode_categories(const Component& strings) {
  std::unordered_map<std::string_view, int64_t> codes;
  Categories out;
  std::vector<int64_t> numbers;
  for (const std::string& text : strings.texts()) {
    const auto [found, added] = codes.try_emplace(text, static_cast<int64_t>(codes.size()));
    if (added) out.names.push_back(text);
    numbers.push_back(found->second);
  }
  out.codes = Tensor::from_buffer(std::move(numbers), strings.shape());
  return out;
}

}  // namespace isochron::data
