#include "isochron/readers/rich_handler.h"

#include "isochron/readers/scan.h"

namespace isochron {
namespace {

constexpr size_t kLevelWidth = 9;  // "INFO     ", whatever the level

bool names_level(std::string_view text) {
  for (const std::string_view level : {"DEBUG    ", "INFO     ", "WARNING  ", "ERROR    ", "CRITICAL "})
    if (text.starts_with(level)) return true;
  return false;
}

}  // namespace

std::optional<Timestamp> RichHandlerLines::stamp_of(std::string_view line, std::optional<Timestamp> found) {
  if (found && line.starts_with('[') && found->begin == 1 && line.substr(found->end).starts_with("] ") &&
      names_level(line.substr(found->end + 2))) {
    last_ = found;
    level_at_ = found->end + 2;
  } else if (!found && last_ && line.find_first_not_of(' ') == level_at_ && names_level(line.substr(level_at_))) {
    found = last_;
    found->begin = 0;
    found->end = level_at_;
  }
  return found;
}

std::string_view RichHandlerLines::without_place(std::string_view line) const {
  if (!last_ || line.size() < level_at_ + kLevelWidth) return line;
  const std::string_view whole = trimmed(line);
  const size_t gap = whole.rfind("  ");
  if (gap == std::string_view::npos) return line;
  const std::string_view place = trimmed(whole.substr(gap));
  const size_t colon = place.rfind(".py:");
  if (colon == std::string_view::npos || place.find_first_not_of("0123456789", colon + 4) != std::string_view::npos)
    return line;
  return line.substr(0, static_cast<size_t>(place.data() - line.data()));
}

}  // namespace isochron
