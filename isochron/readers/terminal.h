// What a terminal would have shown, as a stream of lines and redraws.
//
//   Terminal terminal([](const Terminal::Line& line) { … });
//   terminal.feed("Epoch 1\n 1/9 [..]\r 9/9 [==]\n");   // "Epoch 1", " 1/9 [..]" (redrawn), " 9/9 [==]"
//
// Progress bars draw over themselves by carriage returns, backspaces, erase and cursor-up sequences. Each state a
// line was drawn in is reported once, in order, without colours; leftovers of longer text behind a redraw are not
// part of it. Lines longer than kLongestLine are reported in pieces. UTF-16 input (PowerShell's `>`) is decoded.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>

namespace isochron {

class Terminal {
 public:
  // Longer lines are reported in pieces, up to so many of them: nobody prints more without an end of line.
  static constexpr size_t kLongestLine = 16384;
  static constexpr int kMostPieces = 256;

  struct Line {
    std::string_view text;
    std::optional<double> time;  // when its last character was drawn
    int64_t number = 0;          // 1-based line of the file
    bool redrawn = false;        // something else was drawn over it later
  };
  using Sink = std::function<void(const Line&)>;

  explicit Terminal(Sink sink) : sink_(std::move(sink)) {}

  void feed(std::string_view bytes, std::optional<double> time = std::nullopt);
  // Reports what stands on the last line.
  void finish();
  // What was drawn since the last report: a line that has not ended yet.
  Line pending() const { return {fresh_ ? std::string_view(line_) : std::string_view(), drawn_, number_, true}; }

 private:
  enum class Mode : uint8_t { text, escape, csi, osc, osc_escape, charset };
  enum class Encoding : uint8_t { unknown, bytes, utf16_little, utf16_big };

  void put(std::string_view text);
  void control(char c);
  void apply_csi(char final);
  void report(bool redrawn);
  void move_to_start();
  void decode_utf16(std::string_view bytes);
  void feed_bytes(std::string_view bytes);

  Sink sink_;
  std::string line_;
  size_t cursor_ = 0;     // byte offset into line_
  int pieces_ = 0;        // of this line that were reported
  bool fresh_ = false;    // line_ has text that was not reported yet
  std::string sequence_;  // parameters of the escape sequence under way
  Mode mode_ = Mode::text;
  Encoding encoding_ = Encoding::unknown;
  std::string carry_;            // bytes of a character cut by the end of a chunk (UTF-16, byte-order marks)
  std::optional<double> time_;   // of the bytes being fed
  std::optional<double> drawn_;  // of the last character drawn
  int64_t number_ = 1;
};

}  // namespace isochron
