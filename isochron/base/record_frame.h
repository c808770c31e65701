// The frame around each record of TFRecord and event files: length, its checksum, the bytes, their checksum.
#pragma once

#include <cstdint>
#include <cstring>
#include <string>
#include <string_view>

#include "isochron/base/crc32c.h"

namespace isochron {

inline constexpr size_t kRecordHeader = 12;  // length and its checksum
inline constexpr size_t kRecordFooter = 4;

inline void append_record(std::string& out, std::string_view record) {
  char header[kRecordHeader];
  const uint64_t length = record.size();
  std::memcpy(header, &length, 8);
  const uint32_t length_crc = masked_crc32c({header, 8}), data_crc = masked_crc32c(record);
  std::memcpy(header + 8, &length_crc, 4);
  out.append(header, sizeof header);
  out.append(record);
  out.append(reinterpret_cast<const char*>(&data_crc), sizeof data_crc);
}

}  // namespace isochron
