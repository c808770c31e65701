// Lines that tell a cause rather than progress: warnings, errors, checkpoints, profilers (notices.cpp has the table).
#pragma once

#include <cstdint>
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
  // What was raised, and by whom: "exception" by the main thread, "thread.exception" or "process.exception" by another
  // one, whose end is not the run's.
  struct Raised {
    std::string_view key;
    std::string text;  // "RuntimeError: …"
  };
  // When `line` is the one that ends a traceback.
  std::optional<Raised> feed(std::string_view line);
  // A traceback of the main thread has begun and not ended: as the last thing in a log it is the run's end as well.
  bool inside() const { return inside_ && raiser_ == Raiser::main; }

 private:
  enum class Raiser : uint8_t { main, thread, process, destructor };
  static Raiser announced_by(std::string_view line);

  bool inside_ = false;
  Raiser raiser_ = Raiser::main;
};

}  // namespace isochron
