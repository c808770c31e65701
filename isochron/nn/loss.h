// What training makes small: a number for each example from its target and its prediction, reduced to one.
//
//   Tensor loss = SparseCategoricalCrossentropy({.from_logits = true})(y_true, y_pred);
//   model.compile({.optimizer = "adam", .loss = "mse"});
//   model.compile({.optimizer = "adam", .loss = [](const Tensor& y, const Tensor& p) { return abs(y - p); }});
#pragma once

#include <functional>
#include <memory>
#include <string>

#include "isochron/base/options.h"
#include "isochron/tensor/tensor.h"

namespace isochron {

// By its value, LossReduction::sum, or by name. As in Keras: `sum_over_batch_size` (and `mean`, when nothing is
// weighted) divide by the number of values, `mean_with_sample_weight` by the sum of the weights.
class LossReduction {
 public:
  enum Value { sum_over_batch_size, sum, mean, mean_with_sample_weight, none };
  constexpr LossReduction(Value value) : value_(value) {}
  LossReduction(const char* name);  // ValueError, with a suggestion, for an unknown one; nullptr: none
  LossReduction(const std::string& name) : LossReduction(name.c_str()) {}
  constexpr operator Value() const { return value_; }
  std::string name() const;

 private:
  Value value_;
};

class Loss {
 public:
  explicit Loss(std::string name, LossReduction reduction = LossReduction::sum_over_batch_size)
      : name_(std::move(name)), reduction_(reduction) {}
  virtual ~Loss() = default;

  // One value per example (or per element along the axes before the last).
  virtual Tensor call(const Tensor& y_true, const Tensor& y_pred) const = 0;
  // Weighted and reduced. sample_weight has the shape of the values, or fits it by trailing axes of extent 1. Steps
  // that a mask of the prediction hides (nn/masking.h) do not count.
  Tensor operator()(const Tensor& y_true, const Tensor& y_pred, const Tensor& sample_weight = {}) const;
  const std::string& name() const { return name_; }
  LossReduction reduction() const { return reduction_; }

 private:
  std::string name_;
  LossReduction reduction_;
};

// Any loss as an argument: by name, as an object, or as a function of target and prediction.
class AnyLoss {
 public:
  AnyLoss() = default;
  AnyLoss(const char* name);
  AnyLoss(const std::string& name) : AnyLoss(name.c_str()) {}
  template <class L>
  requires std::is_base_of_v<Loss, std::remove_cvref_t<L>> AnyLoss(L&& loss)
      : loss_(std::make_shared<std::remove_cvref_t<L>>(std::forward<L>(loss))) {}
  AnyLoss(std::shared_ptr<Loss> loss) : loss_(std::move(loss)) {}
  template <class F>
  requires(std::is_invocable_r_v<Tensor, F, const Tensor&, const Tensor&> && !std::is_base_of_v<Loss, F>) AnyLoss(F f)
      : loss_(from_function(std::move(f))) {}
  explicit operator bool() const { return loss_ != nullptr; }
  const Loss* operator->() const { return loss_.get(); }
  const Loss& operator*() const { return *loss_; }

 private:
  static std::shared_ptr<Loss> from_function(std::function<Tensor(const Tensor&, const Tensor&)> f);
  std::shared_ptr<Loss> loss_;
};

}  // namespace isochron
