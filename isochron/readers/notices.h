// Lines that tell a cause rather than progress: warnings, errors, checkpoints, profilers (notices.cpp has the table).
#pragma once

#include <optional>
#include <string>
#include <string_view>

namespace isochron {

struct Notice {
  std::string_view key;
  bool fatal = false;  // if nothing comes after it, this ended the run
};

struct LineNotices {
  std::optional<Notice> notice;
  std::string_view framework;  // that the line betrays by paths and names, or ""
};
LineNotices match_notices(std::string_view line_lower);

// Follows Python tracebacks through the lines of a log.
class TracebackReader {
 public:
  // The exception's line ("RuntimeError: …") when `line` is the one that ends a traceback of the main thread.
  std::optional<std::string> feed(std::string_view line);
  // A traceback has begun and not ended: as the last thing in a log it is the run's end as well.
  bool inside() const { return inside_ && !harmless_; }

 private:
  bool inside_ = false;
  bool harmless_ = false;  // of another thread, or of a destructor
};

}  // namespace isochron
