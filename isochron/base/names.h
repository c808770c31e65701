// Names as users write them: of classes, and mistyped.
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

// "BatchNormalization" -> "batch_normalization", "Conv2D" -> "conv2d", "AUC" -> "auc".
std::string snake_case(const std::string& name);

// The entry of a table by its name or by that of its class; its end() when there is neither.
template <class Table>
auto find_by_name(const Table& table, const std::string& name) {
  const auto found = table.find(name);
  return found != table.end() ? found : table.find(snake_case(name));
}

}  // namespace isochron
