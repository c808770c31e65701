// Messages of the library: levelled, limited in rate, and written by a thread of their own.
//
//   log_line(LogLevel::warning, "preflight", "a tight fit: …");
//   // standard error: isochron: warning: preflight: a tight fit: …
//
// ISOCHRON_LOG sets the level from which lines are written: debug, info, warning (the default), error or off.
// ISOCHRON_LOG_FILE writes them to a file with date and level in place of standard error; at 10 MB it becomes FILE.1,
// that FILE.2, and FILE.3 is the last that is kept. The caller pays a short lock; nothing waits for a terminal or a
// disk. At most 20 lines of one topic are written in 10 seconds, and 1,000 wait at a time: what is left out is counted
// and said. Lines still waiting are written at exit. Thread-safe.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

namespace isochron {

enum class LogLevel : uint8_t { debug, info, warning, error, off };

// Whether a line of this level would be written: for texts that cost something to make.
bool log_enabled(LogLevel level);
void log_line(LogLevel level, std::string_view topic, std::string text);
// Returns when all lines given so far are written.
void log_flush();

struct LogOptions {
  LogLevel level = LogLevel::warning;
  std::string file = {};  // empty: standard error
  int64_t rotate_bytes = 10'000'000;
  int kept = 3;  // old files
  int lines_of_a_topic = 20;
  double topic_seconds = 10;
};
// In place of what the environment says. ValueError for a level or number that makes no sense.
void set_log_options(LogOptions options);
// What the environment says.
LogOptions log_options_from_environment();

}  // namespace isochron
