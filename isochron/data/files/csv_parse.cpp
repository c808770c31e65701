#include "isochron/data/files/csv_parse.h"

#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <charconv>
#include <cstring>

#include "isochron/data/files/csv_number.h"

namespace isochron::data::csv_file {
namespace {

constexpr size_t kBlock = 1 << 20, kPadding = 64;

// The end of the last row in `text` that is not inside quotes; 0 when there is none.
size_t last_row_end(std::string_view text) {
  if (!std::memchr(text.data(), '"', text.size())) {
    const auto* newline = static_cast<const char*>(memrchr(text.data(), '\n', text.size()));
    return newline ? static_cast<size_t>(newline - text.data()) + 1 : 0;
  }
  size_t end = 0;
  bool quoted = false;
  for (size_t i = 0; i < text.size(); ++i) {
    quoted ^= text[i] == '"';
    if (text[i] == '\n' && !quoted) end = i + 1;
  }
  return end;
}

size_t count_newlines(std::string_view text) {
  size_t count = 0;
  while (!text.empty()) {
    const std::string_view piece = text.substr(0, 255);
    uint8_t here = 0;  // small, so that many are compared at once
    for (const char c : piece) here = static_cast<uint8_t>(here + (c == '\n'));
    count += here;
    text.remove_prefix(piece.size());
  }
  return count;
}

// All pages at once: that is cheaper than a fault for each.
void make_present(const Storage& storage) {
  const auto page = static_cast<uintptr_t>(sysconf(_SC_PAGESIZE));
  const auto begin = reinterpret_cast<uintptr_t>(storage.data()) / page * page;
  const auto end = reinterpret_cast<uintptr_t>(storage.data()) + storage.bytes();
  madvise(reinterpret_cast<void*>(begin), end - begin, MADV_POPULATE_WRITE);
}

template <class T>
void store(std::byte* to, T value) {
  std::memcpy(to, &value, sizeof value);
}

class Parser {
 public:
  Parser(const Schema& schema, std::string_view text, int64_t offset)
      : schema_(schema), start_(text.data()), end_(text.data() + text.size()), offset_(offset) {
    const size_t rows = count_newlines(text);
    for (const Output& output : schema.outputs) {
      out_.arrays.push_back(output.type == Type::text ? Storage() : Storage::allocate(rows * output.row_bytes));
      if (output.type != Type::text) make_present(out_.arrays.back());
      out_.texts.emplace_back();
    }
    for (const Column& column : schema.columns)
      targets_.push_back(column.type == Type::skipped || column.type == Type::text
                             ? nullptr
                             : out_.arrays[column.output].data() + column.offset);
    // The last column is left out: no delimiter ends it.
    adjacent_.resize(schema.columns.size());
    for (size_t i = schema.columns.size(); i-- > 1;) {
      const bool quick = schema.columns[i - 1].type == Type::float32;
      const bool joined = quick && adjacent_[i] > 0 && targets_[i] == targets_[i - 1] + sizeof(float) &&
                          schema.columns[i].stride == schema.columns[i - 1].stride;
      adjacent_[i - 1] = !quick ? 0 : joined ? adjacent_[i] + 1 : 1;
    }
  }

  Rows parse() {
    const char* p = start_;
    const size_t columns = schema_.columns.size();
    for (;;) {
      while (p < end_ && (*p == '\n' || *p == '\r')) ++p;
      if (p >= end_) return std::move(out_);
      const char* const row = p;
      for (size_t i = 0; i < columns;) {
        if (adjacent_[i] > 0) {
          const size_t done = parse_floats(p, i, adjacent_[i]);
          i += done;
          if (done > 0) continue;
        }
        parse_field(p, i);
        if (++i < columns) {
          if (*p != schema_.delimiter) fail_row(row, i);
          ++p;
        } else if (*p != '\n' && *p != '\r') {
          fail_row(row, columns + 1);
        }
      }
      ++out_.count;
    }
  }

 private:
  [[noreturn]] void fail_at(const char* where, size_t column, Type wider, std::string text, std::string why) const {
    throw FieldError{column, offset_ + (where - start_), wider, std::move(text), std::move(why)};
  }
  [[noreturn]] void fail_row(const char* row, size_t found) const {
    const size_t columns = schema_.columns.size();
    fail_at(row, columns, Type::skipped, {},
            fmt::format("has {} {} columns, there should be {}", found > columns ? "more than" : "only",
                        found > columns ? columns : found, columns));
  }

  bool at_field_end(char c) const { return c == schema_.delimiter || c == '\n' || c == '\r'; }

  std::byte* target(size_t i) const {
    return targets_[i] + static_cast<size_t>(out_.count) * schema_.columns[i].stride;
  }

  // Columns i … i + count - 1, which lie side by side, with the delimiters behind them, as far as all is as usual; how
  // many that were.
  size_t parse_floats(const char*& p, size_t i, size_t count) {
    std::byte* const to = target(i);
    const char delimiter = schema_.delimiter;
    const char* q = p;
    for (size_t done = 0; done < count; ++done) {
      double value;
      if (!take_number(q, value) || *q != delimiter) return done;
      store(to + done * sizeof(float), static_cast<float>(value));
      p = ++q;
    }
    return count;
  }

  void parse_field(const char*& p, size_t i) {
    const Column& column = schema_.columns[i];
    const char* q = p;
    switch (column.type) {
      case Type::float32:
        if (double value; take_number(q, value) && at_field_end(*q)) {
          store(target(i), static_cast<float>(value));
          break;
        }
        return parse_slowly(p, i);
      case Type::float64:
        if (double value; take_number(q, value) && at_field_end(*q)) {
          store(target(i), value);
          break;
        }
        return parse_slowly(p, i);
      case Type::int64:
        if (int64_t value; take_integer(q, value) && at_field_end(*q)) {
          store(target(i), value);
          break;
        }
        return parse_slowly(p, i);
      default:
        return parse_slowly(p, i);
    }
    p = q;
  }

  template <class T>
  bool parse_all(std::string_view text, T& value) const {
    if (text.starts_with('+')) text.remove_prefix(1);
    const auto [stop, error] = std::from_chars(text.data(), text.data() + text.size(), value);
    return error == std::errc() && stop == text.data() + text.size();
  }

  // Numbers beyond the range of a float are infinite or zero, as strtod has them.
  bool parse_real(std::string_view text, double& value) const {
    if (text.starts_with('+')) text.remove_prefix(1);
    const auto [stop, error] = std::from_chars(text.data(), text.data() + text.size(), value);
    if (stop != text.data() + text.size()) return false;
    if (error == std::errc::result_out_of_range) value = std::strtod(std::string(text).c_str(), nullptr);
    return error == std::errc() || error == std::errc::result_out_of_range;
  }

  // Quoted, missing, padded with blanks, or unusual; or no number at all.
  void parse_slowly(const char*& p, size_t i) {
    const Column& column = schema_.columns[i];
    const char* const start = p;
    const std::string_view text = take_field(p, end_, schema_.delimiter, scratch_);
    if (!text.data())
      fail_at(start, i, Type::skipped, std::string(start, std::min<size_t>(40, static_cast<size_t>(end_ - start))),
              "has a quote that is not closed, or text behind it");
    if (column.type == Type::skipped) return;
    if (column.type == Type::text) {
      out_.texts[column.output].emplace_back(text);
      return;
    }
    std::byte* const to = target(i);
    const bool missing = schema_.is_missing(text);
    if (missing && !column.has_default && column.type != Type::float32 && column.type != Type::float64)
      fail_at(start, i, column.inferred ? wider_than(column.type, true) : Type::skipped, std::string(text),
              fmt::format("is missing, and {} has no default", name_of(column.type)));
    double real = column.default_value;
    int64_t whole = static_cast<int64_t>(missing && column.has_default ? column.default_value : 0);
    bool good = true;
    switch (column.type) {
      case Type::float32:
      case Type::float64:
        good = missing || parse_real(text, real) || (stacked_boolean(text, real));
        if (column.type == Type::float32)
          store(to, static_cast<float>(real));
        else
          store(to, real);
        break;
      case Type::int64:
        good = missing || parse_all(text, whole);
        store(to, whole);
        break;
      case Type::int32: {
        auto small = static_cast<int32_t>(whole);
        good = missing || parse_all(text, small);
        store(to, small);
        break;
      }
      default: {
        const bool yes = text == "true" || text == "True" || text == "TRUE" || text == "1";
        const bool no = text == "false" || text == "False" || text == "FALSE" || text == "0";
        good = missing || yes || no;
        store(to, missing ? whole != 0 : yes);
      }
    }
    if (good) return;
    Type wider = Type::skipped;
    if (column.inferred) {
      double ignored;
      wider = wider_than(column.type, parse_real(text, ignored));
    }
    fail_at(start, i, wider, std::string(text), fmt::format("is no {}", name_of(column.type)));
  }

  static bool stacked_boolean(std::string_view text, double& value) {
    value = text == "true" || text == "True" || text == "TRUE";
    return value != 0 || text == "false" || text == "False" || text == "FALSE";
  }
  static Type wider_than(Type type, bool number) { return type == Type::int64 && number ? Type::float32 : Type::text; }

  const Schema& schema_;
  const char *start_, *end_;
  int64_t offset_;
  Rows out_;
  std::vector<std::byte*> targets_;  // in the first row
  std::vector<size_t> adjacent_;     // columns of float32 from this one on that lie side by side
  std::string scratch_;
};

}  // namespace

bool BlockReader::next(TextBlock& block) {
  size_t filled = rest_.size();
  block.offset = offset_;
  for (size_t capacity = std::max(kBlock, 2 * filled);; capacity *= 2) {
    if (block.bytes.size() <= capacity + kPadding) block.bytes.resize(capacity + kPadding + 1);  // and a newline
    if (!rest_.empty()) std::memcpy(block.bytes.data(), rest_.data(), rest_.size());
    rest_.clear();
    const size_t got = file_.read(block.bytes.data() + filled, capacity - filled);
    const bool ended = got < capacity - filled;
    filled += got;
    if (ended) {
      ended_ = true;
      if (filled == 0) return false;
      offset_ += static_cast<int64_t>(filled);
      if (block.bytes[filled - 1] != '\n') block.bytes[filled++] = '\n';
      block.size = filled;
      break;
    }
    block.size = last_row_end({block.bytes.data(), filled});
    if (block.size > 0) {
      rest_.assign(block.bytes.data() + block.size, block.bytes.data() + filled);
      offset_ += static_cast<int64_t>(block.size);
      break;
    }
    if (static_cast<int64_t>(filled) > max_row_bytes_)
      fail<FileError>("read_csv", "{}: the row at offset {} has more than {} bytes; is a quote never closed?", path(),
                      offset_, max_row_bytes_);
  }
  std::memset(block.bytes.data() + block.size, 0, kPadding);
  return true;
}

void BlockReader::seek(int64_t offset) {
  file_.seek(offset);
  offset_ = offset;
  ended_ = false;
  rest_.clear();
}

Rows parse_rows(const Schema& schema, std::string_view text, int64_t offset) {
  return Parser(schema, text, offset).parse();
}

void fail_field(const std::string& path, const Schema& schema, const FieldError& error) {
  InputFile file(path);
  std::vector<char> piece(kBlock);
  int64_t line = 1;
  for (int64_t left = error.offset; left > 0;) {
    const size_t got = file.read(piece.data(), std::min<size_t>(piece.size(), static_cast<size_t>(left)));
    if (got == 0) break;
    line += std::count(piece.begin(), piece.begin() + static_cast<std::ptrdiff_t>(got), '\n');
    left -= static_cast<int64_t>(got);
  }
  if (error.column >= schema.columns.size()) fail<FileError>("read_csv", "{}: line {} {}", path, line, error.why);
  fail<FileError>("read_csv", "{}: line {}, column {} ({}): \"{}\" {}", path, line, error.column + 1,
                  schema.columns[error.column].name, error.text.substr(0, 100), error.why);
}

}  // namespace isochron::data::csv_file
