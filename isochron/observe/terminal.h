// The user's terminal while a command runs on a pseudo-terminal inside it: raw mode that is always
// undone, and notes of our own between the lines of the command's output.
#pragma once

#include <termios.h>

#include <string>
#include <string_view>

namespace isochron::observe {

// Raw mode on `fd` for its lifetime. Does nothing when fd is no terminal or we are in the background.
class RawTerminal {
 public:
  explicit RawTerminal(int fd);
  ~RawTerminal() { leave(); }
  RawTerminal(const RawTerminal&) = delete;
  RawTerminal& operator=(const RawTerminal&) = delete;

  bool active() const { return active_; }
  void enter();
  void leave();

 private:
  int fd_;
  bool active_ = false;
  termios before_{};
};

// Follows a stream of output so that a note can be put in without garbling it.
class LineKeeper {
 public:
  // What the command wrote.
  void feed(std::string_view bytes);
  // Bytes that show `note` (lines ended by \n) above the unfinished line, which is drawn again below
  // it on a terminal. A plain file gets the note on lines of its own.
  std::string with_note(std::string_view note, bool terminal) const;

 private:
  std::string line_;  // since the last line end or return, cut at a bound
  bool returned_ = false;
};

}  // namespace isochron::observe
