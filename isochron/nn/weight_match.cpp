#include "isochron/nn/weight_match.h"

#include <fmt/core.h>

#include <algorithm>
#include <map>
#include <set>

#include "isochron/base/joined.h"
#include "isochron/exec/variables.h"
#include "isochron/ops/elementwise.h"

namespace isochron {
namespace {

// What other libraries keep beside the weights: state of optimizers, metrics and random numbers, counts of batches.
bool beside_weights(const std::string& name) {
  return name.starts_with("optimizer/") || name.find("seed_generator/") != std::string::npos ||
         name.starts_with("metrics/") || name.find("_metrics/") != std::string::npos ||
         name.ends_with("num_batches_tracked");
}

bool fits(const TensorSpec& own, const TensorSpec& given) {
  return own.shape == given.shape && (own.dtype == given.dtype || (is_floating(own.dtype) && is_floating(given.dtype)));
}

std::string line_of(const char* what, const std::vector<std::string>& names) {
  constexpr size_t kShown = 10;
  if (names.empty()) return "";
  const std::vector<std::string> shown(names.begin(),
                                       names.begin() + static_cast<ptrdiff_t>(std::min(kShown, names.size())));
  return fmt::format("\n  {} ({}): {}{}", what, names.size(), joined(shown), names.size() > kShown ? ", …" : "");
}

}  // namespace

std::string WeightMatch::report() const {
  return line_of("missing", missing) + line_of("extra", extra) + line_of("mismatched", mismatched);
}

void WeightMatch::take() const {
  for (const auto& [variable, tensor] : fitting)
    overwrite(variable, tensor.dtype() == variable.dtype() ? tensor : cast(tensor, variable.dtype()));
}

WeightMatch match_weights(const std::vector<NamedWeight>& weights,
                          const std::vector<std::pair<std::string, Tensor>>& tensors, const char* source) {
  WeightMatch match;
  std::map<std::string, const Tensor*> by_name;
  for (const auto& [name, tensor] : tensors) by_name[name] = &tensor;
  std::set<std::string> known;
  for (const NamedWeight& weight : weights) {
    known.insert(weight.name);
    const auto found = by_name.find(weight.name);
    if (found == by_name.end())
      match.missing.push_back(weight.name);
    else if (!fits(weight.variable.spec(), found->second->spec()))
      match.mismatched.push_back(fmt::format("{} is {}, {} {}", weight.name, to_string(weight.variable.spec()), source,
                                             to_string(found->second->spec())));
    else
      match.fitting.emplace_back(weight.variable, *found->second);
  }
  for (const auto& [name, tensor] : tensors)
    if (!known.contains(name) && !beside_weights(name)) match.extra.push_back(name);
  return match;
}

}  // namespace isochron
