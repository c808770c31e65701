// Suggestions for names a user mistyped.
//
//   fail<ValueError>("Dense", "unknown activation \"{}\"{}", name, did_you_mean(name, known));
//   // … unknown activation "rleu"; did you mean "relu"?
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace isochron {

// `; did you mean "x"?` for the closest known name, or `; known: a, b, c` when none is close.
std::string did_you_mean(std::string_view name, const std::vector<std::string_view>& known);

}  // namespace isochron
