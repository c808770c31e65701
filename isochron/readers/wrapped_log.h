// Console lines inside JSON, one object a line: what Docker keeps, what cloud loggers export, what JSON formatters
// write.
//
//   {"log":"Epoch 3: 12.1 s\n","stream":"stdout","time":"2026-11-15T12:58:41.1Z"}
//   {"timestamp": 1763211521.3, "level": "INFO", "message": "epoch 3 begins"}
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "isochron/readers/console_reader.h"
#include "isochron/readers/line_buffer.h"
#include "isochron/timeline/run_record.h"

namespace isochron {

// Feed in pieces, as ConsoleReader is, which reads the lines by the times beside them.
class WrappedLogReader {
 public:
  explicit WrappedLogReader(std::string source) : console_(std::move(source)) {}
  void feed(std::string_view bytes);
  std::vector<RunRecord> finish();

 private:
  void read_line(const std::string& line);

  ConsoleReader console_;
  LineBuffer lines_;
  std::optional<double> origin_;  // Unix time of the first line
};

bool looks_like_wrapped_log(std::string_view start);

}  // namespace isochron
