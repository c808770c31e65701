// Protocol-buffer wire format, written field by field without a schema.
//
//   WireWriter value;
//   value.bytes(1, "loss").float32(2, 0.25f);
//   WireWriter summary;
//   summary.bytes(1, value.text());
#pragma once

#include <cstdint>
#include <cstring>
#include <span>
#include <string>
#include <string_view>

namespace isochron {

class WireWriter {
 public:
  WireWriter& integer(uint32_t field, int64_t value) {
    varint(uint64_t{field} << 3);
    varint(static_cast<uint64_t>(value));
    return *this;
  }
  WireWriter& float64(uint32_t field, double value) { return fixed(field, 1, &value, sizeof value); }
  WireWriter& float32(uint32_t field, float value) { return fixed(field, 5, &value, sizeof value); }
  WireWriter& bytes(uint32_t field, std::string_view value) {
    varint(uint64_t{field} << 3 | 2);
    varint(value.size());
    text_ += value;
    return *this;
  }
  WireWriter& float64s(uint32_t field, std::span<const double> values) {
    return bytes(field, {reinterpret_cast<const char*>(values.data()), values.size_bytes()});
  }
  WireWriter& integers(uint32_t field, std::span<const int64_t> values) {
    WireWriter packed;
    for (const int64_t value : values) packed.varint(static_cast<uint64_t>(value));
    return bytes(field, packed.text_);
  }
  WireWriter& float32s(uint32_t field, std::span<const float> values) {
    return bytes(field, {reinterpret_cast<const char*>(values.data()), values.size_bytes()});
  }
  const std::string& text() const { return text_; }

 private:
  void varint(uint64_t value) {
    for (; value >= 0x80; value >>= 7) text_ += static_cast<char>(value | 0x80);
    text_ += static_cast<char>(value);
  }
  WireWriter& fixed(uint32_t field, uint32_t kind, const void* value, size_t size) {
    varint(uint64_t{field} << 3 | kind);
    text_.append(static_cast<const char*>(value), size);
    return *this;
  }
  std::string text_;
};

}  // namespace isochron
