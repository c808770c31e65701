#include "isochron/nn/loss.h"

#include <algorithm>
#include <array>

#include "isochron/base/names.h"
#include "isochron/nn/masking.h"
#include "isochron/ops/elementwise.h"
#include "isochron/ops/reduce.h"
#include "isochron/ops/shape_ops.h"

namespace isochron {
namespace {

// In the order of LossReduction::Value.
constexpr std::array<std::string_view, 5> kReductions = {"sum_over_batch_size", "sum", "mean",
                                                         "mean_with_sample_weight", "none"};

// (batch) or (batch, 1) weights beside values of another rank, as Keras lines them up.
Tensor aligned_weight(const Tensor& weight, const Tensor& values) {
  Tensor w = cast(weight, values.dtype());
  while (w.rank() > values.rank() && w.shape()[-1] == 1) w = reshape(w, w.shape().erase(-1).to_vector());
  while (w.rank() < values.rank()) w = expand_dims(w, -1);
  if (!broadcasts_to(w.shape(), values.shape()))
    fail<ShapeError>("sample_weight", "must fit the loss values {}, got {}", values.shape(), weight.shape());
  return w;
}

// What counts of the values: where both masks, of the prediction and of the values, say so. Undefined: all of them. A
// loss that is reduced over the steps of a mask already is none that the mask could change.
Tensor counting(const Tensor& y_pred, const Tensor& values) {
  Tensor counts;
  for (const Tensor& of : {y_pred, values}) {
    Tensor mask = mask_of(of);
    if (!mask.defined() || mask.rank() > values.rank()) continue;
    const Shape given = mask.shape();
    while (mask.rank() < values.rank()) mask = expand_dims(mask, -1);
    if (!broadcasts_to(mask.shape(), values.shape()))
      fail<ShapeError>("loss", "a mask {} of the prediction does not fit the loss values {}", given, values.shape());
    counts = both_masks(counts, mask);
  }
  return counts;
}

class FunctionLoss final : public Loss {
 public:
  explicit FunctionLoss(std::function<Tensor(const Tensor&, const Tensor&)> f)
      : Loss("loss"), function_(std::move(f)) {}
  Tensor call(const Tensor& y_true, const Tensor& y_pred) const override { return function_(y_true, y_pred); }

 private:
  std::function<Tensor(const Tensor&, const Tensor&)> function_;
};

}  // namespace

LossReduction::LossReduction(const char* name) : value_(none) {
  if (!name) return;
  const auto found = std::find(kReductions.begin(), kReductions.end(), std::string_view(name));
  if (found == kReductions.end())
    fail<ValueError>("loss", "unknown reduction \"{}\"{}", name,
                     did_you_mean(name, {kReductions.begin(), kReductions.end()}));
  value_ = static_cast<Value>(found - kReductions.begin());
}
std::string LossReduction::name() const { return std::string(kReductions[value_]); }

std::shared_ptr<Loss> AnyLoss::from_function(std::function<Tensor(const Tensor&, const Tensor&)> f) {
  return std::make_shared<FunctionLoss>(std::move(f));
}

Tensor Loss::operator()(const Tensor& y_true, const Tensor& y_pred, const Tensor& sample_weight) const {
  // In float32 at least, whatever the prediction is stored as.
  const bool narrow = is_floating(y_pred.dtype()) && size_of(y_pred.dtype()) < 4;
  Tensor values = call(y_true, narrow ? cast(y_pred, DType::float32) : y_pred);
  // One value of the whole batch, such as Dice's: each example brings it with its weight, as in Keras.
  if (sample_weight.defined() && values.rank() == 0) values = broadcast_to(values, sample_weight.shape().to_vector());
  Tensor weight;
  if (sample_weight.defined()) weight = aligned_weight(sample_weight, values);
  if (const Tensor mask = counting(y_pred, values); mask.defined()) {
    const Tensor counts = cast(mask, values.dtype());
    const bool means = reduction_ == LossReduction::sum_over_batch_size || reduction_ == LossReduction::mean;
    // The mean over all values becomes one over those that count.
    const Tensor share = means ? counts * (static_cast<double>(mask.elements()) / maximum(sum(counts), 1)) : counts;
    weight = weight.defined() ? weight * share : share;
  }
  if (weight.defined()) values = values * weight;
  switch (reduction_) {
    case LossReduction::none:
      return values;
    case LossReduction::sum:
      return sum(values);
    case LossReduction::mean_with_sample_weight:
      if (weight.defined()) {
        const Tensor total = sum(broadcast_to(weight, values.shape()));
        return sum(values) / where(equal(total, 0), 1, total);  // 0 when nothing counts, as in Keras
      }
      return mean(values);
    default:
      return mean(values);
  }
}

}  // namespace isochron
