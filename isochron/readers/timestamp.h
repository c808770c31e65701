// Time stamps at the beginning of log lines, in the forms loggers write them.
//
//   auto stamp = find_timestamp("2021-07-29 15:03:44,746:INFO: Epoch: [248][ 0/44]");
//   stamp->seconds;   // Unix time, the zone taken as UTC: only differences are used
//   stamp->end;       // where the message goes on
//
// StampClock turns the stamps of one kind into a steady clock: across midnight and New Year, without absurd jumps.
#pragma once

#include <cstddef>
#include <optional>
#include <string_view>

namespace isochron {

struct Timestamp {
  enum class Kind { absolute, day_of_year, time_of_day, relative };
  static constexpr size_t kKinds = 4;
  Kind kind = Kind::absolute;
  double seconds = 0;     // Unix time; since New Year; since midnight; since some beginning
  double resolution = 1;  // the last printed digit
  size_t end = 0;
  size_t begin = 0;
};

std::optional<Timestamp> find_timestamp(std::string_view line);

class StampClock {
 public:
  // Seconds on a clock that never runs backwards by more than a second; nullopt for a stamp that makes no sense.
  std::optional<double> unfold(const Timestamp& stamp);

 private:
  static constexpr int kPatience = 3;  // so many stamps in a row that disagree with the clock set it anew
  bool started_ = false;
  double last_ = 0;
  double offset_ = 0;
  double last_refused_ = 0;
  int refused_ = 0;
};

}  // namespace isochron
