// Logs: loss and metrics by name, in the order in which they were declared.
//
//   Logs logs = model.evaluate(x, y);
//   logs["accuracy"];  logs.contains("val_loss");
//   for (const auto& [name, value] : logs) …
#pragma once

#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace isochron {

class Logs : public std::vector<std::pair<std::string, double>> {
 public:
  using std::vector<std::pair<std::string, double>>::vector;
  Logs() = default;
  Logs(std::vector<std::pair<std::string, double>> values) : vector(std::move(values)) {}

  using vector::operator[];
  // ValueError, with a suggestion, for a name that is not among them.
  double operator[](std::string_view name) const;
  bool contains(std::string_view name) const;
};

}  // namespace isochron
