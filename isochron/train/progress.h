// The progress line, in the Keras manner: redrawn at most ten times a second, by a thread of its own.
//
//   ProgressLine line(1);
//   line.begin("Epoch 1/5", 1875);
//   if (line.due()) line.update(step, logs());            // logs are only read when a redraw is due
//   line.end(1875, final_logs);
//
// verbose 2 prints one line an epoch, verbose 0 nothing. Without a terminal only finished lines are printed. Lines that
// follow each other within a twentieth of a second are written together. A line that is redrawn is cut to one row of
// the terminal, the finished one is whole.
#pragma once

#include <cstdint>
#include <memory>
#include <string>

#include "isochron/nn/model.h"

namespace isochron {

class ProgressLine {
 public:
  explicit ProgressLine(int verbose);
  ~ProgressLine();

  void begin(const std::string& title, int64_t steps);
  // True at most ten times a second, and never for verbose other than 1 or without a terminal.
  bool due();
  void update(int64_t step, const Logs& logs);
  void end(int64_t steps, const Logs& logs);
  // A line of its own above the progress line, or before the first; nothing with verbose 0.
  void say(const std::string& text);
  // Likewise; with verbose 0 it goes to the log.
  void warn(const std::string& text);

  // While it lives, what tell() is given in this thread stands among the lines of this one.
  class Scope {
   public:
    explicit Scope(ProgressLine& line);
    ~Scope();
    Scope(const Scope&) = delete;
    Scope& operator=(const Scope&) = delete;

   private:
    ProgressLine* before_;
  };
  // A line of a callback, which stands where it belongs among those of the fit that calls it. Where that is silent, or
  // none runs in this thread, it goes to standard output at once.
  static void tell(const std::string& text);

 private:
  class Writer;
  bool shown();  // and the writer is there
  std::string line(int64_t step, const Logs& logs, bool finished) const;
  std::unique_ptr<Writer> writer_;
  int verbose_;
  bool terminal_;
  int64_t steps_ = 0, started_ns_ = 0, next_ns_ = 0;
};

}  // namespace isochron
