#include "isochron/observe/terminal.h"

#include <unistd.h>

namespace isochron::observe {
namespace {
constexpr size_t kMaxLine = 4096;
}

RawTerminal::RawTerminal(int fd) : fd_(fd) { enter(); }

void RawTerminal::enter() {
  if (active_ || !isatty(fd_) || tcgetpgrp(fd_) != getpgrp() || tcgetattr(fd_, &before_) != 0) return;
  termios raw = before_;
  cfmakeraw(&raw);
  active_ = tcsetattr(fd_, TCSADRAIN, &raw) == 0;
}

void RawTerminal::leave() {
  if (!active_) return;
  active_ = false;
  tcsetattr(fd_, TCSADRAIN, &before_);
}

void LineKeeper::feed(std::string_view bytes) {
  for (const char c : bytes) {
    if (c == '\n') {
      line_.clear();
      returned_ = false;
    } else if (c == '\r') {
      returned_ = true;
    } else {
      if (returned_) line_.clear();
      returned_ = false;
      if (line_.size() < kMaxLine) line_ += c;
    }
  }
}

std::string LineKeeper::with_note(std::string_view note, bool terminal) const {
  std::string out;
  if (terminal) {
    out = "\r\x1b[K";
    for (const char c : note) out += c == '\n' ? "\r\n" : std::string(1, c);
    out += line_;
    if (returned_) out += '\r';
  } else {
    if (!line_.empty()) out += '\n';
    out += note;
  }
  return out;
}

}  // namespace isochron::observe
