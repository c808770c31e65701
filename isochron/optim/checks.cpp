#include "isochron/optim/checks.h"

#include <cmath>

#include "isochron/base/error.h"

namespace isochron::optim {

void require_positive(std::string_view owner, std::string_view option, double value) {
  if (!(value > 0) || std::isinf(value)) fail<ValueError>(owner, "{} must be positive, got {}", option, value);
}
void require_not_negative(std::string_view owner, std::string_view option, double value) {
  if (!std::isfinite(value)) fail<ValueError>(owner, "{} must be a finite number, got {}", option, value);
  if (value < 0) fail<ValueError>(owner, "{} must not be negative, got {}", option, value);
}
void require_not_positive(std::string_view owner, std::string_view option, double value) {
  if (!std::isfinite(value)) fail<ValueError>(owner, "{} must be a finite number, got {}", option, value);
  if (value > 0) fail<ValueError>(owner, "{} must not be positive, got {}", option, value);
}
void require_share(std::string_view owner, std::string_view option, double value) {
  if (!(value >= 0 && value <= 1)) fail<ValueError>(owner, "{} must lie in [0, 1], got {}", option, value);
}
void require_decay(std::string_view owner, std::string_view option, double value) {
  if (!(value >= 0 && value < 1)) fail<ValueError>(owner, "{} must lie in [0, 1), got {}", option, value);
}
void require_count(std::string_view owner, std::string_view option, int64_t value, int64_t at_least) {
  if (value < at_least) fail<ValueError>(owner, "{} must be at least {}, got {}", option, at_least, value);
}

}  // namespace isochron::optim
