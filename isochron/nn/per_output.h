// Arguments of models with several inputs or outputs: one for all, one each in order, or one each by name.
//
//   .loss = "mse"      .loss = {"mse", "mae"}      .loss = {{"price", "mse"}, {"kind", "categorical_crossentropy"}}
//   .metrics = {"mae"}                             .metrics = {{"price", {"mae", "mse"}}}
//   model.fit(x, y)    model.fit({a, b}, y)        model.fit({{"title", a}, {"body", b}}, y)
#pragma once

#include <initializer_list>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "isochron/nn/metric.h"

namespace isochron {

template <class T>
class PerOutput {
 public:
  PerOutput() = default;
  template <class U>
  requires(std::is_convertible_v<U, T> && !std::is_same_v<std::remove_cvref_t<U>, PerOutput>) PerOutput(U&& one)
      : values_{T(std::forward<U>(one))}, one_(true) {}
  PerOutput(std::initializer_list<T> list) : values_(list) {}
  PerOutput(std::vector<T> list) : values_(std::move(list)) {}
  PerOutput(std::initializer_list<std::pair<std::string, T>> named) {
    for (const auto& [name, value] : named) {
      names_.push_back(name);
      values_.push_back(value);
    }
  }

  PerOutput(std::vector<std::string> names, std::vector<T> values, bool one)
      : names_(std::move(names)), values_(std::move(values)), one_(one) {}

  bool empty() const { return values_.empty(); }
  bool one() const { return one_; }
  const std::vector<std::string>& names() const { return names_; }  // empty: in order
  const std::vector<T>& values() const { return values_; }

 private:
  std::vector<std::string> names_;
  std::vector<T> values_;
  bool one_ = false;
};

// For each output the place of its value, none where it has none; ValueError when count or names do not fit.
std::vector<std::optional<size_t>> places_by_output(const char* what, const char* argument, size_t values, bool one,
                                                    const std::vector<std::string>& names,
                                                    const std::vector<std::string>& outputs);
template <class T>
std::vector<std::optional<size_t>> places_by_output(const char* what, const char* argument, const PerOutput<T>& given,
                                                    const std::vector<std::string>& outputs) {
  return places_by_output(what, argument, given.values().size(), given.one(), given.names(), outputs);
}

// Metrics of every output (by name only when there are several), or of each by its name.
class MetricsByOutput {
 public:
  MetricsByOutput() = default;
  MetricsByOutput(std::initializer_list<AnyMetric> all) : all_(all) {}
  MetricsByOutput(std::vector<AnyMetric> all) : all_(std::move(all)) {}
  MetricsByOutput(std::initializer_list<std::pair<std::string, std::vector<AnyMetric>>> named) : named_(named) {}
  MetricsByOutput(std::vector<std::pair<std::string, std::vector<AnyMetric>>> named) : named_(std::move(named)) {}

  const std::vector<AnyMetric>& all() const { return all_; }
  const std::vector<std::pair<std::string, std::vector<AnyMetric>>>& named() const { return named_; }
  // One list for each output; ValueError for a name that is none, or an object that several outputs would share.
  std::vector<std::vector<AnyMetric>> by_output(const std::vector<std::string>& outputs) const;

 private:
  std::vector<AnyMetric> all_;
  std::vector<std::pair<std::string, std::vector<AnyMetric>>> named_;
};

// One or several tensors, in order or by name.
class Tensors {
 public:
  Tensors() = default;
  template <class T>
  requires std::is_base_of_v<Tensor, std::remove_cvref_t<T>> Tensors(const T& one) : values_{Tensor(one)} {}
  Tensors(std::initializer_list<Tensor> list) : values_(list) {}
  Tensors(std::vector<Tensor> list) : values_(std::move(list)) {}
  Tensors(std::initializer_list<std::pair<std::string, Tensor>> named);

  bool empty() const { return values_.empty(); }
  const std::vector<Tensor>& values() const { return values_; }
  // In the order of these names; ValueError when count or names do not fit. `argument` is what they are called.
  std::vector<Tensor> in_order(const char* what, const char* argument, const std::vector<std::string>& order) const;

 private:
  std::vector<std::string> names_;
  std::vector<Tensor> values_;
};

}  // namespace isochron
