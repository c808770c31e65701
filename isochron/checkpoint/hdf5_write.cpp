#include <algorithm>
#include <cstring>
#include <map>
#include <memory>

#include "isochron/base/files.h"
#include "isochron/checkpoint/hdf5.h"
#include "isochron/ops/elementwise.h"

namespace isochron {
namespace {

constexpr uint64_t kNoAddress = UINT64_MAX;
constexpr size_t kLeafK = 4, kInnerK = 16;  // half the links of a symbol node, half the children of a tree node
constexpr size_t kSymbolNodeBytes = 8 + 2 * kLeafK * 40;
constexpr size_t kTreeNodeBytes = 24 + (4 * kInnerK + 1) * 8;

struct Item {
  std::map<std::string, std::unique_ptr<Item>> links;  // of a group, in the order the format wants
  const Tensor* dataset = nullptr;
  uint64_t data_offset = 0;  // among the data
};

// Everything but the data, for data that begin at a given byte.
class MetadataBuilder {
 public:
  explicit MetadataBuilder(uint64_t data_begin) : data_begin_(data_begin) {}

  std::string build(const Item& root, uint64_t data_bytes) {
    allocate(96);
    const Group group = add_group(root);
    put_text(0, "\x89HDF\r\n\x1a\n");
    put<uint8_t>(13, 8);
    put<uint8_t>(14, 8);
    put<uint16_t>(16, kLeafK);
    put<uint16_t>(18, kInnerK);
    put<uint64_t>(32, kNoAddress);
    put<uint64_t>(40, data_begin_ + data_bytes);
    put<uint64_t>(48, kNoAddress);
    put<uint64_t>(64, group.header);
    put<uint32_t>(72, 1);
    put<uint64_t>(80, group.tree);
    put<uint64_t>(88, group.heap);
    return std::move(out_);
  }

 private:
  struct Group {
    uint64_t header, tree, heap;
  };
  struct Child {
    uint64_t address, last_name;
  };

  uint64_t allocate(size_t bytes) {
    out_.resize((out_.size() + 7) / 8 * 8);
    const uint64_t at = out_.size();
    out_.resize(at + bytes);
    return at;
  }
  template <class T>
  void put(uint64_t at, T value) {
    std::memcpy(out_.data() + at, &value, sizeof(T));
  }
  void put_text(uint64_t at, std::string_view text) { std::memcpy(out_.data() + at, text.data(), text.size()); }

  uint64_t add_object(const std::vector<std::pair<uint16_t, std::string>>& messages) {
    size_t bytes = 0;
    for (const auto& [type, body] : messages) bytes += 8 + (body.size() + 7) / 8 * 8;
    const uint64_t header = allocate(16 + bytes);
    put<uint8_t>(header, 1);
    put(header + 2, static_cast<uint16_t>(messages.size()));
    put<uint32_t>(header + 4, 1);
    put(header + 8, static_cast<uint32_t>(bytes));
    uint64_t at = header + 16;
    for (const auto& [type, body] : messages) {
      const size_t padded = (body.size() + 7) / 8 * 8;
      put(at, type);
      put(at + 2, static_cast<uint16_t>(padded));
      put_text(at + 8, body);
      at += 8 + padded;
    }
    return header;
  }

  Group add_group(const Item& group) {
    // Names first, with the empty one at 0.
    std::string names(8, '\0');
    struct Link {
      uint64_t name, header;
    };
    std::vector<Link> links;
    for (const auto& [name, item] : group.links) {
      links.push_back({names.size(), item->dataset ? add_dataset(*item) : add_group(*item).header});
      names += name;
      names.resize((names.size() + 8) / 8 * 8);
    }
    const uint64_t heap = allocate(32), data = allocate(names.size());
    put_text(heap, "HEAP");
    put<uint64_t>(heap + 8, names.size());
    put<uint64_t>(heap + 16, 1);  // no free block
    put<uint64_t>(heap + 24, data);
    put_text(data, names);

    std::vector<Child> children;
    for (size_t first = 0; first < links.size(); first += 2 * kLeafK) {
      const size_t count = std::min(2 * kLeafK, links.size() - first);
      const uint64_t node = allocate(kSymbolNodeBytes);
      put_text(node, "SNOD");
      put<uint8_t>(node + 4, 1);
      put(node + 6, static_cast<uint16_t>(count));
      for (size_t i = 0; i < count; ++i) {
        put(node + 8 + 40 * i, links[first + i].name);
        put(node + 16 + 40 * i, links[first + i].header);
      }
      children.push_back({node, links[first + count - 1].name});
    }
    uint8_t level = 0;
    do children = add_tree_level(children, level++);
    while (children.size() > 1);
    std::string body(16, '\0');
    std::memcpy(body.data(), &children[0].address, 8);
    std::memcpy(body.data() + 8, &heap, 8);
    return {add_object({{0x11, body}}), children[0].address, heap};
  }

  std::vector<Child> add_tree_level(const std::vector<Child>& children, uint8_t level) {
    std::vector<Child> nodes;
    uint64_t before = 0;  // last name of the node to the left
    size_t first = 0;
    do {
      const size_t count = std::min(2 * kInnerK, children.size() - first);
      const uint64_t node = allocate(kTreeNodeBytes);
      put_text(node, "TREE");
      put(node + 5, level);
      put(node + 6, static_cast<uint16_t>(count));
      put(node + 8, nodes.empty() ? kNoAddress : nodes.back().address);
      put(node + 16, kNoAddress);
      if (!nodes.empty()) put(nodes.back().address + 16, node);
      put(node + 24, before);
      for (size_t i = 0; i < count; ++i) {
        put(node + 32 + 16 * i, children[first + i].address);
        put(node + 40 + 16 * i, before = children[first + i].last_name);
      }
      nodes.push_back({node, before});
      first += count;
    } while (first < children.size());
    return nodes;
  }

  static std::string datatype(DType dtype) {
    const auto bytes = static_cast<uint8_t>(size_of(dtype));
    if (!is_floating(dtype)) {
      const char flags = dtype == DType::int32 || dtype == DType::int64 ? 8 : 0;
      return {0x10, flags, 0, 0, static_cast<char>(bytes), 0, 0, 0, 0, 0, static_cast<char>(8 * bytes), 0};
    }
    // Bits of exponent and mantissa; the bias follows from the first.
    const int exponent = bytes == 8 ? 11 : bytes == 4 ? 8 : 5, mantissa = 8 * bytes - 1 - exponent;
    const int bias = (1 << (exponent - 1)) - 1;
    const auto c = [](int value) { return static_cast<char>(value); };
    return {0x11,
            0x20,
            c(8 * bytes - 1),
            0,
            c(bytes),
            0,
            0,
            0,
            0,
            0,
            c(8 * bytes),
            0,
            c(mantissa),
            c(exponent),
            0,
            c(mantissa),
            c(bias & 255),
            c(bias >> 8),
            0,
            0};
  }

  uint64_t add_dataset(const Item& item) {
    const TensorSpec& spec = item.dataset->spec();
    std::string space(8 + 8 * static_cast<size_t>(spec.shape.rank()), '\0');
    space[0] = 1;
    space[1] = static_cast<char>(spec.shape.rank());
    for (int i = 0; i < spec.shape.rank(); ++i) {
      const int64_t extent = spec.shape[i];
      std::memcpy(space.data() + 8 + 8 * i, &extent, 8);
    }
    std::string layout(18, '\0');
    layout[0] = 3;
    layout[1] = 1;
    const uint64_t at = spec.bytes() ? data_begin_ + item.data_offset : kNoAddress;
    const auto bytes = static_cast<uint64_t>(spec.bytes());
    std::memcpy(layout.data() + 2, &at, 8);
    std::memcpy(layout.data() + 10, &bytes, 8);
    const std::string fill{2, 2, 2, 1, 0, 0, 0, 0};
    return add_object({{0x01, space}, {0x03, datatype(spec.dtype)}, {0x05, fill}, {0x08, layout}});
  }

  uint64_t data_begin_;
  std::string out_;
};

Item& item_at(Item& root, const std::string& path) {
  if (path.size() > kLongestHdf5Path)
    fail<ValueError>("hdf5", "the path of a dataset has at most {} bytes, got {}: \"{}…\"", kLongestHdf5Path,
                     path.size(), path.substr(0, 60));
  Item* item = &root;
  for (size_t begin = 0; begin <= path.size();) {
    const size_t end = std::min(path.find('/', begin), path.size());
    const std::string name = path.substr(begin, end - begin);
    if (name.empty() || name.find('\0') != std::string::npos || item->dataset)
      fail<ValueError>("hdf5", "\"{}\" can't be the path of a dataset", path);
    std::unique_ptr<Item>& next = item->links[name];
    if (!next) next = std::make_unique<Item>();
    item = next.get();
    begin = end + 1;
  }
  if (item->dataset || !item->links.empty()) fail<ValueError>("hdf5", "\"{}\" is there already", path);
  return *item;
}

}  // namespace

void write_hdf5(const std::string& path, const NamedTensors& datasets) {
  Item root;
  std::vector<Tensor> values;
  values.reserve(datasets.size());
  uint64_t data_bytes = 0;
  for (const auto& [name, tensor] : datasets) {
    values.push_back(tensor.dtype() == DType::bfloat16 ? cast(tensor, DType::float32) : tensor);
    values.back().eval();
    Item& item = item_at(root, name);
    item.dataset = &values.back();
    item.data_offset = data_bytes;
    data_bytes += (static_cast<uint64_t>(values.back().spec().bytes()) + 7) / 8 * 8;
  }
  // Its length does not depend on where the data begin.
  const uint64_t data_begin = (MetadataBuilder(0).build(root, 0).size() + 7) / 8 * 8;
  std::string metadata = MetadataBuilder(data_begin).build(root, data_bytes);
  metadata.resize(data_begin);
  AtomicFile file(path);
  file.write(metadata.data(), metadata.size());
  constexpr char kZeros[8] = {};
  for (const Tensor& value : values) {
    const auto bytes = static_cast<size_t>(value.spec().bytes());
    file.write(value.raw_data(), bytes);
    file.write(kZeros, (8 - bytes % 8) % 8);
  }
  file.commit();
}

}  // namespace isochron
