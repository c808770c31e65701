#include "isochron/readers/tfevents.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <optional>

#include "isochron/base/crc32c.h"
#include "isochron/base/wire.h"

namespace isochron {
namespace {

constexpr size_t kLargestRecord = size_t{64} << 20;  // images and graphs; skipped, but they must fit
constexpr size_t kMostTags = 2000;
constexpr size_t kMostPoints = 200000;
constexpr int64_t kLargestStep = 1000000000000000;  // more is junk

// The length in a record's header, if its checksum is right.
std::optional<uint64_t> record_length(std::string_view header) {
  uint64_t length = 0;
  uint32_t crc = 0;
  std::memcpy(&length, header.data(), 8);
  std::memcpy(&crc, header.data() + 8, 4);
  if (crc != masked_crc32c(header.substr(0, 8)) || length > kLargestRecord) return std::nullopt;
  return length;
}

}  // namespace

bool looks_like_tfevents(std::string_view start) {
  return start.size() >= 16 && record_length(start.substr(0, 12)).has_value();
}

bool TfEventsReader::feed(std::string_view bytes) {
  if (damaged_) return false;
  pending_ += bytes;
  size_t at = 0;
  while (pending_.size() - at >= 12) {
    const auto length = record_length(std::string_view(pending_).substr(at, 12));
    if (!length) {
      damaged_ = true;
      break;
    }
    if (pending_.size() - at < 16 + *length) break;
    read_event(std::string_view(pending_).substr(at + 12, *length));
    at += 16 + *length;
  }
  pending_.erase(0, at);
  return !damaged_;
}

// Event{1: wall_time double, 2: step, 5: Summary{1: Value{1: tag, 2: simple_value, 8: tensor}}}
void TfEventsReader::read_event(std::string_view event) {
  double wall = 0;
  int64_t step = 0;
  std::string_view summary;
  for (WireReader fields(event); fields.next();) {
    if (fields.number() == 1) wall = fields.as_double();
    if (fields.number() == 2) step = fields.signed_value();
    if (fields.number() == 5) summary = fields.bytes();
  }
  if (!(wall > 1e8 && wall < 1e11)) return;  // not a time of this age
  if (step < -kLargestStep || step > kLargestStep) return;
  if (series_.first_wall == 0 || wall < series_.first_wall) series_.first_wall = wall;
  for (WireReader values(summary); values.next();) {
    if (values.number() != 1) continue;
    std::string_view tag;
    bool tensor = false;
    std::optional<double> plain;
    for (WireReader value(values.bytes()); value.next();) {
      if (value.number() == 1) tag = value.bytes();
      if (value.number() == 2) plain = value.as_float();
      if (value.number() == 8 && value.bytes().size() < 64) tensor = true;
    }
    if (tag == "keras" && series_.model_wall == 0) series_.model_wall = wall;
    if ((!plain && !tensor) || tag.empty() || tag.size() > 200) continue;
    if (plain)
      series_.plain = true;
    else if (tag.starts_with("batch_") || tag.starts_with("epoch_") || tag.starts_with("evaluation_"))
      series_.keras = true;
    const std::string name = folder_.empty() ? std::string(tag) : folder_ + "/" + std::string(tag);
    if (series_.tags.size() >= kMostTags && !series_.tags.contains(name)) continue;
    auto& points = series_.tags[name];
    if (points.size() < kMostPoints) points.push_back({step, wall, plain.value_or(0)});
  }
}

}  // namespace isochron
