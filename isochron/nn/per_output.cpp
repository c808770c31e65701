#include "isochron/nn/per_output.h"

#include <fmt/core.h>

#include <algorithm>

#include "isochron/base/joined.h"
#include "isochron/base/names.h"

namespace isochron {
namespace {

size_t place_of(const char* what, const char* argument, const std::string& name,
                const std::vector<std::string>& known) {
  const auto found = std::find(known.begin(), known.end(), name);
  if (found == known.end())
    fail<ValueError>(what, "{} names \"{}\", which the model does not have{}", argument, name,
                     did_you_mean(name, {known.begin(), known.end()}));
  return static_cast<size_t>(found - known.begin());
}

}  // namespace

std::vector<std::optional<size_t>> places_by_output(const char* what, const char* argument, size_t values, bool one,
                                                    const std::vector<std::string>& names,
                                                    const std::vector<std::string>& outputs) {
  std::vector<std::optional<size_t>> places(outputs.size());
  if (values == 0) return places;
  if (!names.empty()) {
    for (size_t i = 0; i < names.size(); ++i) places[place_of(what, argument, names[i], outputs)] = i;
    return places;
  }
  if (!one && values != outputs.size())
    fail<ValueError>(what, "{} {} for {} outputs ({}); give one for all, one each, or each by its name", values,
                     argument, outputs.size(), joined(outputs));
  for (size_t i = 0; i < outputs.size(); ++i) places[i] = one ? 0 : i;
  return places;
}

std::vector<std::vector<AnyMetric>> MetricsByOutput::by_output(const std::vector<std::string>& outputs) const {
  std::vector<std::vector<AnyMetric>> lists(outputs.size());
  for (const auto& [name, metrics] : named_) lists[place_of("compile", "metrics", name, outputs)] = metrics;
  for (const AnyMetric& metric : all_) {
    if (outputs.size() > 1 && metric.is_object())
      fail<ValueError>("compile",
                       "a metric object keeps the sums of one output, the model has {} ({}): give metrics by output, "
                       ".metrics = {{{{\"{}\", {{…}}}}}}",
                       outputs.size(), joined(outputs), outputs[0]);
    for (auto& list : lists) list.push_back(metric);
  }
  return lists;
}

Tensors::Tensors(std::initializer_list<std::pair<std::string, Tensor>> named) {
  for (const auto& [name, value] : named) {
    names_.push_back(name);
    values_.push_back(value);
  }
}

std::vector<Tensor> Tensors::in_order(const char* what, const char* argument,
                                      const std::vector<std::string>& order) const {
  if (values_.size() != order.size())
    fail<ValueError>(what, "{} tensor{} as {}, the model takes {} ({})", values_.size(), values_.size() == 1 ? "" : "s",
                     argument, order.size(), joined(order));
  if (names_.empty()) return values_;
  std::vector<Tensor> sorted(order.size());
  for (size_t i = 0; i < names_.size(); ++i) sorted[place_of(what, argument, names_[i], order)] = values_[i];
  for (size_t i = 0; i < order.size(); ++i)
    if (!sorted[i].defined()) fail<ValueError>(what, "{} has no tensor for \"{}\"", argument, order[i]);
  return sorted;
}

}  // namespace isochron
