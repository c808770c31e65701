#include "isochron/tensor/npy.h"

#include <fmt/core.h>

#include <charconv>
#include <cstring>

#include "isochron/base/joined.h"
#include "isochron/base/mapped_file.h"
#include "isochron/base/zip.h"

namespace isochron {
namespace {

constexpr std::string_view kMagic = "\x93NUMPY";

struct Header {
  std::string descr;
  bool fortran = false;
  std::vector<int64_t> dims;
  size_t data_at = 0;
};

// The header is a Python dict of three known keys, written by repr().
class HeaderParser {
 public:
  HeaderParser(std::string_view text, const std::string& name) : text_(text), name_(name) {}

  Header parse() {
    Header header;
    bool descr = false, order = false, shape = false;
    expect('{');
    while (!accept('}')) {
      const std::string key = quoted();
      expect(':');
      if (key == "descr") {
        if (peek() == '[') fail_here("structured dtypes are not read");
        header.descr = quoted();
        descr = true;
      } else if (key == "fortran_order") {
        header.fortran = boolean();
        order = true;
      } else if (key == "shape") {
        header.dims = tuple();
        shape = true;
      } else {
        fail_here("unknown key \"" + key + "\"");
      }
      if (!accept(',') && peek() != '}') fail_here("a comma or brace is missing");
    }
    if (!descr || !order || !shape) fail_here("descr, fortran_order or shape is missing");
    return header;
  }

 private:
  [[noreturn]] void fail_here(const std::string& why) const {
    fail<FileError>("read_npy", "{}: header, character {}: {}", name_, at_, why);
  }
  char peek() {
    while (at_ < text_.size() && (text_[at_] == ' ' || text_[at_] == '\n')) ++at_;
    return at_ < text_.size() ? text_[at_] : '\0';
  }
  bool accept(char c) {
    if (peek() != c) return false;
    ++at_;
    return true;
  }
  void expect(char c) {
    if (!accept(c)) fail_here(fmt::format("expected {}", c));
  }
  std::string quoted() {
    const char quote = peek();
    if (quote != '\'' && quote != '"') fail_here("expected a string");
    const size_t end = text_.find(quote, at_ + 1);
    if (end == std::string_view::npos) fail_here("a string has no end");
    std::string out(text_.substr(at_ + 1, end - at_ - 1));
    at_ = end + 1;
    return out;
  }
  bool boolean() {
    peek();
    for (const auto& [word, value] : {std::pair<std::string_view, bool>{"True", true}, {"False", false}}) {
      if (text_.substr(at_, word.size()) != word) continue;
      at_ += word.size();
      return value;
    }
    fail_here("expected True or False");
  }
  std::vector<int64_t> tuple() {
    std::vector<int64_t> dims;
    expect('(');
    while (!accept(')')) {
      peek();
      int64_t value = 0;
      const auto [next, error] = std::from_chars(text_.data() + at_, text_.data() + text_.size(), value);
      if (error != std::errc() || value < 0) fail_here("expected an extent");
      at_ = static_cast<size_t>(next - text_.data());
      accept('L');  // Python 2 wrote 3L
      dims.push_back(value);
      if (dims.size() > static_cast<size_t>(kMaxRank)) fail_here(fmt::format("more than {} axes", kMaxRank));
      if (!accept(',') && peek() != ')') fail_here("a comma or parenthesis is missing");
    }
    return dims;
  }

  std::string_view text_;
  const std::string& name_;
  size_t at_ = 0;
};

Header parse_header(std::string_view bytes, const std::string& name) {
  if (!bytes.starts_with(kMagic) || bytes.size() < 12)
    fail<FileError>("read_npy", "{}: no NPY file: it does not begin with \\x93NUMPY", name);
  const int version = bytes[6];
  if (version < 1 || version > 3) fail<FileError>("read_npy", "{}: version {} is not known", name, version);
  uint32_t length = 0;
  const size_t length_bytes = version == 1 ? 2 : 4;
  std::memcpy(&length, bytes.data() + 8, length_bytes);
  const size_t start = 8 + length_bytes;
  if (length > bytes.size() - start)
    fail<FileError>("read_npy", "{}: a header of {} bytes in a file of {}", name, length, bytes.size());
  Header header = HeaderParser(bytes.substr(start, length), name).parse();
  header.data_at = start + length;
  return header;
}

// How the file's numbers become ours.
struct Element {
  DType dtype;
  size_t file_bytes;
  char kind;  // of a number to convert: 'i', 'u' or 'b'; 0 when the bytes are used as they are
};

Element element_of(std::string_view type, const std::string& descr, const std::string& name) {
  static const std::pair<std::string_view, Element> known[] = {
      {"f4", {DType::float32, 4, 0}},   {"f8", {DType::float64, 8, 0}},  {"f2", {DType::float16, 2, 0}},
      {"i4", {DType::int32, 4, 0}},     {"i8", {DType::int64, 8, 0}},    {"u1", {DType::uint8, 1, 0}},
      {"b1", {DType::boolean, 1, 'b'}}, {"V2", {DType::bfloat16, 2, 0}}, {"i1", {DType::int32, 1, 'i'}},
      {"i2", {DType::int32, 2, 'i'}},   {"u2", {DType::int32, 2, 'u'}},  {"u4", {DType::int64, 4, 'u'}}};
  for (const auto& [text, element] : known)
    if (type == text) return element;
  fail<FileError>("read_npy", "{}: dtype \"{}\" has no counterpart here; convert it with astype() before saving", name,
                  descr);
}

void swap_bytes(std::byte* data, size_t count, size_t size) {
  for (size_t i = 0; i < count; ++i) std::reverse(data + i * size, data + (i + 1) * size);
}

// Elements of `size` bytes from column-major to row-major order.
void to_row_major(const std::byte* from, std::byte* to, const std::vector<int64_t>& dims, int64_t count, size_t size) {
  std::vector<int64_t> stride(dims.size(), 1), index(dims.size(), 0);
  for (size_t axis = 1; axis < dims.size(); ++axis) stride[axis] = stride[axis - 1] * dims[axis - 1];
  int64_t source = 0;
  for (int64_t i = 0; i < count; ++i) {
    std::memcpy(to + static_cast<size_t>(i) * size, from + static_cast<size_t>(source) * size, size);
    for (size_t axis = dims.size(); axis-- > 0;) {
      source += stride[axis];
      if (++index[axis] < dims[axis]) break;
      source -= stride[axis] * dims[axis];
      index[axis] = 0;
    }
  }
}

template <class From, class To>
void widen(const std::byte* from, std::byte* to, size_t count) {
  for (size_t i = 0; i < count; ++i) {
    From value;
    std::memcpy(&value, from + i * sizeof value, sizeof value);
    const To wide = static_cast<To>(value);
    std::memcpy(to + i * sizeof wide, &wide, sizeof wide);
  }
}

// `owner` keeps `bytes` alive; an array that needs no conversion goes on living there.
Tensor parse_npy(std::string_view bytes, const std::shared_ptr<const void>& owner, const std::string& name) {
  const Header header = parse_header(bytes, name);
  const char order = header.descr.empty() ? '\0' : header.descr[0];
  if (order != '<' && order != '>' && order != '|' && order != '=')
    fail<FileError>("read_npy", "{}: dtype \"{}\" does not say its byte order", name, header.descr);
  const Element element = element_of(std::string_view(header.descr).substr(1), header.descr, name);
  // Bounded before it is formed: a hostile header can't overflow the product.
  const size_t available = (bytes.size() - header.data_at) / element.file_bytes;
  size_t count = 1;
  bool empty = false;
  for (int64_t extent : header.dims) empty |= extent == 0;
  if (empty) count = 0;
  for (int64_t extent : header.dims) {
    if (count == 0) break;
    if (static_cast<size_t>(extent) > available / count)
      fail<FileError>("read_npy", "{}: shape ({}) of \"{}\" needs more than the {} bytes there are", name,
                      joined(header.dims), header.descr, bytes.size() - header.data_at);
    count *= static_cast<size_t>(extent);
  }
  if (count > available)
    fail<FileError>("read_npy", "{}: the data is cut short: {} bytes", name, bytes.size() - header.data_at);
  const TensorSpec spec{element.dtype, Shape(header.dims)};
  auto* data = reinterpret_cast<std::byte*>(const_cast<char*>(bytes.data())) + header.data_at;
  const size_t size = element.file_bytes;
  const bool swap = order == '>' && size > 1;
  const bool transpose = header.fortran && header.dims.size() > 1;
  const bool aligned = reinterpret_cast<uintptr_t>(data) % size_of(element.dtype) == 0;
  if (!swap && !transpose && !element.kind && aligned && owner)
    return Tensor::from_storage(Storage::wrap(data, count * size, [owner] {}), spec);

  Storage out = Storage::allocate(static_cast<size_t>(spec.bytes()));
  std::vector<std::byte> narrow(element.kind ? count * size : 0);
  std::byte* target = element.kind ? narrow.data() : out.data();
  if (transpose) {
    to_row_major(data, target, header.dims, static_cast<int64_t>(count), size);
  } else if (count > 0) {
    std::memcpy(target, data, count * size);
  }
  if (swap) swap_bytes(target, count, size);
  if (element.kind == 'b') widen<uint8_t, bool>(target, out.data(), count);
  if (element.kind == 'i' && size == 1) widen<int8_t, int32_t>(target, out.data(), count);
  if (element.kind == 'i' && size == 2) widen<int16_t, int32_t>(target, out.data(), count);
  if (element.kind == 'u' && size == 2) widen<uint16_t, int32_t>(target, out.data(), count);
  if (element.kind == 'u' && size == 4) widen<uint32_t, int64_t>(target, out.data(), count);
  return Tensor::from_storage(std::move(out), spec);
}

std::string npy_header(const TensorSpec& spec) {
  static constexpr std::string_view kDescr[kDTypeCount] = {"<f4", "<f8", "<i4", "<i8", "|u1", "|b1", "<V2", "<f2"};
  std::string shape;
  for (int64_t extent : spec.shape) shape += fmt::format("{}, ", extent);
  if (spec.shape.rank() == 1) shape = fmt::format("{},", spec.shape[0]);
  if (spec.shape.rank() > 1) shape.resize(shape.size() - 2);
  std::string text = fmt::format("{{'descr': '{}', 'fortran_order': False, 'shape': ({}), }}",
                                 kDescr[static_cast<size_t>(spec.dtype)], shape);
  // Data begins at a multiple of 64 bytes.
  constexpr size_t kBefore = 10;
  text.append(63 - (kBefore + text.size()) % 64, ' ');
  text += '\n';
  std::string out(kMagic);
  out += '\x01';
  out += '\x00';
  out += static_cast<char>(text.size() & 0xFF);
  out += static_cast<char>(text.size() >> 8);
  return out + text;
}

std::string_view bytes_of(const Tensor& tensor) {
  return {static_cast<const char*>(tensor.raw_data()), static_cast<size_t>(tensor.spec().bytes())};
}

}  // namespace

Tensor read_npy(const std::string& path) {
  auto file = std::make_shared<MappedFile>(path);
  return parse_npy(file->bytes(), file, path);
}

void write_npy(const std::string& path, const Tensor& tensor) {
  const std::string header = npy_header(tensor.spec());
  const std::string_view bytes = bytes_of(tensor);
  AtomicFile file(path);
  file.write(header.data(), header.size());
  file.write(bytes.data(), bytes.size());
  file.commit();
}

NpzArrays read_npz(const std::string& path) {
  auto file = std::make_shared<MappedFile>(path);
  NpzArrays out;
  out.path_ = path;
  for (const ZipMember& member : zip_members(*file)) {
    std::string name = member.name;
    if (name.ends_with(".npy")) name.resize(name.size() - 4);
    const std::string where = path + ": " + member.name;
    if (member.deflated) {
      auto bytes = std::make_shared<std::string>(read_zip_member(*file, member));
      out.arrays_.emplace_back(name, parse_npy(*bytes, bytes, where));
    } else {
      out.arrays_.emplace_back(name, parse_npy(stored_zip_member(*file, member), file, where));
    }
  }
  return out;
}

const Tensor& NpzArrays::at(const std::string& name) const {
  std::vector<std::string_view> names;
  for (const auto& [key, tensor] : arrays_) {
    if (key == name) return tensor;
    names.push_back(key);
  }
  fail<FileError>("read_npz", "{}: has no array \"{}\"; it has {}", path_, name, joined(names));
}

bool NpzArrays::contains(const std::string& name) const {
  for (const auto& [key, tensor] : arrays_)
    if (key == name) return true;
  return false;
}

void write_npz(const std::string& path, const std::vector<std::pair<std::string, Tensor>>& arrays,
               const NpzOptions& options) {
  ZipWriter archive(path);
  for (const auto& [name, tensor] : arrays)
    archive.add(name + ".npy", {npy_header(tensor.spec()), bytes_of(tensor)}, options.compress);
  archive.commit();
}

}  // namespace isochron
