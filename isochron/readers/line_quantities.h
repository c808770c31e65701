// Durations, rates and counts of one log line, by the words before them.
//
//   LogEvent event;
//   Quantities told = find_quantities(line, lowered(line), 0, event);
//
// What a time is, the words before it tell: "eta 3s", "data 0.2s", "val 1.1s", "total 31s", "took 12.1s". Those of
// other things than the epoch go into the event.
#pragma once

#include <initializer_list>
#include <optional>
#include <string_view>

#include "isochron/readers/log_event.h"

namespace isochron {

struct Quantities {
  std::optional<Measured> time;
  int numbers = 0;  // how many others there are
};

// Walks over the numbers of a line, from `from` on. `lower_line` is the line in lower case, of the same length.
Quantities find_quantities(std::string_view line, std::string_view lower_line, size_t from, LogEvent& event);

// The word that ends at `end`, blanks behind it left out.
std::string_view word_before(std::string_view text, size_t end);

}  // namespace isochron
