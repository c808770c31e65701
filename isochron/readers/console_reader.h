// Console output of a training run -> RunRecord, for any framework. Feed it bytes as they come.
//
//   ConsoleReader reader("train.log");
//   while (read(chunk)) reader.feed(chunk);              // from a file
//   reader.feed(bytes, seconds_since_process_start);     // live, from a terminal: times sharpen the epochs
//   std::vector<RunRecord> runs = reader.finish();       // one record per fit found in the log
//
// Takes any bytes: carriage returns, backspaces, colours, cursor movement, broken lines, binary junk. Memory is
// bounded (long lines are cut, repeated notices are counted). Not thread-safe.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "isochron/timeline/run_record.h"

namespace isochron {

class ConsoleReader {
 public:
  explicit ConsoleReader(std::string source = "console");
  ~ConsoleReader();
  ConsoleReader(ConsoleReader&&) noexcept;
  ConsoleReader& operator=(ConsoleReader&&) noexcept;

  // `time`: when these bytes were written, in seconds since the start of the process.
  void feed(std::string_view bytes, std::optional<double> time = std::nullopt);

  // What is known so far of the fit under way: cheap enough for a call per second.
  RunRecord snapshot() const;

  // Ends the log and returns its fits, in order; one record without epochs if there is none.
  std::vector<RunRecord> finish();

 private:
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace isochron
