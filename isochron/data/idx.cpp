#include "isochron/data/idx.h"

#include <fmt/core.h>
#include <unistd.h>

#include <charconv>
#include <cstring>

#include "isochron/base/files.h"
#include "isochron/base/joined.h"
#include "isochron/timeline/timeline.h"

namespace isochron::data {
namespace {

constexpr size_t kLargestFile = size_t{1} << 32;

std::string read_plain_or_gzip(const std::string& path) {
  ScopedSpan span(Phase::input, "read file");
  const std::string bytes = read_file(path, kLargestFile);
  const bool gzip =
      bytes.size() > 2 && static_cast<uint8_t>(bytes[0]) == 0x1f && static_cast<uint8_t>(bytes[1]) == 0x8b;
  return gzip ? read_gzip_file(path, kLargestFile) : bytes;
}

uint32_t big_endian(const std::string& bytes, size_t at) {
  uint32_t value = 0;
  for (size_t i = 0; i < 4; ++i) value = value << 8 | static_cast<uint8_t>(bytes[at + i]);
  return value;
}

}  // namespace

Tensor read_idx(const std::string& path) {
  const std::string bytes = read_plain_or_gzip(path);
  if (bytes.size() < 4 || bytes[0] != 0 || bytes[1] != 0)
    fail<FileError>("read_idx", "{}: no IDX file: it does not begin with two zero bytes", path);
  const auto type = static_cast<uint8_t>(bytes[2]);
  if (type != 0x08)
    fail<FileError>("read_idx", "{}: only unsigned bytes (type 8) are read, the file has type {}", path, type);
  const auto rank = static_cast<size_t>(static_cast<uint8_t>(bytes[3]));
  if (rank == 0 || rank > static_cast<size_t>(kMaxRank) || bytes.size() < 4 + 4 * rank)
    fail<FileError>("read_idx", "{}: {} axes in a file of {} bytes", path, rank, bytes.size());
  std::vector<int64_t> dims;
  for (size_t i = 0; i < rank; ++i) dims.push_back(big_endian(bytes, 4 + 4 * i));
  const size_t header = 4 + 4 * rank;
  // The product is bounded before it is formed: a hostile header can't overflow it.
  int64_t needed = 1;
  for (int64_t d : dims)
    needed = d == 0 || needed <= static_cast<int64_t>(kLargestFile) / d ? needed * d : INT64_MAX / 2;
  if (static_cast<int64_t>(bytes.size() - header) != needed)
    fail<FileError>("read_idx", "{}: shape ({}) needs {} bytes, the file has {}", path, joined(dims), needed,
                    bytes.size() - header);
  const Shape shape(dims);
  return Tensor::from_span(std::span(reinterpret_cast<const uint8_t*>(bytes.data()) + header, bytes.size() - header),
                           shape);
}

Mnist read_mnist(const std::string& folder) {
  const auto find = [&](const char* name) {
    const std::string plain = folder + "/" + name;
    return access(plain.c_str(), R_OK) == 0 ? plain : plain + ".gz";
  };
  return {read_idx(find("train-images-idx3-ubyte")), read_idx(find("train-labels-idx1-ubyte")),
          read_idx(find("t10k-images-idx3-ubyte")), read_idx(find("t10k-labels-idx1-ubyte"))};
}

Digits read_digits(const std::string& path) {
  constexpr size_t kColumns = 65;
  const std::string text = read_plain_or_gzip(path);
  std::vector<float> pixels;
  std::vector<int64_t> labels;
  size_t line = 1, at = 0;
  while (at < text.size()) {
    const size_t end = std::min(text.find('\n', at), text.size());
    const char *p = text.data() + at, *stop = text.data() + end;
    std::vector<float> row;
    while (p < stop && row.size() <= kColumns) {
      double value = 0;
      const auto [next, error] = std::from_chars(p, stop, value);
      if (error != std::errc())
        fail<FileError>("read_digits", "{}: line {}: column {} is no number", path, line, row.size() + 1);
      row.push_back(static_cast<float>(value));
      p = next < stop && *next == ',' ? next + 1 : next;
      if (p == next && p < stop && *p != '\r')
        fail<FileError>("read_digits", "{}: line {}: column {} is no number", path, line, row.size());
      if (p < stop && *p == '\r') break;
    }
    if (!row.empty()) {
      if (row.size() != kColumns)
        fail<FileError>("read_digits", "{}: line {} has {} columns, not {}", path, line, row.size(), kColumns);
      labels.push_back(static_cast<int64_t>(row.back()));
      pixels.insert(pixels.end(), row.begin(), row.end() - 1);
    }
    at = end + 1;
    ++line;
  }
  if (labels.empty()) fail<FileError>("read_digits", "{}: no rows", path);
  const auto rows = static_cast<int64_t>(labels.size());
  return {Tensor::from_buffer(std::move(pixels), {rows, 64}), Tensor::from_buffer(std::move(labels), {rows})};
}

}  // namespace isochron::data
