#include <algorithm>
#include <cstring>
#include <set>

#include "isochron/base/mapped_file.h"
#include "isochron/checkpoint/hdf5.h"

namespace isochron {
namespace {

constexpr uint64_t kUndefined = UINT64_MAX;
constexpr int kMaxDepth = 32;
constexpr uint64_t kMostElements = uint64_t{1} << 56;
constexpr size_t kMaxParts = 10'000'000;

class Hdf5Reader {
 public:
  explicit Hdf5Reader(const std::string& path) : file_(std::make_shared<MappedFile>(path)) {}

  NamedTensors read() {
    if (file_->size() < 96 || std::memcmp(file_->data(), "\x89HDF\r\n\x1a\n", 8) != 0) broken("is no HDF5 file");
    const auto version = number<uint8_t>(8);
    if (version > 1)
      broken("is written in HDF5's newer layout (superblock {}); write it with h5py's defaults", version);
    if (number<uint8_t>(13) != 8 || number<uint8_t>(14) != 8) broken("has addresses that are not 8 bytes wide");
    const uint64_t after = version == 0 ? 24 : 28;
    if (number<uint64_t>(after) != 0) broken("does not begin at byte 0");
    const auto end = number<uint64_t>(after + 16);
    if (end > file_->size()) broken("should have {} bytes and has {}: it was cut short", end, file_->size());
    visit("", number<uint64_t>(after + 32 + 8), 0);
    return std::move(found_);
  }

 private:
  struct Message {
    uint16_t type;
    uint64_t at, bytes;
  };

  template <class... Args>
  [[noreturn]] void broken(fmt::format_string<Args...> format, Args&&... args) const {
    fail<FileError>("hdf5", "{} {}", file_->path(), fmt::format(format, std::forward<Args>(args)...));
  }
  void check(uint64_t at, uint64_t bytes) const {
    if (at > file_->size() || bytes > file_->size() - at)
      broken("has {} bytes, something in it points to bytes {} to {}", file_->size(), at, at + bytes);
  }
  template <class T>
  T number(uint64_t at) const {
    check(at, sizeof(T));
    T value;
    std::memcpy(&value, file_->data() + at, sizeof(T));
    return value;
  }
  void expect(uint64_t at, const char* signature) const {
    check(at, 4);
    if (std::memcmp(file_->data() + at, signature, 4) != 0) broken("has no {} at byte {}", signature, at);
  }

  // Everything that is visited counts: parts that many others point to would keep us busy for hours.
  void count(size_t parts) {
    parts_ += parts;
    if (parts_ > kMaxParts) broken("has more than {} parts", kMaxParts);
  }

  // The messages of an object header, continuation blocks included.
  std::vector<Message> messages(uint64_t header) {
    if (number<uint8_t>(header) != 1)
      broken("has an object header of another version at byte {}; write it with h5py's defaults", header);
    const auto there = number<uint16_t>(header + 2);
    std::vector<std::pair<uint64_t, uint64_t>> blocks{{header + 16, number<uint32_t>(header + 8)}};
    std::vector<Message> out;
    for (size_t b = 0; b < blocks.size() && blocks.size() <= 64; ++b) {
      auto [at, bytes] = blocks[b];
      check(at, bytes);
      const uint64_t end = at + bytes;
      while (at + 8 <= end && out.size() < there) {
        const Message message{number<uint16_t>(at), at + 8, number<uint16_t>(at + 2)};
        if (message.at + message.bytes > end) broken("has a header message that is cut off at byte {}", at);
        if (message.type == 0x10 && message.bytes >= 16)
          blocks.emplace_back(number<uint64_t>(message.at), number<uint64_t>(message.at + 8));
        out.push_back(message);
        at = message.at + message.bytes;
      }
    }
    count(out.size());
    return out;
  }

  void visit(const std::string& path, uint64_t header, int depth) {
    if (depth > kMaxDepth) broken("nests groups more than {} deep", kMaxDepth);
    if (path.size() > kLongestHdf5Path) broken("has a path of more than {} bytes", kLongestHdf5Path);
    if (!visited_.insert(header).second) broken("has a group that holds itself, or two links to \"{}\"", path);
    const std::vector<Message> all = messages(header);
    for (const Message& message : all) {
      if (message.type != 0x11) continue;
      if (message.bytes < 16) broken("has a broken group \"{}\"", path);
      visit_tree(path, number<uint64_t>(message.at), number<uint64_t>(message.at + 8), depth, 0);
      return;
    }
    for (const Message& message : all)
      if (message.type == 0x02 || message.type == 0x06)
        broken("has a group of the newer kind (\"{}\"); write it with h5py's defaults", path);
    found_.emplace_back(path, dataset(path, all));
  }

  void visit_tree(const std::string& path, uint64_t node, uint64_t heap, int depth, int level) {
    if (level > 16) broken("has a B-tree that is too deep in \"{}\"", path);
    expect(node, "TREE");
    const auto entries = number<uint16_t>(node + 6);
    const bool leaf = number<uint8_t>(node + 5) == 0;
    if (number<uint8_t>(node + 4) != 0) broken("has a B-tree of another kind in \"{}\"", path);
    count(entries);
    for (uint16_t i = 0; i < entries; ++i) {
      const auto child = number<uint64_t>(node + 24 + 8 + 16 * uint64_t{i});
      if (leaf)
        visit_symbols(path, child, heap, depth);
      else
        visit_tree(path, child, heap, depth, level + 1);
    }
  }

  void visit_symbols(const std::string& path, uint64_t node, uint64_t heap, int depth) {
    expect(node, "SNOD");
    const auto symbols = number<uint16_t>(node + 6);
    count(symbols);
    for (uint16_t i = 0; i < symbols; ++i) {
      const uint64_t entry = node + 8 + 40 * uint64_t{i};
      if (number<uint32_t>(entry + 16) == 2) continue;  // a soft link: what it names is reached on its own way
      const std::string name = link_name(heap, number<uint64_t>(entry));
      visit(path.empty() ? name : path + "/" + name, number<uint64_t>(entry + 8), depth + 1);
    }
  }

  std::string link_name(uint64_t heap, uint64_t offset) const {
    expect(heap, "HEAP");
    const auto bytes = number<uint64_t>(heap + 8), data = number<uint64_t>(heap + 24);
    check(data, bytes);
    if (offset >= bytes) broken("has a link whose name lies outside its heap");
    const char* begin = file_->data() + data + offset;
    const uint64_t longest = std::min<uint64_t>(bytes - offset, kLongestHdf5Path + 1);
    const void* end = std::memchr(begin, 0, longest);
    if (!end) broken("has a link whose name has no end within {} bytes", longest);
    return {begin, static_cast<const char*>(end)};
  }

  Shape shape(const std::string& path, const Message& m) const {
    const auto version = number<uint8_t>(m.at), rank = number<uint8_t>(m.at + 1);
    const uint64_t dims = m.at + (version == 1 ? 8 : 4);
    if ((version != 1 && version != 2) || rank > kMaxRank || dims + 8 * uint64_t{rank} > m.at + m.bytes)
      broken("has a dataspace we can't read in \"{}\"", path);
    std::vector<int64_t> extents;
    uint64_t elements = 1;
    for (uint8_t i = 0; i < rank; ++i) {
      const auto extent = number<uint64_t>(dims + 8 * uint64_t{i});
      if (extent > kMostElements || (extent && elements > kMostElements / extent))
        broken("has too many elements in \"{}\"", path);
      elements *= extent;
      extents.push_back(static_cast<int64_t>(extent));
    }
    return Shape(extents);
  }

  // The dtype, and whether elements are wider in memory than in the file.
  struct Element {
    DType dtype;
    uint32_t stored;
    bool is_signed;
  };
  Element element(const std::string& path, const Message& m) const {
    if (m.bytes < 8) broken("has a broken datatype in \"{}\"", path);
    const auto kind = number<uint8_t>(m.at) & 15, bits = static_cast<int>(number<uint8_t>(m.at + 1));
    const auto bytes = number<uint32_t>(m.at + 4);
    if ((kind == 0 || kind == 1) && (bits & 1)) broken("has big-endian numbers in \"{}\"", path);
    const bool is_signed = bits & 8;
    if (kind == 0 && bytes == 8 && is_signed) return {DType::int64, 8, true};
    if (kind == 0 && bytes == 4) return {is_signed ? DType::int32 : DType::int64, 4, is_signed};
    if (kind == 0 && bytes == 2) return {DType::int32, 2, is_signed};
    if (kind == 0 && bytes == 1) return {is_signed ? DType::int32 : DType::uint8, 1, is_signed};
    if (kind == 1 && bytes == 4) return {DType::float32, 4, true};
    if (kind == 1 && bytes == 8) return {DType::float64, 8, true};
    if (kind == 1 && bytes == 2 && m.bytes >= 16)
      return {number<uint8_t>(m.at + 13) == 8 ? DType::bfloat16 : DType::float16, 2, true};
    if (kind == 5 && bytes == 2) return {DType::bfloat16, 2, true};  // opaque: NumPy's bfloat16
    if (kind == 8 && bytes == 1) return {DType::boolean, 1, false};  // an enumeration of FALSE and TRUE
    broken("has a dataset \"{}\" whose elements are no numbers we have (class {}, {} bytes)", path, kind, bytes);
  }

  Tensor dataset(const std::string& path, const std::vector<Message>& all) {
    const Message *space = nullptr, *type = nullptr, *layout = nullptr;
    for (const Message& m : all) {
      if (m.type == 0x01) space = &m;
      if (m.type == 0x03) type = &m;
      if (m.type == 0x08) layout = &m;
      if (m.type == 0x0B) broken("has a compressed dataset \"{}\"", path);
    }
    if (!space || !type || !layout) broken("has an object \"{}\" that is neither group nor dataset", path);
    const Element kind = element(path, *type);
    const TensorSpec spec{kind.dtype, shape(path, *space)};
    const auto elements = static_cast<uint64_t>(spec.shape.elements()), bytes = elements * kind.stored;

    const auto version = number<uint8_t>(layout->at), where = number<uint8_t>(layout->at + 1);
    if ((version != 3 && version != 4) || where > 1)
      broken("has a dataset \"{}\" in chunks or in a layout we can't read", path);
    uint64_t at = 0, size = 0;
    if (where == 0) {
      size = number<uint16_t>(layout->at + 2);
      at = layout->at + 4;
    } else {
      at = number<uint64_t>(layout->at + 2);
      size = number<uint64_t>(layout->at + 10);
    }
    if (at == kUndefined && bytes == 0) at = 0;
    if (at == kUndefined) broken("has a dataset \"{}\" that was never written", path);
    if (size < bytes) broken("has {} bytes for dataset \"{}\", which takes {}", size, path, bytes);
    check(at, bytes);
    data_bytes_ += bytes;
    if (data_bytes_ > file_->size()) broken("has datasets that lie over each other, the last is \"{}\"", path);
    return tensor_at(at, spec, kind);
  }

  Tensor tensor_at(uint64_t at, const TensorSpec& spec, const Element& kind) const {
    const auto elements = static_cast<size_t>(spec.shape.elements());
    char* from = file_->data() + at;
    if (size_of(spec.dtype) == kind.stored && spec.dtype != DType::boolean && elements && at % kind.stored == 0)
      return Tensor::from_storage(Storage::wrap(from, elements * kind.stored, [file = file_] {}), spec);
    Storage copy = Storage::allocate(static_cast<size_t>(spec.bytes()));
    for (size_t i = 0; i < elements; ++i) {
      uint64_t bits = 0;
      std::memcpy(&bits, from + i * kind.stored, kind.stored);
      if (kind.is_signed && is_integral(spec.dtype)) {
        const unsigned shift = 64 - 8 * kind.stored;
        bits = static_cast<uint64_t>(static_cast<int64_t>(bits << shift) >> shift);
      }
      if (spec.dtype == DType::boolean) bits = bits != 0;
      std::memcpy(copy.data() + i * size_of(spec.dtype), &bits, size_of(spec.dtype));
    }
    return Tensor::from_storage(std::move(copy), spec);
  }

  std::shared_ptr<MappedFile> file_;
  std::set<uint64_t> visited_;
  size_t parts_ = 0;
  uint64_t data_bytes_ = 0;
  NamedTensors found_;
};

}  // namespace

NamedTensors read_hdf5(const std::string& path) { return Hdf5Reader(path).read(); }

}  // namespace isochron
