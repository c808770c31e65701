// Protocol-buffer wire format, read field by field without a schema or copies.
//
//   for (WireReader fields(message); fields.next();)
//     if (fields.number() == 2) name = fields.bytes();
//
// Ends at the first thing that is not well formed; damaged() tells. Our readers need a dozen fields of two schemas,
// which does not pay for generated code.
#pragma once

#include <cstdint>
#include <cstring>
#include <string_view>

namespace isochron {

class WireReader {
 public:
  explicit WireReader(std::string_view message) : at_(message.data()), end_(message.data() + message.size()) {}

  bool next() {
    if (at_ >= end_ || damaged_) return false;
    uint64_t key = 0;
    if (!varint(key) || key >> 3 == 0 || key >> 3 > 0x1FFFFFFF) return fail();
    number_ = static_cast<uint32_t>(key >> 3);
    bytes_ = {};
    value_ = 0;
    switch (key & 7) {
      case 0:
        return varint(value_) || fail();
      case 1:
        return fixed(8) || fail();
      case 2: {
        uint64_t length = 0;
        if (!varint(length) || length > static_cast<uint64_t>(end_ - at_)) return fail();
        bytes_ = {at_, static_cast<size_t>(length)};
        at_ += length;
        return true;
      }
      case 5:
        return fixed(4) || fail();
      default:
        return fail();
    }
  }

  uint32_t number() const { return number_; }
  uint64_t value() const { return value_; }
  int64_t signed_value() const { return static_cast<int64_t>(value_); }
  double as_double() const {
    double out;
    std::memcpy(&out, &value_, sizeof out);
    return out;
  }
  float as_float() const {
    float out;
    std::memcpy(&out, &value_, sizeof out);
    return out;
  }
  std::string_view bytes() const { return bytes_; }
  bool damaged() const { return damaged_; }

 private:
  bool fail() {
    damaged_ = true;
    return false;
  }
  bool fixed(size_t size) {
    if (static_cast<size_t>(end_ - at_) < size) return false;
    std::memcpy(&value_, at_, size);
    at_ += size;
    return true;
  }
  bool varint(uint64_t& out) {
    out = 0;
    for (int shift = 0; shift < 64 && at_ < end_; shift += 7) {
      const auto byte = static_cast<unsigned char>(*at_++);
      out |= static_cast<uint64_t>(byte & 0x7F) << shift;
      if (byte < 0x80) return true;
    }
    return false;
  }

  const char* at_;
  const char* end_;
  uint32_t number_ = 0;
  uint64_t value_ = 0;
  std::string_view bytes_;
  bool damaged_ = false;
};

}  // namespace isochron
