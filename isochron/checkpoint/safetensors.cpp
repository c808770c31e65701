#include "isochron/checkpoint/safetensors.h"

#include <algorithm>
#include <cstring>
#include <nlohmann/json.hpp>
#include <set>

#include "isochron/base/files.h"
#include "isochron/base/mapped_file.h"

namespace isochron {
namespace {

using nlohmann::json;

constexpr uint64_t kHeaderLimit = 100'000'000;  // as the format's own library has it
constexpr uint64_t kMaxElements = uint64_t{1} << 56;
constexpr size_t kMaxNamesShown = 8;

// How a dtype of the format is kept; `stored` is its size in the file.
struct Element {
  const char* name;
  DType dtype;
  size_t stored;
  bool is_signed;
};
constexpr Element kElements[] = {
    {"F32", DType::float32, 4, true},   {"F64", DType::float64, 8, true}, {"I32", DType::int32, 4, true},
    {"I64", DType::int64, 8, true},     {"U8", DType::uint8, 1, false},   {"BOOL", DType::boolean, 1, false},
    {"BF16", DType::bfloat16, 2, true}, {"F16", DType::float16, 2, true}, {"I8", DType::int32, 1, true},
    {"I16", DType::int32, 2, true},     {"U16", DType::int32, 2, false},  {"U32", DType::int64, 4, false},
};

const char* name_in_file(DType dtype) {
  for (const Element& element : kElements)
    if (element.dtype == dtype) return element.name;  // the exact one comes before the wider ones
  return "";
}

template <class... Args>
[[noreturn]] void broken(const std::string& path, fmt::format_string<Args...> format, Args&&... args) {
  fail<FileError>("safetensors", "{}: {}", path, fmt::format(format, std::forward<Args>(args)...));
}

struct Entry {
  std::string name;
  const Element* element;
  Shape shape;
  uint64_t begin, end;
};

json parse_header(const std::string& path, std::string_view text) {
  std::set<std::string> names;
  std::string twice;
  try {
    return json::parse(text.begin(), text.end(), [&](int depth, json::parse_event_t event, json& value) {
      if (depth > 8) broken(path, "the header is nested too deeply");
      if (event == json::parse_event_t::key && depth == 1 && !names.insert(value.get<std::string>()).second)
        broken(path, "\"{}\" is named twice in the header", value.get<std::string>());
      return true;
    });
  } catch (const json::exception& error) {
    broken(path, "the header is no JSON: {}", error.what());
  }
}

uint64_t count(const std::string& path, const std::string& name, const json& value) {
  if (!value.is_number_unsigned()) broken(path, "tensor \"{}\" has {} where a count belongs", name, value.dump());
  return value.get<uint64_t>();
}

Entry read_entry(const std::string& path, const std::string& name, const json& value, uint64_t data_bytes) {
  if (!value.is_object() || !value.contains("dtype") || !value.contains("shape") || !value.contains("data_offsets"))
    broken(path, "tensor \"{}\" needs dtype, shape and data_offsets", name);
  const json &dtype = value["dtype"], &shape = value["shape"], &offsets = value["data_offsets"];
  if (!dtype.is_string() || !shape.is_array() || !offsets.is_array() || offsets.size() != 2)
    broken(path, "tensor \"{}\" has a dtype, shape or data_offsets of the wrong kind", name);
  const auto element = std::find_if(std::begin(kElements), std::end(kElements),
                                    [&](const Element& e) { return dtype.get_ref<const std::string&>() == e.name; });
  if (element == std::end(kElements))
    broken(path, "tensor \"{}\" has dtype {}, which is not supported", name, dtype.get<std::string>());
  if (shape.size() > static_cast<size_t>(kMaxRank))
    broken(path, "tensor \"{}\" has {} axes, at most {} are supported", name, shape.size(), kMaxRank);
  const uint64_t begin = count(path, name, offsets[0]), end = count(path, name, offsets[1]);
  if (begin > end || end > data_bytes)
    broken(path, "tensor \"{}\" lies at bytes {} to {} of {}", name, begin, end, data_bytes);
  std::vector<int64_t> dims;
  uint64_t bytes = element->stored;
  for (const json& axis : shape) {
    const uint64_t extent = count(path, name, axis);
    dims.push_back(static_cast<int64_t>(extent));
    if (extent > kMaxElements || (extent && bytes > kMaxElements / extent))
      broken(path, "tensor \"{}\" has too many elements", name);
    bytes *= extent;
  }
  if (bytes != end - begin)
    broken(path, "tensor \"{}\" of shape {} takes {} bytes, its data_offsets hold {}", name, shape.dump(), bytes,
           end - begin);
  return {name, element, Shape(dims), begin, end};
}

// Little-endian integers of `stored` bytes, widened.
template <class T>
void widen(const char* from, size_t stored, bool is_signed, std::span<T> to) {
  for (T& out : to) {
    uint64_t bits = 0;
    std::memcpy(&bits, from, stored);
    from += stored;
    const unsigned shift = 64 - 8 * static_cast<unsigned>(stored);
    out = static_cast<T>(is_signed ? static_cast<int64_t>(bits << shift) >> shift : static_cast<int64_t>(bits));
  }
}

Tensor tensor_of(const std::shared_ptr<MappedFile>& file, const Entry& entry, char* bytes) {
  const TensorSpec spec{entry.element->dtype, entry.shape};
  const size_t stored = entry.element->stored, elements = static_cast<size_t>(entry.shape.elements());
  if (spec.dtype == DType::boolean)
    for (size_t i = 0; i < elements; ++i)
      if (bytes[i] != 0 && bytes[i] != 1)
        broken(file->path(), "tensor \"{}\" is BOOL and has a byte {} at {}", entry.name, int{bytes[i]}, i);
  if (stored == size_of(spec.dtype)) {
    if (elements && reinterpret_cast<uintptr_t>(bytes) % stored == 0)
      return Tensor::from_storage(Storage::wrap(bytes, entry.end - entry.begin, [file] {}), spec);
    Storage copy = Storage::allocate(entry.end - entry.begin);
    std::memcpy(copy.data(), bytes, entry.end - entry.begin);
    return Tensor::from_storage(std::move(copy), spec);
  }
  Storage wide = Storage::allocate(static_cast<size_t>(spec.bytes()));
  if (spec.dtype == DType::int32)
    widen(bytes, stored, entry.element->is_signed, std::span(reinterpret_cast<int32_t*>(wide.data()), elements));
  else
    widen(bytes, stored, entry.element->is_signed, std::span(reinterpret_cast<int64_t*>(wide.data()), elements));
  return Tensor::from_storage(std::move(wide), spec);
}

}  // namespace

const Tensor& SafetensorsFile::at(const std::string& name) const {
  std::string known;
  size_t shown = 0;
  for (const auto& [key, tensor] : tensors) {
    if (key == name) return tensor;
    if (shown++ < kMaxNamesShown) known += (known.empty() ? "" : ", ") + key;
  }
  broken(path, "there is no tensor \"{}\"; there are {}{}", name, known, shown > kMaxNamesShown ? ", …" : "");
}

SafetensorsFile read_safetensors(const std::string& path) {
  const auto file = std::make_shared<MappedFile>(path);
  if (file->size() < 8) broken(path, "has {} bytes, a header alone takes more", file->size());
  uint64_t header_bytes = 0;
  std::memcpy(&header_bytes, file->data(), 8);
  if (header_bytes > kHeaderLimit || header_bytes > file->size() - 8)
    broken(
        path, "the header should take {} bytes, the file has {}{}", header_bytes, file->size(),
        header_bytes > kHeaderLimit ? fmt::format(" and {} are allowed; it is of another format", kHeaderLimit) : "");
  const json header = parse_header(path, file->bytes().substr(8, header_bytes));
  if (!header.is_object()) broken(path, "the header is no JSON object");
  const uint64_t data_bytes = file->size() - 8 - header_bytes;

  SafetensorsFile out;
  out.path = path;
  std::vector<Entry> entries;
  for (const auto& [name, value] : header.items()) {
    if (name != "__metadata__") {
      entries.push_back(read_entry(path, name, value, data_bytes));
      continue;
    }
    if (!value.is_object()) broken(path, "__metadata__ is no JSON object");
    for (const auto& [key, text] : value.items()) {
      if (!text.is_string()) broken(path, "__metadata__ \"{}\" is no string", key);
      out.metadata[key] = text.get<std::string>();
    }
  }
  std::stable_sort(entries.begin(), entries.end(), [](const Entry& a, const Entry& b) {
    return a.begin != b.begin ? a.begin < b.begin : a.end < b.end;
  });
  uint64_t at = 0;
  for (const Entry& entry : entries) {
    if (entry.begin != at)
      broken(path, "tensor \"{}\" begins at byte {}, the one before it ends at {}", entry.name, entry.begin, at);
    at = entry.end;
    out.tensors.emplace_back(entry.name, tensor_of(file, entry, file->data() + 8 + header_bytes + entry.begin));
  }
  if (at != data_bytes) broken(path, "{} bytes of data, {} belong to tensors", data_bytes, at);
  return out;
}

std::string safetensors_header(const std::vector<std::pair<std::string, TensorSpec>>& tensors,
                               const std::map<std::string, std::string>& metadata) {
  nlohmann::ordered_json header = nlohmann::ordered_json::object();
  if (!metadata.empty()) header["__metadata__"] = metadata;
  std::set<std::string> names;
  int64_t at = 0;
  for (const auto& [name, spec] : tensors) {
    if (name == "__metadata__" || !names.insert(name).second)
      fail<ValueError>("safetensors", "a tensor can't be called \"{}\"{}", name,
                       name == "__metadata__" ? "" : ": another one is");
    header[name] = {{"dtype", name_in_file(spec.dtype)},
                    {"shape", spec.shape.to_vector()},
                    {"data_offsets", {at, at + spec.bytes()}}};
    at += spec.bytes();
  }
  std::string text;
  try {
    text = header.dump();
  } catch (const json::exception&) {
    fail<ValueError>("safetensors", "names and metadata must be UTF-8");
  }
  // Spaces, so that the data begin at a multiple of 8.
  text.append((8 - text.size() % 8) % 8, ' ');
  const uint64_t bytes = text.size();
  return std::string(reinterpret_cast<const char*>(&bytes), 8) + text;
}

void write_safetensors(const std::string& path, const NamedTensors& tensors,
                       const std::map<std::string, std::string>& metadata) {
  std::vector<std::pair<std::string, TensorSpec>> specs;
  for (const auto& [name, tensor] : tensors) {
    if (!tensor.defined()) fail<ValueError>("safetensors", "tensor \"{}\" is undefined", name);
    specs.emplace_back(name, tensor.spec());
  }
  const std::string header = safetensors_header(specs, metadata);
  AtomicFile file(path);
  file.write(header.data(), header.size());
  for (const auto& [name, tensor] : tensors) {
    tensor.eval();
    file.write(tensor.raw_data(), static_cast<size_t>(tensor.spec().bytes()));
  }
  file.commit();
}

}  // namespace isochron
