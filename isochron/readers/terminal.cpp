#include "isochron/readers/terminal.h"

#include <algorithm>
#include <cstdlib>

namespace isochron {
namespace {

bool continues_character(char c) { return (static_cast<unsigned char>(c) & 0xC0) == 0x80; }

void append_utf8(std::string& out, uint32_t code) {
  if (code < 0x80) {
    out += static_cast<char>(code);
  } else if (code < 0x800) {
    out += static_cast<char>(0xC0 | code >> 6);
    out += static_cast<char>(0x80 | (code & 0x3F));
  } else {
    out += static_cast<char>(0xE0 | code >> 12);
    out += static_cast<char>(0x80 | (code >> 6 & 0x3F));
    out += static_cast<char>(0x80 | (code & 0x3F));
  }
}

}  // namespace

void Terminal::feed(std::string_view bytes, std::optional<double> time) {
  time_ = time;
  if (encoding_ == Encoding::unknown) {
    carry_ += bytes;
    if (carry_.size() < 2) return;
    const std::string start = std::move(carry_);
    carry_.clear();
    encoding_ = start.starts_with("\xFF\xFE")   ? Encoding::utf16_little
                : start.starts_with("\xFE\xFF") ? Encoding::utf16_big
                                                : Encoding::bytes;
    const size_t mark = encoding_ != Encoding::bytes ? 2 : start.starts_with("\xEF\xBB\xBF") ? 3 : 0;
    feed(std::string_view(start).substr(mark), time);
  } else if (encoding_ == Encoding::bytes) {
    feed_bytes(bytes);
  } else {
    decode_utf16(bytes);
  }
}

void Terminal::finish() {
  if (encoding_ == Encoding::unknown) feed_bytes(carry_);
  carry_.clear();
  report(false);
}

void Terminal::decode_utf16(std::string_view bytes) {
  std::string units = carry_ + std::string(bytes);
  carry_.clear();
  std::string decoded;
  size_t i = 0;
  for (; i + 1 < units.size(); i += 2) {
    const auto first = static_cast<unsigned char>(units[i]), second = static_cast<unsigned char>(units[i + 1]);
    // Surrogate halves come out as two odd characters; no log family needs them.
    append_utf8(decoded, encoding_ == Encoding::utf16_little ? second << 8 | first : first << 8 | second);
  }
  carry_ = units.substr(i);
  feed_bytes(decoded);
}

void Terminal::feed_bytes(std::string_view bytes) {
  const auto printable = [](char c) { return static_cast<unsigned char>(c) >= 0x20 && c != 0x7F; };
  for (size_t i = 0; i < bytes.size(); ++i) {
    const char c = bytes[i];
    switch (mode_) {
      case Mode::text:
        if (printable(c)) {
          size_t end = i + 1;
          while (end < bytes.size() && printable(bytes[end])) ++end;
          put(bytes.substr(i, end - i));
          i = end - 1;
        } else if (c == '\0') {  // holes of sparse files
          while (i + 1 < bytes.size() && bytes[i + 1] == '\0') ++i;
        } else {
          control(c);
        }
        break;
      case Mode::escape:
        sequence_.clear();
        mode_ = c == '[' ? Mode::csi : c == ']' ? Mode::osc : c == '(' || c == ')' ? Mode::charset : Mode::text;
        break;
      case Mode::csi:
        if (c >= 0x40 && c <= 0x7E) {
          mode_ = Mode::text;
          apply_csi(c);
        } else if (static_cast<unsigned char>(c) < 0x20 || sequence_.size() > 32) {
          mode_ = Mode::text;  // no sequence after all
          if (c == '\n' || c == '\r') control(c);
        } else {
          sequence_ += c;
        }
        break;
      case Mode::osc:
        if (c == '\a' || c == '\n')
          mode_ = Mode::text;
        else if (c == '\x1B')
          mode_ = Mode::osc_escape;
        break;
      case Mode::osc_escape:
        mode_ = c == '\\' ? Mode::text : Mode::osc;
        break;
      case Mode::charset:
        mode_ = Mode::text;
        break;
    }
  }
}

void Terminal::put(std::string_view text) {
  if (cursor_ < line_.size()) {  // drawing over something: that state is complete, what is behind is gone
    report(true);
    line_.resize(cursor_);
  }
  while (!text.empty()) {
    if (line_.size() >= kLongestLine) {
      if (pieces_ == kMostPieces) break;
      ++pieces_;
      report(false);
      line_.clear();
    }
    const std::string_view part = text.substr(0, kLongestLine - line_.size());
    line_ += part;
    text.remove_prefix(part.size());
    fresh_ = true;
  }
  cursor_ = line_.size();
  drawn_ = time_;
}

void Terminal::control(char c) {
  switch (c) {
    case '\n':
      report(false);
      line_.clear();
      cursor_ = 0;
      pieces_ = 0;
      ++number_;
      break;
    case '\r':
      move_to_start();
      break;
    case '\b':
      while (cursor_ > 0 && continues_character(line_[--cursor_])) {
      }
      break;
    case '\t':
      put("\t");
      break;
    case '\x1B':
      mode_ = Mode::escape;
      break;
    default:
      break;
  }
}

void Terminal::move_to_start() { cursor_ = pieces_ = 0; }

void Terminal::apply_csi(char final) {
  const int count = std::clamp(std::atoi(sequence_.c_str()), 0, 1000);
  switch (final) {
    case 'K':  // erase: 0 to the end, 1 to the start, 2 all
      if (count == 2 || cursor_ == 0) {
        report(true);
        line_.clear();
        cursor_ = 0;
      } else if (count == 0 && cursor_ < line_.size()) {
        report(true);
        line_.resize(cursor_);
      }
      break;
    case 'A':  // up, to a line that will be drawn anew
    case 'F':
    case 'H':
    case 'J':
      report(true);
      line_.clear();
      cursor_ = 0;
      break;
    case 'G':  // to a column; only the first one is used by progress bars
      if (count <= 1) move_to_start();
      break;
    case 'D':
      for (int i = 0; i < std::max(count, 1); ++i) control('\b');
      break;
    default:
      break;
  }
}

void Terminal::report(bool redrawn) {
  if (!fresh_) return;
  fresh_ = false;
  if (line_.find_first_not_of(" \t") == std::string::npos) return;
  sink_({line_, drawn_, number_, redrawn});
}

}  // namespace isochron
