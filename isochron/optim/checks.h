// Checks of options where they are given.
#pragma once

#include <cstdint>
#include <string_view>

namespace isochron::optim {

// Each throws ValueError naming the owner, the option and the value; NaN passes none of them.
void require_positive(std::string_view owner, std::string_view option, double value);
void require_not_negative(std::string_view owner, std::string_view option, double value);
void require_not_positive(std::string_view owner, std::string_view option, double value);
void require_share(std::string_view owner, std::string_view option, double value);  // 0 <= value <= 1
void require_decay(std::string_view owner, std::string_view option, double value);  // 0 <= value < 1
void require_count(std::string_view owner, std::string_view option, int64_t value, int64_t at_least = 1);

}  // namespace isochron::optim
