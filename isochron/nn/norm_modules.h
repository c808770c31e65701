// Normalisation in the manner of PyTorch: nn::BatchNorm1d to 3d, LayerNorm, GroupNorm, InstanceNorm1d to 3d, RMSNorm.
//
//   nn::BatchNorm2d norm{64};                          // (N, 64, H, W)
//   nn::LayerNorm last{128};                           // (…, 128)
//
// Channels are axis 1 of BatchNorm and GroupNorm, as in PyTorch. Running variances are of the unbiased kind, and
// `momentum` is the weight of the new batch.
#pragma once

#include "isochron/nn/module.h"

namespace isochron::nn {

struct BatchNormOptions {
  double eps = 1e-5;
  double momentum = 0.1;
  bool affine = true;
  bool track_running_stats = true;
  DType dtype = DType::float32;
};

// (N, C) or (N, C, …).
class BatchNorm : public Module {
 public:
  // ValueError unless num_features is positive.
  explicit BatchNorm(int64_t num_features, BatchNormOptions options = {});
  Tensor forward(Tensor x) override;

  Variable weight, bias;                                    // undefined unless affine
  Variable running_mean, running_var, num_batches_tracked;  // undefined unless tracked

 private:
  int64_t features_;
  BatchNormOptions options_;
};

class BatchNorm1d : public BatchNorm {
 public:
  using BatchNorm::BatchNorm;
  Tensor forward(Tensor x) override;  // (N, C) or (N, C, L)
};
class BatchNorm2d : public BatchNorm {
 public:
  using BatchNorm::BatchNorm;
  Tensor forward(Tensor x) override;  // (N, C, H, W)
};
class BatchNorm3d : public BatchNorm {
 public:
  using BatchNorm::BatchNorm;
  Tensor forward(Tensor x) override;  // (N, C, D, H, W)
};

struct LayerNormOptions {
  double eps = 1e-5;
  bool elementwise_affine = true;
  bool bias = true;
  DType dtype = DType::float32;
};

// Over the last axes, of this shape.
class LayerNorm : public Module {
 public:
  explicit LayerNorm(Shape normalized_shape, LayerNormOptions options = {});
  explicit LayerNorm(int64_t features, LayerNormOptions options = {}) : LayerNorm(Shape{features}, options) {}
  Tensor forward(Tensor x) override;

  Variable weight, bias;

 private:
  Shape shape_;
  double eps_;
};

struct RMSNormOptions {
  double eps = 1.1920929e-07;  // float32's, as PyTorch takes when none is given
  bool elementwise_affine = true;
  DType dtype = DType::float32;
};

class RMSNorm : public Module {
 public:
  explicit RMSNorm(int64_t features, RMSNormOptions options = {});
  Tensor forward(Tensor x) override;

  Variable weight;

 private:
  int64_t features_;
  double eps_;
};

struct GroupNormOptions {
  double eps = 1e-5;
  bool affine = true;
  DType dtype = DType::float32;
};

// (N, C, …), C channels in num_groups groups.
class GroupNorm : public Module {
 public:
  // ValueError unless the groups divide the channels.
  GroupNorm(int64_t num_groups, int64_t num_channels, GroupNormOptions options = {});
  Tensor forward(Tensor x) override;

  Variable weight, bias;

 private:
  int64_t groups_, channels_;
  double eps_;
};

struct InstanceNormOptions {
  double eps = 1e-5;
  bool affine = false;
  DType dtype = DType::float32;
};

// Each channel of each example by itself, in training and in use; running statistics are not kept.
class InstanceNorm : public GroupNorm {
 public:
  Tensor forward(Tensor x) override;

 protected:
  InstanceNorm(const char* kind, int axes, int64_t num_features, InstanceNormOptions options)
      : GroupNorm(num_features, num_features, {options.eps, options.affine, options.dtype}), kind_(kind), axes_(axes) {}

 private:
  const char* kind_;
  int axes_;
};
struct InstanceNorm1d : InstanceNorm {
  explicit InstanceNorm1d(int64_t num_features, InstanceNormOptions options = {})
      : InstanceNorm("InstanceNorm1d", 1, num_features, options) {}
};
struct InstanceNorm2d : InstanceNorm {
  explicit InstanceNorm2d(int64_t num_features, InstanceNormOptions options = {})
      : InstanceNorm("InstanceNorm2d", 2, num_features, options) {}
};
struct InstanceNorm3d : InstanceNorm {
  explicit InstanceNorm3d(int64_t num_features, InstanceNormOptions options = {})
      : InstanceNorm("InstanceNorm3d", 3, num_features, options) {}
};

}  // namespace isochron::nn
