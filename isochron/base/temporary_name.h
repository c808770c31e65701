// Names for what is being written, before it gets its own: ".ckpt-0005.3fa2.4711-8812345.0.tmp", of host, process, when
// that was started, and a count. So what a process that is gone has left can be told from what a living one writes.
#pragma once

#include <optional>
#include <string>

namespace isochron {

// Beside `path`, hidden, not used before. `end`: "tmp", or "old" for what is being replaced.
std::string temporary_name(const std::string& path, const char* end = "tmp");

struct TemporaryName {
  std::string target;         // the last part of the path it was made for
  std::optional<bool> alive;  // the process that made it; unknown on another host
};
// Nothing for other names. `name` is the last part of a path.
std::optional<TemporaryName> parse_temporary_name(const std::string& name);

}  // namespace isochron
