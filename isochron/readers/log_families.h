// The forms of log lines that have a fixed meaning, one row each (log_families.cpp holds the table).
#pragma once

#include <optional>
#include <string_view>

#include "isochron/readers/log_event.h"

namespace isochron {

// The first row that fits. `line_lower` is the line in lower case.
std::optional<LogEvent> match_log_family(std::string_view line, std::string_view line_lower);

}  // namespace isochron
