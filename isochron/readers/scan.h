// Small scanners over log text: numbers, counts, durations with the precision they were printed in.
//
//   Scanner scan("took 1h 2m 3.5s");
//   scan.literal("took ");
//   auto time = scan.duration();   // 3723.5 s, known to +-0.05 s
//
// A scanner that fails leaves its position alone. Letters match in either case; nothing throws.
#pragma once

#include <cstdint>
#include <initializer_list>
#include <optional>
#include <string>
#include <string_view>

namespace isochron {

// A printed number and the interval the true value lies in: logs round, and clocks cut off.
struct Measured {
  double value = 0;
  double low = 0;
  double high = 0;

  static Measured exact(double value) { return {value, value, value}; }
  double width() const { return high - low; }
  Measured operator*(double factor) const { return {value * factor, low * factor, high * factor}; }
  Measured operator+(const Measured& other) const { return {value + other.value, low + other.low, high + other.high}; }
};

inline bool is_digit(char c) { return c >= '0' && c <= '9'; }
inline bool is_letter(char c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z'); }
inline bool is_word(char c) { return is_digit(c) || is_letter(c) || c == '_'; }
inline bool is_space(char c) { return c == ' ' || c == '\t'; }
inline char lower(char c) { return c >= 'A' && c <= 'Z' ? static_cast<char>(c + 32) : c; }
std::string lowered(std::string_view text);
std::string_view trimmed(std::string_view text);
bool is_one_of(std::string_view text, std::initializer_list<std::string_view> words);
bool has_any(std::string_view text, std::initializer_list<std::string_view> parts);
// Position of `needle` (given in lower case) in `text`, any case, or npos.
size_t find_any_case(std::string_view text, std::string_view needle, size_t from = 0);

class Scanner {
 public:
  explicit Scanner(std::string_view text, size_t position = 0) : text_(text), at_(position) {}

  size_t position() const { return at_; }
  void move_to(size_t position) { at_ = position < text_.size() ? position : text_.size(); }
  bool done() const { return at_ >= text_.size(); }
  char peek() const { return done() ? '\0' : text_[at_]; }
  std::string_view rest() const { return text_.substr(at_ < text_.size() ? at_ : text_.size()); }

  void skip_spaces();
  bool literal(std::string_view lower_case);
  bool any_of(std::string_view characters);
  // Digits, at most 18 of them; "001" is 1.
  std::optional<int64_t> count();
  // 12, 0.5, .5, 1e-3, with or without sign; thousands separators are not read.
  std::optional<Measured> number();
  // "36s", "1.5 min", "1h 2m 3s", "02:17", "1:30:29", "1 day, 1:32:11", "5 minutes and 12.3 seconds", 2'08", PT1M30S.
  // A unit is needed, and it must end as a word does: "5s/it" is one (the caller sees the "/"), "5 steps" is not.
  std::optional<Measured> duration();
  // hours:minutes:seconds or minutes:seconds, also after "N days, ".
  std::optional<Measured> clock();

 private:
  std::optional<double> unit_seconds(bool attached);
  static bool number_stands_alone(std::string_view text);
  std::optional<Measured> primes();
  std::optional<Measured> number_with_commas();
  std::string_view text_;
  size_t at_ = 0;
};

}  // namespace isochron
