#include "isochron/data/files/csv_parse.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <cstring>
#include <optional>

#include "isochron/data/files/csv_fields.h"
#include "isochron/data/files/csv_number.h"

namespace isochron::data::csv_file {
namespace {

constexpr size_t kBlock = 1 << 20, kPadding = 64, kPage = 4096;
// Text whose fields are found at once: it stays in the nearest cache until they are read.
constexpr size_t kPiece = 16 << 10;
constexpr size_t kLookedThrough = 128 << 10;
// Ends of fields that are copied at once.
constexpr size_t kTogether = 4;
static_assert(kTogether <= kEndsRoom);

// The end of the last row in `text` that is not inside quotes; 0 when there is none.
size_t last_row_end(std::string_view text, bool quotes) {
  if (!quotes) {
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

template <class T>
void store(std::byte* to, T value) {
  std::memcpy(to, &value, sizeof value);
}

class Parser {
 public:
  Parser(const Schema& schema, const TextBlock& block, size_t from, Slabs* slabs)
      : schema_(schema),
        start_(block.text().data() + from),
        end_(block.text().data() + block.size),
        offset_(block.offset + static_cast<int64_t>(from)) {
    const size_t rows = block.row_ends;
    for (const Output& output : schema.outputs) {
      Storage& array = out_.arrays.emplace_back();
      out_.texts.emplace_back();
      if (output.type == Type::text) continue;
      const size_t bytes = rows * output.row_bytes;
      array = slabs ? slabs->take(bytes) : Storage::allocate(bytes);
      if (!slabs) make_present(array);
    }
    for (const Column& column : schema.columns)
      targets_.push_back(column.type == Type::skipped || column.type == Type::text
                             ? nullptr
                             : out_.arrays[column.output].data() + column.offset);
    columns_of_.resize(schema.outputs.size());
    for (size_t i = 0; i < schema.columns.size(); ++i)
      if (schema.columns[i].type != Type::skipped) columns_of_[schema.columns[i].output].push_back(i);
  }

  Rows parse() {
    ends_.resize(1 + kPiece + kEndsRoom);
    row_ends_.resize(kPiece + kEndsRoom);
    const char* p = start_;
    while (p < end_) p = parse_piece(p);
    return std::move(out_);
  }

 private:
  static bool ends_row(char c) { return c == '\n' || c == '\r'; }

  // Rows from p on, as far as their ends are found at once; where the next one begins.
  const char* parse_piece(const char* p) {
    const size_t columns = schema_.columns.size();
    const size_t size = std::min(kPiece, static_cast<size_t>(end_ - p));
    ends_[0] = UINT32_MAX;  // in front of the first field
    const uint32_t* const ends = ends_.data() + 1;
    const Ends found = find_ends(p, size, schema_.delimiter, ends_.data() + 1, row_ends_.data());
    const uint32_t *line = row_ends_.data(), *const last = line + found.rows;
    size_t field = 0;
    rows_.clear();
    for (;;) {
      const uint32_t row = ends_[field] + 1;
      const size_t fields = line < last ? *line - field + 1 : 0;  // of this row
      if (fields == 1 && ends[field] == row) {                    // blank, or the second half of \r\n
        ++field;
        ++line;
      } else if (fields == columns) {
        rows_.push_back(ends + field);
        field += columns;
        ++line;
      } else {
        parse_plain_rows(p);
        if (row > 0 && fields == 0) return p + row;
        // Quoted, longer than a piece, or with too many or too few fields.
        const char* const next = parse_row(p + row);
        while (field < found.fields && p + ends[field] < next) ++field;
        while (line < last && *line < field) ++line;
        if (p + (ends_[field] + 1) != next) return next;
      }
    }
  }

  // The rows in rows_, array by array.
  void parse_plain_rows(const char* p) {
    std::optional<FieldError> error;  // the first one in the file
    for (const std::vector<size_t>& columns : columns_of_) {
      if (columns.empty()) continue;  // a label alone
      try {
        const Type type = schema_.columns[columns[0]].type;
        if (type == Type::float32)
          parse_floats(p, columns);
        else if (type == Type::int64)
          parse_integers(p, columns[0]);
        else
          for (size_t r = 0; r < rows_.size(); ++r) parse_field(p, r, columns[0]);
      } catch (const FieldError& found) {
        if (!error || found.offset < error->offset) error = found;
      }
    }
    if (error) throw *error;
    out_.count += static_cast<int64_t>(rows_.size());
    rows_.clear();
  }

  void parse_integers(const char* p, size_t column) {
    const size_t stride = schema_.columns[column].stride;
    std::byte* to = target(column, 0);
    for (size_t r = 0; r < rows_.size(); ++r, to += stride) {
      const uint32_t* const end = rows_[r] + column;
      const char* const text = p + (*(end - 1) + 1);
      // Labels mostly are one digit.
      const auto digit = static_cast<unsigned char>(*text - '0');
      if (p + *end == text + 1 && digit < 10)
        store(to, static_cast<int64_t>(digit));
      else
        parse_field(p, r, column);
    }
  }

  void parse_floats(const char* p, const std::vector<size_t>& columns) {
    const size_t width = columns.size(), count = rows_.size() * width;
    field_starts_.resize(count + kTogether);
    field_ends_.resize(count + kTogether);
    const bool side_by_side = columns.back() - columns[0] == width - 1;
    uint32_t *starts = field_starts_.data(), *ends = field_ends_.data();
    for (const uint32_t* row : rows_) {
      const uint32_t* const fields = row + columns[0];
      if (side_by_side) {
        // Some more than there are, as the next row overwrites them.
        for (size_t k = 0; k < width; k += kTogether) {
          // By way of registers: where they are written may be where they are read, for all the compiler knows.
          std::array<uint32_t, kTogether> end, start;
          std::memcpy(end.data(), fields + k, sizeof end);
          std::memcpy(start.data(), fields + k - 1, sizeof start);
          for (uint32_t& at : start) ++at;
          std::memcpy(ends + k, end.data(), sizeof end);
          std::memcpy(starts + k, start.data(), sizeof start);
        }
      } else {
        for (size_t k = 0; k < width; ++k) {
          const size_t i = columns[k] - columns[0];
          ends[k] = fields[i];
          starts[k] = *(fields + i - 1) + 1;
        }
      }
      starts += width;
      ends += width;
    }
    auto* const to = reinterpret_cast<float*>(target(columns[0], 0));
    for (size_t i = 0; i < count; ++i) {
      i += take_floats(p, field_starts_.data() + i, field_ends_.data() + i, count - i, to + i);
      if (i < count) parse_field(p, i / width, columns[i % width]);
    }
  }

  // A field of a plain row: its ends are known, and there are no quotes.
  void parse_field(const char* p, size_t row, size_t i) {
    const char *const start = p + (rows_[row][static_cast<std::ptrdiff_t>(i) - 1] + 1), *const end = p + rows_[row][i];
    std::byte* const to = target(i, row);
    switch (schema_.columns[i].type) {
      case Type::float32:
        if (take<float>(start, end, to)) return;
        break;
      case Type::float64:
        if (take<double>(start, end, to)) return;
        break;
      case Type::int64:
        if (take<int64_t>(start, end, to)) return;
        break;
      default:
        break;
    }
    const char* field = start;
    store_text(start, take_field(field, end, schema_.delimiter, scratch_), i, to);
  }

  template <class T>
  bool take(const char* p, const char* end, std::byte* to) {
    T value;
    if (!take_number(p, value) || p != end) return false;
    store(to, value);
    return true;
  }

  // Any row, field after field; where the next one begins.
  const char* parse_row(const char* row) {
    const char* p = row;
    const size_t columns = schema_.columns.size();
    for (size_t i = 0; i < columns; ++i) {
      const char* const start = p;
      const std::string_view text = take_field(p, end_, schema_.delimiter, scratch_);
      if (!text.data())
        fail_at(start, i, Type::skipped, std::string(start, std::min<size_t>(40, static_cast<size_t>(end_ - start))),
                "has a quote that is not closed, or text behind it");
      store_text(start, text, i, target(i, 0));
      if (i + 1 == columns) break;
      if (*p != schema_.delimiter) fail_row(row, i + 1);
      ++p;
    }
    if (!ends_row(*p)) fail_row(row, columns + 1);
    ++out_.count;
    return p + 1;
  }

  [[noreturn]] void fail_at(const char* where, size_t column, Type wider, std::string text, std::string why) const {
    throw FieldError{column, offset_ + (where - start_), wider, std::move(text), std::move(why)};
  }
  [[noreturn]] void fail_row(const char* row, size_t found) const {
    const size_t columns = schema_.columns.size();
    fail_at(row, columns, Type::skipped, {},
            fmt::format("has {} {} columns, there should be {}", found > columns ? "more than" : "only",
                        found > columns ? columns : found, columns));
  }

  // Of column i, so many rows behind those that are done.
  std::byte* target(size_t i, size_t row) const {
    if (!targets_[i]) return nullptr;
    return targets_[i] + (static_cast<size_t>(out_.count) + row) * schema_.columns[i].stride;
  }

  template <class T>
  bool parse_all(std::string_view text, T& value) const {
    if (text.starts_with('+')) text.remove_prefix(1);
    const auto [stop, error] = std::from_chars(text.data(), text.data() + text.size(), value);
    return error == std::errc() && stop == text.data() + text.size();
  }

  // Numbers beyond the range of the type are infinite or zero, as strtod has them.
  template <class T>
  bool parse_real(std::string_view text, T& value) const {
    if (text.starts_with('+')) text.remove_prefix(1);
    const auto [stop, error] = std::from_chars(text.data(), text.data() + text.size(), value);
    if (stop != text.data() + text.size()) return false;
    if (error == std::errc::result_out_of_range) {
      const std::string copy(text);
      value = std::is_same_v<T, float> ? std::strtof(copy.c_str(), nullptr)
                                       : static_cast<T>(std::strtod(copy.c_str(), nullptr));
    }
    return error == std::errc() || error == std::errc::result_out_of_range;
  }

  // What is missing, unusual, or no number at all.
  void store_text(const char* start, std::string_view text, size_t i, std::byte* to) {
    const Column& column = schema_.columns[i];
    if (column.type == Type::skipped) return;
    if (column.type == Type::text) {
      out_.texts[column.output].emplace_back(text);
      return;
    }
    const bool missing = schema_.is_missing(text);
    if (missing && !column.has_default && column.type != Type::float32 && column.type != Type::float64)
      fail_at(start, i, column.inferred ? wider_than(column.type, true) : Type::skipped, std::string(text),
              fmt::format("is missing, and {} has no default", name_of(column.type)));
    int64_t whole = static_cast<int64_t>(missing && column.has_default ? column.default_value : 0);
    bool good = true;
    switch (column.type) {
      case Type::float32:
        good = store_real<float>(to, text, column, missing);
        break;
      case Type::float64:
        good = store_real<double>(to, text, column, missing);
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

  template <class T>
  bool store_real(std::byte* to, std::string_view text, const Column& column, bool missing) const {
    auto value = static_cast<T>(column.default_value);
    const bool good = missing || parse_real(text, value) || stacked_boolean(text, value);
    store(to, value);
    return good;
  }
  template <class T>
  static bool stacked_boolean(std::string_view text, T& value) {
    value = text == "true" || text == "True" || text == "TRUE";
    return value != 0 || text == "false" || text == "False" || text == "FALSE";
  }
  static Type wider_than(Type type, bool number) { return type == Type::int64 && number ? Type::float32 : Type::text; }

  const Schema& schema_;
  const char *start_, *end_;
  int64_t offset_;
  Rows out_;
  std::vector<std::byte*> targets_;              // in the first row
  std::vector<std::vector<size_t>> columns_of_;  // by output
  std::vector<const uint32_t*> rows_;            // ends of plain rows that wait to be parsed
  std::vector<uint32_t> field_starts_, field_ends_;
  // Of the piece at hand: where fields end, behind a first that is none, and the numbers of those that end rows.
  std::vector<uint32_t> ends_, row_ends_;
  std::string scratch_;
};

}  // namespace

void TextBlock::make_room(size_t in_front, size_t behind) {
  in_front = (in_front + kPadding + kPage - 1) / kPage * kPage;
  if (in_front <= front_ && in_front + behind + kPadding <= capacity_) return;
  capacity_ = (in_front + behind + kPadding + kPage - 1) / kPage * kPage;
  bytes_.reset(static_cast<char*>(std::aligned_alloc(kPage, capacity_)));
  if (!bytes_) fail<MemoryError>("read_csv", "no memory for rows of {} bytes", capacity_);
  front_ = in_front;
  std::memset(bytes_.get(), 0, front_);
}

bool BlockReader::next(TextBlock& block) {
  block.offset = offset_;
  for (size_t wanted = kBlock;; wanted *= 2) {
    block.make_room(rest_.size(), wanted + 1);  // and a newline
    char* const text = block.begin_at(rest_.size());
    if (!rest_.empty()) std::memcpy(text, rest_.data(), rest_.size());
    Survey seen = survey(text, rest_.size());
    size_t filled = rest_.size();
    const size_t end = filled + wanted;
    rest_.clear();
    for (ended_ = false; filled < end && !ended_;) {
      // In parts that are looked through while they are in the nearer caches.
      const size_t part = std::min(kLookedThrough, end - filled), got = file_.read(text + filled, part);
      const Survey more = survey(text + filled, got);
      seen.row_ends += more.row_ends;
      seen.quotes = seen.quotes || more.quotes;
      filled += got;
      ended_ = got < part;
    }
    block.row_ends = seen.row_ends;
    if (ended_) {
      if (filled == 0) return false;
      offset_ += static_cast<int64_t>(filled);
      if (text[filled - 1] != '\n') {
        text[filled++] = '\n';
        ++block.row_ends;
      }
      block.size = filled;
      break;
    }
    block.size = last_row_end({text, filled}, seen.quotes);
    rest_.assign(text + block.size, text + filled);
    if (block.size > 0) {
      offset_ += static_cast<int64_t>(block.size);
      break;
    }
    if (static_cast<int64_t>(filled) > max_row_bytes_)
      fail<FileError>("read_csv", "{}: the row at offset {} has more than {} bytes; is a quote never closed?", path(),
                      offset_, max_row_bytes_);
  }
  block.pad();
  return true;
}

void BlockReader::seek(int64_t offset) {
  file_.seek(offset);
  offset_ = offset;
  ended_ = false;
  rest_.clear();
}

Rows parse_rows(const Schema& schema, const TextBlock& block, size_t from, Slabs* slabs) {
  return Parser(schema, block, from, slabs).parse();
}

RowPlace row_at(std::string_view text, size_t at, char delimiter) {
  const char *const begin = text.data(), *const end = begin + text.size();
  std::string scratch;
  for (const char* p = begin;;) {
    const char* const row = p;
    while (take_field(p, end, delimiter, scratch).data() && p < end && *p == delimiter) ++p;
    p = std::find_if(p, end, [](char c) { return c == '\n' || c == '\r'; });
    if (p < end) ++p;
    if (p == end || p > begin + at) return {static_cast<size_t>(row - begin), static_cast<size_t>(p - begin)};
  }
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
