#include "isochron/data/files/example.h"

#include <array>
#include <cstring>
#include <limits>

#include "isochron/base/wire_writer.h"

namespace isochron::data {
namespace {

// Example{1: Features{1: map entry{1: name, 2: Feature{1: BytesList | 2: FloatList | 3: Int64List}}}}; a list's values
// are its field 1, packed or one by one.
constexpr uint8_t kBytes = 1, kFloats = 2, kInts = 3;
constexpr size_t kFewFeatures = 16;  // up to here a linear search is the fastest

[[noreturn]] void fail_damaged() { fail<FileError>("parse_example", "the bytes are no tf.train.Example, or damaged"); }

[[noreturn]] void fail_feature(std::string_view name, const std::string& why) {
  fail<FileError>("parse_example", "feature \"{}\" {}", name, why);
}

// Fields of a message, in place.
class Fields {
 public:
  explicit Fields(std::string_view message)
      : at_(reinterpret_cast<const uint8_t*>(message.data())), end_(at_ + message.size()) {}
  bool more() const { return at_ < end_; }

  uint64_t varint() {
    if (at_ < end_ && *at_ < 0x80) return *at_++;
    uint64_t value = 0;
    for (int shift = 0; shift < 64; shift += 7) {
      if (at_ == end_) fail_damaged();
      const uint64_t byte = *at_++;
      value |= (byte & 0x7F) << shift;
      if (byte < 0x80) return value;
    }
    fail_damaged();
  }
  std::string_view bytes() {
    const uint64_t length = varint();
    if (length > static_cast<uint64_t>(end_ - at_)) fail_damaged();
    const std::string_view out(reinterpret_cast<const char*>(at_), length);
    at_ += length;
    return out;
  }
  const uint8_t* fixed(size_t size) {
    if (static_cast<size_t>(end_ - at_) < size) fail_damaged();
    at_ += size;
    return at_ - size;
  }
  void skip(uint64_t key) {
    switch (key & 7) {
      case 0:
        varint();
        return;
      case 1:
        fixed(8);
        return;
      case 2:
        bytes();
        return;
      case 5:
        fixed(4);
        return;
      default:
        fail_damaged();
    }
  }

 private:
  const uint8_t* at_;
  const uint8_t* end_;
};

constexpr uint64_t key_of(uint64_t field, uint64_t wire) { return field << 3 | wire; }

struct List {
  uint8_t kind = 0;  // 0: an empty feature
  std::string_view values;
};

List list_of(std::string_view feature) {
  List out;
  for (Fields fields(feature); fields.more();) {
    const uint64_t key = fields.varint();
    if (key == key_of(kBytes, 2) || key == key_of(kFloats, 2) || key == key_of(kInts, 2))
      out = {static_cast<uint8_t>(key >> 3), fields.bytes()};
    else
      fields.skip(key);
  }
  return out;
}

// Calls take(pointer to floats, count) for every run of values.
template <class F>
void each_float_run(std::string_view list, F&& take) {
  for (Fields fields(list); fields.more();) {
    const uint64_t key = fields.varint();
    if (key == key_of(1, 2)) {
      const std::string_view packed = fields.bytes();
      if (packed.size() % 4 != 0) fail_damaged();
      take(packed.data(), packed.size() / 4);
    } else if (key == key_of(1, 5)) {
      take(reinterpret_cast<const char*>(fields.fixed(4)), size_t{1});
    } else {
      fields.skip(key);
    }
  }
}

template <class F>
void each_int(std::string_view list, F&& take) {
  for (Fields fields(list); fields.more();) {
    const uint64_t key = fields.varint();
    if (key == key_of(1, 2)) {
      for (Fields packed(fields.bytes()); packed.more();) take(static_cast<int64_t>(packed.varint()));
    } else if (key == key_of(1, 0)) {
      take(static_cast<int64_t>(fields.varint()));
    } else {
      fields.skip(key);
    }
  }
}

size_t count_of(const List& list) {
  size_t count = 0;
  if (list.kind == kFloats) each_float_run(list.values, [&](const char*, size_t n) { count += n; });
  if (list.kind == kInts) each_int(list.values, [&](int64_t) { ++count; });
  return count;
}

int32_t narrowed(int64_t value, std::string_view name) {
  if (value < std::numeric_limits<int32_t>::min() || value > std::numeric_limits<int32_t>::max())
    fail_feature(name, fmt::format("holds {}, which is no int32", value));
  return static_cast<int32_t>(value);
}

uint8_t kind_for(DType dtype) { return dtype == DType::float32 ? kFloats : kInts; }

std::string_view kind_name(uint8_t kind) {
  static constexpr std::array<std::string_view, 4> names = {"an empty feature", "a list of bytes", "a list of floats",
                                                            "a list of integers"};
  return names[kind];
}

void check_kind(const List& list, DType dtype, std::string_view name) {
  if (list.kind != 0 && list.kind != kind_for(dtype))
    fail_feature(name, fmt::format("is {}, {} was asked for", kind_name(list.kind), dtype));
}

// Writes at most `room` values of the list to `to`; gives how many there are.
size_t write_values(const List& list, DType dtype, std::string_view name, std::byte* to, size_t room) {
  size_t count = 0;
  if (list.kind == kFloats) {
    each_float_run(list.values, [&](const char* from, size_t n) {
      if (count + n <= room && n > 0) std::memcpy(to + 4 * count, from, 4 * n);
      count += n;
    });
  } else if (list.kind == kInts && dtype == DType::int64) {
    each_int(list.values, [&](int64_t value) {
      if (count < room) std::memcpy(to + 8 * count, &value, 8);
      ++count;
    });
  } else if (list.kind == kInts) {
    each_int(list.values, [&](int64_t value) {
      const int32_t small = narrowed(value, name);
      if (count < room) std::memcpy(to + 4 * count, &small, 4);
      ++count;
    });
  }
  return count;
}

// The one string of a list of bytes.
std::string_view only_string(const List& list, std::string_view name) {
  if (list.kind != kBytes) fail_feature(name, fmt::format("is {}, bytes were asked for", kind_name(list.kind)));
  std::string_view out;
  size_t count = 0;
  for (Fields fields(list.values); fields.more();) {
    const uint64_t key = fields.varint();
    if (key == key_of(1, 2)) {
      out = fields.bytes();
      ++count;
    } else {
      fields.skip(key);
    }
  }
  if (count != 1) fail_feature(name, fmt::format("has {} strings, one was asked for", count));
  return out;
}

bool is_list_dtype(DType dtype) { return dtype == DType::float32 || dtype == DType::int64 || dtype == DType::int32; }

}  // namespace

Feature FixedLen(DType dtype, const Shape& shape, std::vector<double> fallback) {
  return {Feature::Kind::fixed, dtype, shape, std::move(fallback), {}};
}
Feature VarLen(DType dtype) { return {Feature::Kind::variable, dtype, {}, {}, {}}; }
Feature RawBytes(DType dtype, const Shape& shape) { return {Feature::Kind::raw, dtype, shape, {}, {}}; }
Feature Text(std::optional<std::string> fallback) {
  return {Feature::Kind::text, DType::uint8, {}, {}, std::move(fallback)};
}

ExampleParser::ExampleParser(std::vector<std::pair<std::string, Feature>> features) {
  if (features.empty()) fail<ValueError>("ExampleParser", "needs at least one feature");
  std::vector<std::string> names;
  for (auto& [name, feature] : features) {
    Slot slot{name, feature, static_cast<size_t>(feature.shape.elements()), {}};
    const bool list = feature.kind == Feature::Kind::fixed || feature.kind == Feature::Kind::variable;
    if (list && !is_list_dtype(feature.dtype))
      fail<ValueError>("ExampleParser", "feature \"{}\": lists hold float32, int64 or int32, got {}", name,
                       feature.dtype);
    if (!feature.fallback.empty()) {
      if (feature.fallback.size() != 1 && feature.fallback.size() != slot.elements)
        fail<ValueError>("ExampleParser", "feature \"{}\": {} default values for shape {}", name,
                         feature.fallback.size(), feature.shape);
      slot.fallback.resize(slot.elements * size_of(feature.dtype));
      visit_dtype(feature.dtype, [&]<class T>(Type<T>) {
        for (size_t i = 0; i < slot.elements; ++i) {
          const auto value = static_cast<T>(slot.feature.fallback[slot.feature.fallback.size() == 1 ? 0 : i]);
          std::memcpy(slot.fallback.data() + i * sizeof(T), &value, sizeof(T));
        }
      });
    }
    fixed_ = fixed_ && (feature.kind == Feature::Kind::fixed || feature.kind == Feature::Kind::raw);
    for (const std::string& earlier : names)
      if (earlier == name) fail<ValueError>("ExampleParser", "feature \"{}\" is there twice", name);
    names.push_back(name);
    slots_.push_back(std::move(slot));
  }
  if (slots_.size() > kFewFeatures)
    for (size_t i = 0; i < slots_.size(); ++i) by_name_[slots_[i].name] = i;
  names_ = std::make_shared<const std::vector<std::string>>(std::move(names));
}

std::vector<ComponentSpec> ExampleParser::specs() const {
  std::vector<ComponentSpec> out;
  if (fixed_)
    for (const Slot& slot : slots_) out.push_back({slot.feature.dtype, slot.feature.shape.to_vector(), false});
  return out;
}

std::string ExampleParser::fingerprint() const {
  std::string out;
  for (const Slot& slot : slots_) {
    out += fmt::format("{}:{}:{}{};", slot.name, static_cast<int>(slot.feature.kind), slot.feature.dtype,
                       slot.feature.shape);
    for (double value : slot.feature.fallback) out += fmt::format("{},", value);
    out += slot.feature.fallback_text.value_or("");
  }
  return out;
}

// Files keep one order of features in most of their examples: `guess` is where the search begins.
size_t ExampleParser::find(std::string_view name, size_t guess) const {
  const size_t count = slots_.size();
  if (guess < count && slots_[guess].name == name) return guess;
  if (count > kFewFeatures) {
    const auto found = by_name_.find(name);
    return found == by_name_.end() ? count : found->second;
  }
  for (size_t i = 0; i < count; ++i)
    if (slots_[i].name == name) return i;
  return count;
}

auto ExampleParser::locate(std::string_view record) const -> Located {
  Located values;
  values.resize(slots_.size());
  size_t guess = 0;
  for (Fields example(record); example.more();) {
    const uint64_t example_key = example.varint();
    if (example_key != key_of(1, 2)) {
      example.skip(example_key);
      continue;
    }
    for (Fields features(example.bytes()); features.more();) {
      const uint64_t features_key = features.varint();
      if (features_key != key_of(1, 2)) {
        features.skip(features_key);
        continue;
      }
      std::string_view name, value("", 0);
      for (Fields entry(features.bytes()); entry.more();) {
        const uint64_t key = entry.varint();
        if (key == key_of(1, 2))
          name = entry.bytes();
        else if (key == key_of(2, 2))
          value = entry.bytes();
        else
          entry.skip(key);
      }
      const size_t slot = find(name, guess);
      if (slot == slots_.size()) continue;
      values[slot] = value;
      guess = slot + 1;
    }
  }
  return values;
}

void ExampleParser::write_fixed(const Slot& slot, std::string_view value, std::byte* to) const {
  const List list = list_of(value);
  if (list.kind == 0 || value.data() == nullptr) {
    if (slot.fallback.empty() && (slot.elements > 0 || slot.feature.kind == Feature::Kind::raw))
      fail_feature(slot.name, "is missing and has no default");
    if (!slot.fallback.empty()) std::memcpy(to, slot.fallback.data(), slot.fallback.size());
    return;
  }
  if (slot.feature.kind == Feature::Kind::raw) {
    const std::string_view bytes = only_string(list, slot.name);
    const size_t needed = slot.elements * size_of(slot.feature.dtype);
    if (bytes.size() != needed)
      fail_feature(slot.name, fmt::format("has {} bytes, shape {} of {} needs {}", bytes.size(), slot.feature.shape,
                                          slot.feature.dtype, needed));
    if (slot.feature.dtype == DType::boolean) {
      for (size_t i = 0; i < needed; ++i) to[i] = std::byte{bytes[i] != 0};
    } else if (needed > 0) {
      std::memcpy(to, bytes.data(), needed);
    }
    return;
  }
  check_kind(list, slot.feature.dtype, slot.name);
  const size_t count = write_values(list, slot.feature.dtype, slot.name, to, slot.elements);
  if (count != slot.elements)
    fail_feature(slot.name, fmt::format("has {} values, shape {} needs {}", count, slot.feature.shape, slot.elements));
}

void ExampleParser::parse_into(std::string_view record, std::span<std::byte* const> rows) const {
  ISO_CHECK(fixed_ && rows.size() == slots_.size());
  const auto values = locate(record);
  for (size_t i = 0; i < slots_.size(); ++i) write_fixed(slots_[i], values[i], rows[i]);
}

Element ExampleParser::parse(std::string_view record) const {
  Element out;
  parse(record, out);
  return out;
}

void ExampleParser::parse(std::string_view record, Element& out) const {
  const auto values = locate(record);
  for (size_t i = 0; i < slots_.size(); ++i) {
    const Slot& slot = slots_[i];
    if (slot.feature.kind == Feature::Kind::text) {
      const List list = list_of(values[i]);
      if (list.kind == 0) {
        if (!slot.feature.fallback_text) fail_feature(slot.name, "is missing and has no default");
        out.add(Component(*slot.feature.fallback_text));
      } else {
        out.add(Component(std::string(only_string(list, slot.name))));
      }
      continue;
    }
    TensorSpec spec{slot.feature.dtype, slot.feature.shape};
    if (slot.feature.kind == Feature::Kind::fixed && spec.shape.rank() == 0) {
      alignas(8) std::byte scalar[8];
      write_fixed(slot, values[i], scalar);
      visit_dtype(spec.dtype, [&]<class T>(Type<T>) {
        if constexpr (std::is_arithmetic_v<T>) {
          T value;
          std::memcpy(&value, scalar, sizeof value);
          out.add(Component::scalar(value));
        }
      });
      continue;
    }
    List list;
    if (slot.feature.kind == Feature::Kind::variable) {
      list = list_of(values[i]);
      check_kind(list, spec.dtype, slot.name);
      spec.shape = Shape{static_cast<int64_t>(count_of(list))};
    }
    Storage bytes = Storage::allocate(static_cast<size_t>(spec.bytes()));
    if (slot.feature.kind == Feature::Kind::variable)
      write_values(list, spec.dtype, slot.name, bytes.data(), static_cast<size_t>(spec.shape[0]));
    else
      write_fixed(slot, values[i], bytes.data());
    const std::byte* data = bytes.data();
    out.add(Component(spec, data, std::move(bytes)));
  }
  out.set_names(names_);
}

void Example::set(const std::string& name, std::vector<float> values) { features_[name] = std::move(values); }
void Example::set(const std::string& name, std::vector<int64_t> values) { features_[name] = std::move(values); }
void Example::set(const std::string& name, std::vector<std::string> values) { features_[name] = std::move(values); }

std::string Example::serialize() const {
  WireWriter features;
  for (const auto& [name, values] : features_) {
    WireWriter list, feature, entry;
    uint8_t kind = kBytes;
    if (const auto* floats = std::get_if<std::vector<float>>(&values)) {
      kind = kFloats;
      list.float32s(1, *floats);
    } else if (const auto* ints = std::get_if<std::vector<int64_t>>(&values)) {
      kind = kInts;
      list.integers(1, *ints);
    } else {
      for (const std::string& text : std::get<std::vector<std::string>>(values)) list.bytes(1, text);
    }
    feature.bytes(kind, list.text());
    entry.bytes(1, name).bytes(2, feature.text());
    features.bytes(1, entry.text());
  }
  return WireWriter().bytes(1, features.text()).text();
}

}  // namespace isochron::data
