#include "isochron/readers/timestamp.h"

#include <array>
#include <cmath>

#include "isochron/readers/scan.h"

namespace isochron {
namespace {

// Days since 1970-01-01 of a date of the Gregorian calendar.
int64_t days_since_1970(int64_t year, int64_t month, int64_t day) {
  year -= month <= 2;
  const int64_t era = year / 400, year_of_era = year - era * 400;
  const int64_t day_of_year = (153 * (month + (month > 2 ? -3 : 9)) + 2) / 5 + day - 1;
  return era * 146097 + year_of_era * 365 + year_of_era / 4 - year_of_era / 100 + day_of_year - 719468;
}

// Exactly `digits` digits.
std::optional<int> fixed(Scanner& scan, int digits) {
  const std::string_view rest = scan.rest();
  if (static_cast<int>(rest.size()) < digits) return std::nullopt;
  int value = 0;
  for (int i = 0; i < digits; ++i) {
    if (!is_digit(rest[i])) return std::nullopt;
    value = value * 10 + (rest[i] - '0');
  }
  scan.move_to(scan.position() + digits);
  return value;
}

struct TimeOfDay {
  double seconds;
  double resolution;
};

// HH:MM:SS with an optional fraction after '.' or ','.
std::optional<TimeOfDay> time_of_day(Scanner& scan) {
  const auto hour = fixed(scan, 2);
  if (!hour || *hour > 23 || !scan.any_of(":")) return std::nullopt;
  const auto minute = fixed(scan, 2);
  if (!minute || *minute > 59 || !scan.any_of(":")) return std::nullopt;
  const auto second = fixed(scan, 2);
  if (!second || *second > 60 || is_digit(scan.peek())) return std::nullopt;
  TimeOfDay out{*hour * 3600.0 + *minute * 60.0 + *second, 1};
  const std::string_view rest = scan.rest();
  if (rest.size() > 1 && (rest[0] == '.' || rest[0] == ',') && is_digit(rest[1])) {
    size_t i = 1;
    for (; i < rest.size() && is_digit(rest[i]); ++i) {
      out.resolution /= 10;
      out.seconds += (rest[i] - '0') * out.resolution;
    }
    scan.move_to(scan.position() + i);
  }
  // "09:12:44 PM"
  Scanner half = scan;
  half.skip_spaces();
  const bool morning = half.literal("am"), evening = !morning && half.literal("pm");
  if ((morning || evening) && *hour <= 12 && !is_word(half.peek())) {
    out.seconds += ((*hour % 12) + (evening ? 12 : 0) - *hour) * 3600.0;
    scan = half;
  }
  return out;
}

// "Z", "+01:00", " -0800": one zone holds for a whole log, so it is only passed over.
void skip_zone(Scanner& scan) {
  Scanner zone = scan;
  if (zone.any_of("Z")) {
    if (!is_word(zone.peek())) scan = zone;
    return;
  }
  zone.any_of(" ");
  if (!zone.any_of("+-") || !fixed(zone, 2)) return;
  zone.any_of(":");
  if (fixed(zone, 2) && !is_word(zone.peek()) && zone.peek() != '.') scan = zone;
}

std::optional<int> month_name(Scanner& scan) {
  constexpr std::array<std::string_view, 12> kMonths = {"jan", "feb", "mar", "apr", "may", "jun",
                                                        "jul", "aug", "sep", "oct", "nov", "dec"};
  for (size_t i = 0; i < kMonths.size(); ++i)
    if (scan.literal(kMonths[i])) return static_cast<int>(i) + 1;
  return std::nullopt;
}

bool date_separator(Scanner& scan) { return scan.any_of("-/."); }

std::optional<Timestamp> absolute(Scanner& scan, int year, int month, int day, const TimeOfDay& time) {
  if (year < 1970 || year > 2200 || month < 1 || month > 12 || day < 1 || day > 31) return std::nullopt;
  skip_zone(scan);
  return Timestamp{Timestamp::Kind::absolute,
                   static_cast<double>(days_since_1970(year, month, day)) * 86400 + time.seconds, time.resolution,
                   scan.position()};
}

// As names of files have it: 15-03-44, or 150344.
std::optional<TimeOfDay> file_time(Scanner& scan) {
  const auto hour = fixed(scan, 2);
  const bool dashed = scan.any_of("-");
  const auto minute = fixed(scan, 2);
  if (dashed && !scan.any_of("-")) return std::nullopt;
  const auto second = fixed(scan, 2);
  if (!hour || !minute || !second || *hour > 23 || *minute > 59 || *second > 60 || is_word(scan.peek()))
    return std::nullopt;
  return TimeOfDay{*hour * 3600.0 + *minute * 60.0 + *second, 1};
}

// 20210729-150344
std::optional<Timestamp> compact(Scanner scan) {
  const auto year = fixed(scan, 4), month = fixed(scan, 2), day = fixed(scan, 2);
  if (!year || !month || !day || !scan.any_of("-_T")) return std::nullopt;
  const auto time = file_time(scan);
  if (!time) return std::nullopt;
  return absolute(scan, *year, *month, *day, *time);
}

// 2021-07-29 15:03:44,746, 2021/07/29T15:03:44Z and 2021-07-29_15-03-44
std::optional<Timestamp> year_first(Scanner scan) {
  const auto year = fixed(scan, 4);
  if (!year || !date_separator(scan)) return std::nullopt;
  const auto month = fixed(scan, 2);
  if (!month || !date_separator(scan)) return std::nullopt;
  const auto day = fixed(scan, 2);
  if (!day || !scan.any_of(" T_-,")) return std::nullopt;
  scan.skip_spaces();
  const Scanner before = scan;
  auto time = time_of_day(scan);
  if (!time) {
    scan = before;
    time = file_time(scan);
  }
  if (!time) return std::nullopt;
  return absolute(scan, *year, *month, *day, *time);
}

// 11/15/2026 22:01:27, 15.11.2026 22:01:27 and, without a year, 08/19 07:12:44
std::optional<Timestamp> month_first(Scanner scan) {
  auto month = fixed(scan, 2);
  if (!month || !date_separator(scan)) return std::nullopt;
  auto day = fixed(scan, 2);
  if (!day) return std::nullopt;
  if (*month > 12) std::swap(month, day);
  std::optional<int> year;
  if (date_separator(scan)) {
    year = fixed(scan, 4);
    if (const auto short_year = year ? std::nullopt : fixed(scan, 2)) year = 2000 + *short_year;
    if (!year) return std::nullopt;
  }
  if (!scan.any_of(" ,")) return std::nullopt;
  scan.skip_spaces();
  const auto time = time_of_day(scan);
  if (!time) return std::nullopt;
  auto stamp = absolute(scan, year.value_or(1972), *month, *day, *time);
  if (stamp && !year) {
    stamp->kind = Timestamp::Kind::day_of_year;
    stamp->seconds -= static_cast<double>(days_since_1970(1972, 1, 1)) * 86400;
  }
  return stamp;
}

// 15-Nov-2026 22:01:27, 15/Nov/2026:22:01:27 and 15 Nov 2026 22:01:27
std::optional<Timestamp> day_first(Scanner scan) {
  const auto day = scan.count();
  if (!day || *day > 31 || !scan.any_of("-/ ")) return std::nullopt;
  const auto month = month_name(scan);
  if (!month || !scan.any_of("-/ ")) return std::nullopt;
  const auto year = fixed(scan, 4);
  if (!year || !scan.any_of(" :,T")) return std::nullopt;
  scan.skip_spaces();
  const auto time = time_of_day(scan);
  if (!time) return std::nullopt;
  return absolute(scan, *year, *month, static_cast<int>(*day), *time);
}

// Nov 15 22:01:27 [2026]
std::optional<Timestamp> month_by_name(Scanner scan) {
  const auto month = month_name(scan);
  if (!month || !scan.any_of(" ")) return std::nullopt;
  scan.skip_spaces();
  const auto day = scan.count();
  if (!day || *day > 31 || !scan.any_of(" ")) return std::nullopt;
  const auto time = time_of_day(scan);
  if (!time) return std::nullopt;
  Scanner behind = scan;
  if (const auto year = behind.any_of(" ") ? fixed(behind, 4) : std::nullopt; year && !is_word(behind.peek()))
    if (auto stamp = absolute(behind, *year, *month, static_cast<int>(*day), *time)) return stamp;
  auto stamp = absolute(scan, 1972, *month, static_cast<int>(*day), *time);
  if (!stamp) return std::nullopt;
  stamp->kind = Timestamp::Kind::day_of_year;
  stamp->seconds -= static_cast<double>(days_since_1970(1972, 1, 1)) * 86400;
  return stamp;
}

// glog: I1115 22:48:16.727659, and absl before its set-up: I0000 00:00:1794782799.025680
std::optional<Timestamp> glog(Scanner scan) {
  if (!scan.any_of("IWEF")) return std::nullopt;
  const auto month = fixed(scan, 2), day = fixed(scan, 2);
  if (!month || !day || !scan.any_of(" ")) return std::nullopt;
  if (*month == 0) {
    if (!scan.literal("00:00:")) return std::nullopt;
    const auto unix = scan.number();
    if (!unix || unix->value < 1e9 || unix->value > 7e9) return std::nullopt;
    return Timestamp{Timestamp::Kind::absolute, unix->value, unix->width(), scan.position()};
  }
  const auto time = time_of_day(scan);
  if (!time || *month > 12 || *day < 1 || *day > 31) return std::nullopt;
  const double days = static_cast<double>(days_since_1970(1972, *month, *day) - days_since_1970(1972, 1, 1));
  return Timestamp{Timestamp::Kind::day_of_year, days * 86400 + time->seconds, time->resolution, scan.position()};
}

// 22:11:01 at the very beginning; 1794782799.02 too.
std::optional<Timestamp> bare(Scanner scan) {
  Scanner clock = scan;
  if (const auto time = time_of_day(clock); time && !is_word(clock.peek()) && clock.peek() != '<')
    return Timestamp{Timestamp::Kind::time_of_day, time->seconds, time->resolution, clock.position()};
  const auto unix = scan.number();
  if (unix && unix->value > 1.2e9 && unix->value < 7e9 && unix->width() < 0.5 && !is_word(scan.peek()))
    return Timestamp{Timestamp::Kind::absolute, unix->value, unix->width(), scan.position()};
  return std::nullopt;
}

// "[   17.160] ", "+17.16s ": since the program began.
std::optional<Timestamp> relative(std::string_view line) {
  Scanner scan(line);
  const bool bracket = scan.any_of("[");
  if (!bracket && !scan.any_of("+")) return std::nullopt;
  scan.skip_spaces();
  const auto seconds = scan.number();
  if (!seconds || seconds->value < 0 || seconds->width() > 0.5) return std::nullopt;
  const bool unit = scan.any_of("s");
  if (bracket ? !scan.any_of("]") : !unit || !scan.any_of(" ")) return std::nullopt;
  return Timestamp{Timestamp::Kind::relative, seconds->value, seconds->width(), scan.position()};
}

}  // namespace

std::optional<Timestamp> find_timestamp(std::string_view line) {
  if (auto stamp = relative(line)) return stamp;
  const auto found = [](Timestamp stamp, size_t begin) {
    stamp.begin = begin;
    return stamp;
  };
  constexpr size_t kDeepest = 32;  // "WARNING:root:[" and the like may stand before it
  bool only_brackets = true;
  for (size_t i = 0; i < line.size() && i < kDeepest; ++i) {
    const char c = line[i];
    const bool word_before = i > 0 && is_word(line[i - 1]);
    if (!word_before && (is_digit(c) || is_letter(c))) {
      const Scanner scan(line, i);
      if (is_digit(c)) {
        if (const auto stamp = year_first(scan)) return found(*stamp, i);
        if (const auto stamp = month_first(scan)) return found(*stamp, i);
        if (const auto stamp = day_first(scan)) return found(*stamp, i);
        if (const auto stamp = compact(scan)) return found(*stamp, i);
        if (only_brackets)
          if (const auto stamp = bare(scan)) return found(*stamp, i);
      } else {
        if (const auto stamp = month_by_name(scan)) return found(*stamp, i);
        if (only_brackets)
          if (const auto stamp = glog(scan)) return found(*stamp, i);
      }
    }
    only_brackets = only_brackets && (c == '[' || c == '(' || c == '<' || is_space(c));
  }
  return std::nullopt;
}

std::optional<double> StampClock::unfold(const Timestamp& stamp) {
  const double period = stamp.kind == Timestamp::Kind::time_of_day   ? 86400
                        : stamp.kind == Timestamp::Kind::day_of_year ? 366 * 86400.0
                                                                     : 0;
  double now = stamp.seconds + offset_;
  if (started_ && period > 0 && now < last_ - period / 2) {
    now += period;
    offset_ += period;
  }
  constexpr double kLongestGap = 30 * 86400.0;
  if (started_ && (now < last_ - 1 || now > last_ + kLongestGap)) {
    refused_ = refused_ > 0 && now >= last_refused_ && now < last_refused_ + kLongestGap ? refused_ + 1 : 1;
    last_refused_ = now;
    if (refused_ < kPatience) return std::nullopt;
    last_ = now;
  }
  refused_ = 0;
  started_ = true;
  last_ = std::max(now, last_);
  return now;
}

}  // namespace isochron
