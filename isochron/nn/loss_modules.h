// The losses of torch_losses.h as objects that keep their options, with the names of torch.nn.
//
//   nn::CrossEntropyLoss loss({.label_smoothing = 0.1});
//   loss(net(x), labels).backward();
//   nn::SmoothL1Loss(0.5)(net(x), y);                               // beta; nn::HuberLoss takes delta
#pragma once

#include "isochron/nn/torch_losses.h"

namespace isochron::nn {

// A function of input and target, and what it is called with besides.
template <auto function>
class ReducedLoss {
 public:
  explicit ReducedLoss(LossReduction reduction = LossReduction::mean) : reduction_(reduction) {}
  Tensor operator()(const Tensor& input, const Tensor& target) const { return function(input, target, reduction_); }

 private:
  LossReduction reduction_;
};

template <auto function>
class ScaledLoss {
 public:
  explicit ScaledLoss(double scale = 1, LossReduction reduction = LossReduction::mean)
      : scale_(scale), reduction_(reduction) {}
  Tensor operator()(const Tensor& input, const Tensor& target) const {
    return function(input, target, scale_, reduction_);
  }

 private:
  double scale_;
  LossReduction reduction_;
};

template <auto function, class Options>
class LossWithOptions {
 public:
  explicit LossWithOptions(Options options = {}) : options_(std::move(options)) {}
  Tensor operator()(const Tensor& input, const Tensor& target) const { return function(input, target, options_); }

 private:
  Options options_;
};

using MSELoss = ReducedLoss<mse_loss>;
using L1Loss = ReducedLoss<l1_loss>;
using SmoothL1Loss = ScaledLoss<smooth_l1_loss>;
using HuberLoss = ScaledLoss<huber_loss>;
using CrossEntropyLoss = LossWithOptions<cross_entropy, ClassLossOptions>;
using NLLLoss = LossWithOptions<nll_loss, ClassLossOptions>;
using BCELoss = LossWithOptions<binary_cross_entropy, BinaryLossOptions>;
using BCEWithLogitsLoss = LossWithOptions<binary_cross_entropy_with_logits, BinaryLossOptions>;
using KLDivLoss = LossWithOptions<kl_div, KLDivOptions>;

}  // namespace isochron::nn
