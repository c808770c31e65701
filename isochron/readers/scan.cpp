#include "isochron/readers/scan.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>
#include <cstdlib>

namespace isochron {
namespace {

struct Unit {
  std::string_view name;
  double seconds;
};
// Longer names before their beginnings.
constexpr std::array kUnits = std::to_array<Unit>({
    {"milliseconds", 1e-3},
    {"millisecond", 1e-3},
    {"microseconds", 1e-6},
    {"microsecond", 1e-6},
    {"nanoseconds", 1e-9},
    {"seconds", 1},
    {"second", 1},
    {"minutes", 60},
    {"minute", 60},
    {"hours", 3600},
    {"hour", 3600},
    {"days", 86400},
    {"day", 86400},
    {"msec", 1e-3},
    {"secs", 1},
    {"sec", 1},
    {"mins", 60},
    {"min", 60},
    {"hrs", 3600},
    {"hr", 3600},
    {"ms", 1e-3},
    {"us", 1e-6},
    {"\xC2\xB5s", 1e-6},
    {"\xCE\xBCs", 1e-6},
    {"ns", 1e-9},
    {"\u0441\u0435\u043a", 1},  // сек
    {"\u0441", 1},              // с
    {"\u79d2", 1},              // 秒
    {"\ucd08", 1},              // 초
    {"s", 1},
    {"m", 60},
    {"h", 3600},
    {"d", 86400},
});

// Whether a unit may begin so, in lower case: most that stands behind numbers is none.
constexpr bool begins_unit(char c) {
  return std::any_of(kUnits.begin(), kUnits.end(), [&](const Unit& unit) { return unit.name[0] == c; });
}
constexpr auto kBeginsUnit = [] {
  std::array<bool, 256> begins{};
  for (int c = 0; c < 256; ++c) begins[static_cast<size_t>(c)] = begins_unit(static_cast<char>(c));
  return begins;
}();

// Half of a number's last digit, 0.5e-4 of "0.1234".
double half_of_last_digit(int exponent) {
  constexpr double kHalves[] = {0.5,    0.5e-1, 0.5e-2, 0.5e-3, 0.5e-4,  0.5e-5,
                                0.5e-6, 0.5e-7, 0.5e-8, 0.5e-9, 0.5e-10, 0.5e-11};
  const auto place = static_cast<size_t>(-exponent);
  return exponent <= 0 && place < std::size(kHalves) ? kHalves[place] : 0.5 * std::pow(10.0, exponent);
}

constexpr char kCyrillic = '\xD1';  // the first byte of с in UTF-8

}  // namespace

std::string lowered(std::string_view text) {
  std::string out(text);
  for (char& c : out) c = lower(c);
  return out;
}

bool is_one_of(std::string_view text, std::initializer_list<std::string_view> words) {
  return std::find(words.begin(), words.end(), text) != words.end();
}

bool has_any(std::string_view text, std::initializer_list<std::string_view> parts) {
  return std::any_of(parts.begin(), parts.end(),
                     [&](std::string_view part) { return text.find(part) != std::string_view::npos; });
}

std::string_view trimmed(std::string_view text) {
  while (!text.empty() && is_space(text.front())) text.remove_prefix(1);
  while (!text.empty() && is_space(text.back())) text.remove_suffix(1);
  return text;
}

size_t find_any_case(std::string_view text, std::string_view needle, size_t from) {
  if (needle.empty()) return from;
  for (size_t i = from; i + needle.size() <= text.size(); ++i) {
    if (lower(text[i]) != needle[0]) continue;
    size_t k = 1;
    while (k < needle.size() && lower(text[i + k]) == needle[k]) ++k;
    if (k == needle.size()) return i;
  }
  return std::string_view::npos;
}

void Scanner::skip_spaces() {
  while (!done() && is_space(text_[at_])) ++at_;
}

bool Scanner::literal(std::string_view lower_case) {
  if (text_.size() - at_ < lower_case.size() || at_ > text_.size()) return false;
  for (size_t i = 0; i < lower_case.size(); ++i)
    if (lower(text_[at_ + i]) != lower_case[i]) return false;
  at_ += lower_case.size();
  return true;
}

bool Scanner::any_of(std::string_view characters) {
  if (done() || characters.find(text_[at_]) == std::string_view::npos) return false;
  ++at_;
  return true;
}

std::optional<int64_t> Scanner::count() {
  size_t end = at_;
  while (end < text_.size() && is_digit(text_[end])) ++end;
  if (end == at_ || end - at_ > 18) return std::nullopt;
  int64_t value = 0;
  std::from_chars(text_.data() + at_, text_.data() + end, value);
  at_ = end;
  return value;
}

std::optional<Measured> Scanner::number() {
  size_t end = at_;
  if (end < text_.size() && (text_[end] == '-' || text_[end] == '+')) ++end;
  const size_t digits = end;
  while (end < text_.size() && is_digit(text_[end])) ++end;
  const bool whole = end > digits;
  int decimals = 0;
  if (end < text_.size() && text_[end] == '.' && (whole || (end + 1 < text_.size() && is_digit(text_[end + 1])))) {
    size_t fraction = end + 1;
    while (fraction < text_.size() && is_digit(text_[fraction])) ++fraction;
    decimals = static_cast<int>(fraction - end - 1);
    end = fraction;
  }
  if (end == digits || end - at_ > 40) return std::nullopt;
  int exponent = 0;
  if (end + 1 < text_.size() && lower(text_[end]) == 'e') {
    size_t power = end + 1;
    if (text_[power] == '-' || text_[power] == '+') ++power;
    const size_t first = power;
    while (power < text_.size() && is_digit(text_[power])) ++power;
    if (power > first && power - first <= 3) {
      exponent = std::atoi(std::string(text_.substr(end + 1, power - end - 1)).c_str());
      end = power;
    }
  }
  const char* start = text_.data() + at_ + (text_[at_] == '+' ? 1 : 0);
  double value = 0;
  if (std::from_chars(start, text_.data() + end, value).ec != std::errc() || !std::isfinite(value)) return std::nullopt;
  at_ = end;
  const double half = half_of_last_digit(exponent - decimals);
  return Measured{value, value - half, value + half};
}

// "loss 0.3 secs 4.2": the number has no unit but the word before it. But "4.2 secs 12 ms/step" has.
bool Scanner::number_stands_alone(std::string_view text) {
  Scanner next(text);
  if (!is_space(next.peek())) return false;
  next.skip_spaces();
  if (!next.number() || is_word(next.peek()) || next.peek() == '/') return false;
  next.skip_spaces();
  return !next.unit_seconds(false);
}

std::optional<double> Scanner::unit_seconds(bool attached) {
  const size_t start = at_;
  if (!kBeginsUnit[static_cast<unsigned char>(lower(peek()))]) return std::nullopt;
  for (const Unit& unit : kUnits) {
    // "5 m" is as often metres or millions as minutes.
    if (unit.name.size() == 1 && unit.name != "s" && !attached) continue;
    if (peek() == 'M' && unit.name == "m") continue;  // millions
    if (!literal(unit.name)) continue;
    // "loss 0.3 seconds=4.2", "loss 0.3 sec: 4.2": the name of what follows.
    const bool named = !attached && (peek() == '=' || (peek() == ':' && rest().size() > 2 && is_digit(rest()[2])) ||
                                     (unit.name.starts_with("sec") && number_stands_alone(rest())));
    if (named) {
      at_ = start;
      return std::nullopt;
    }
    // "1h2m" goes on; "3 слоя" are no seconds.
    const bool longer_word = unit.name[0] == kCyrillic && static_cast<unsigned char>(peek()) >= 0x80;
    if (!longer_word && (!is_word(peek()) || (is_digit(peek()) && unit.name.size() == 1))) return unit.seconds;
    at_ = start;
  }
  return std::nullopt;
}

std::optional<Measured> Scanner::clock() {
  const size_t start = at_;
  const auto refuse = [&]() -> std::optional<Measured> {
    at_ = start;
    return std::nullopt;
  };
  double days = 0;
  const auto first = count();
  if (!first) return refuse();
  int64_t hours_or_minutes = *first;
  if (const size_t after = at_; peek() != ':') {
    skip_spaces();
    if (!literal("day") || *first > 36500) return refuse();
    literal("s");
    literal(",");
    skip_spaces();
    days = static_cast<double>(*first);
    const auto next = count();
    if (!next || peek() != ':') {
      at_ = after;
      return refuse();
    }
    hours_or_minutes = *next;
  }
  double parts[3] = {static_cast<double>(hours_or_minutes), 0, 0};
  int count_of_parts = 1;
  while (count_of_parts < 3 && peek() == ':' && at_ + 2 < text_.size() && is_digit(text_[at_ + 1]) &&
         is_digit(text_[at_ + 2])) {
    ++at_;
    parts[count_of_parts++] = (text_[at_] - '0') * 10 + (text_[at_ + 1] - '0');
    at_ += 2;
  }
  if (count_of_parts == 1 || is_digit(peek()) || hours_or_minutes > 1000000) return refuse();
  double seconds = count_of_parts == 3 ? parts[0] * 3600 + parts[1] * 60 + parts[2] : parts[0] * 60 + parts[1];
  seconds += days * 86400;
  if (parts[1] >= 60 || parts[2] >= 60) return refuse();
  if (peek() == '.' && at_ + 1 < text_.size() && is_digit(text_[at_ + 1])) {
    const auto fraction = number();  // ".25"
    if (!fraction) return refuse();
    return *fraction + Measured::exact(seconds);
  }
  return Measured{seconds, seconds, seconds + 1};  // clocks without a fraction cut it off
}

// "25,04 s" and "12,345 ms": a comma before three digits of a small unit separates thousands, any other one decimals.
std::optional<Measured> Scanner::number_with_commas() {
  const size_t start = at_;
  size_t comma = start;
  while (comma < text_.size() && is_digit(text_[comma])) ++comma;
  size_t end = comma + 1;
  while (end < text_.size() && is_digit(text_[end])) ++end;
  const size_t digits = end - comma - 1;
  if (comma == start || comma - start > 12 || comma >= text_.size() || text_[comma] != ',' || digits == 0 || digits > 9)
    return number();
  Scanner unit(text_, end);
  unit.skip_spaces();
  const bool small = unit.literal("m") && unit.literal("s");
  std::string plain(text_.substr(start, comma - start));
  if (!small || digits != 3) plain += '.';
  plain += text_.substr(comma + 1, digits);
  Scanner whole(plain);
  const auto value = whole.number();
  if (!value || !whole.done()) return number();
  at_ = end;
  return value;
}

// 2'08" and 80", but not the number at the end of "epoch 3".
std::optional<Measured> Scanner::primes() {
  const size_t start = at_;
  const auto one_of = [&](std::initializer_list<std::string_view> marks) {
    return std::any_of(marks.begin(), marks.end(), [&](std::string_view mark) { return literal(mark); });
  };
  const auto first = number();
  const bool minutes = first && one_of({"'", "\u2019", "\u2032"});
  const auto second = minutes ? number() : std::nullopt;
  const auto quoted = [&] {
    return std::count(text_.begin(), text_.begin() + static_cast<ptrdiff_t>(start), '"') % 2 != 0;
  };
  if (first && first->value >= 0 && minutes == second.has_value() && one_of({"\"", "''", "\u201d", "\u2033"}) &&
      !is_word(peek()) && (minutes || !quoted()))
    return minutes ? Measured::exact(first->value * 60) + *second : *first;
  at_ = start;
  return std::nullopt;
}

std::optional<Measured> Scanner::duration() {
  if (auto time = clock()) return time;
  if (auto time = primes()) return time;
  const size_t start = at_;
  if (literal("pt")) {  // as ISO 8601 has it, where M is for minutes
    const std::string parts = lowered(rest().substr(0, 32));
    Scanner inner(parts);
    const auto time = inner.duration();
    at_ = time ? at_ + inner.position() : start;
    return time;
  }
  auto total = Measured::exact(0);
  double smallest = 1e30;
  size_t end = start;
  while (true) {
    const auto value = number_with_commas();
    if (!value || value->value < 0) break;
    const bool attached = !is_space(peek());
    skip_spaces();
    const auto unit = unit_seconds(attached);
    if (!unit || *unit >= smallest) break;
    smallest = *unit;
    total = Measured::exact(total.value) + *value * *unit;  // only the last part was rounded
    end = at_;
    if (smallest < 60) break;
    skip_spaces();
    if (literal(",") || literal("and")) skip_spaces();
    if (literal("and")) skip_spaces();
  }
  at_ = end;
  if (end == start) return std::nullopt;
  return total;
}

}  // namespace isochron
