// Layers that join several tensors into one.
//
//   auto y = Add()({x, shortcut});                       // or x + shortcut
//   auto z = Concatenate()({a, b, c});                   // along the last axis
//   auto similarity = Dot(1, {.normalize = true})({u, v});
//
// Extents of 1 are stretched, and inputs of lower rank get axes of extent 1 behind the batch axis, as in Keras.
#pragma once

#include "isochron/nn/layer.h"

namespace isochron {

// Folds its inputs, two or more, from the first to the last.
class Merge : public Layer {
 public:
  bool many() const override { return true; }
  Tensor call(const Tensor& x, const CallContext&) override;  // a single tensor is refused
  std::vector<Tensor> call_many(const std::vector<Tensor>& inputs, const CallContext& context) override;

 protected:
  explicit Merge(LayerOptions options) { set_name(std::move(options.name)); }
  virtual Tensor merge(const std::vector<Tensor>& inputs) const = 0;
  virtual bool stretches() const { return true; }  // whether ranks are made equal first
  // As in Keras: a step counts when it does in any of the inputs; one without a mask ends it.
  Tensor compute_mask_of(const std::vector<Tensor>& inputs) override;
};

#define ISO_MERGE_LAYER(Class)                                               \
  class Class : public Merge {                                               \
   public:                                                                   \
    explicit Class(LayerOptions options = {}) : Merge(std::move(options)) {} \
    ISO_LAYER(Class)                                                         \
                                                                             \
   protected:                                                                \
    Tensor merge(const std::vector<Tensor>& inputs) const override;          \
  }
ISO_MERGE_LAYER(Add);
ISO_MERGE_LAYER(Subtract);  // of exactly two
ISO_MERGE_LAYER(Multiply);
ISO_MERGE_LAYER(Average);
ISO_MERGE_LAYER(Maximum);
ISO_MERGE_LAYER(Minimum);
#undef ISO_MERGE_LAYER

struct ConcatenateOptions {
  int64_t axis = -1;  // counted with the batch axis, which it may not be
  std::string name = {};
};
ISO_OPTIONS(ConcatenateOptions, axis, name)

class Concatenate : public Merge {
 public:
  explicit Concatenate(ConcatenateOptions options = {});
  ISO_LAYER(Concatenate)
  ISO_ARGUMENTS(ConcatenateOptions{.axis = axis_})
  int64_t axis() const { return axis_; }

 protected:
  Tensor merge(const std::vector<Tensor>& inputs) const override;
  bool stretches() const override { return false; }
  // Along the axis when that is time; along others a step counts when it does in any input. All steps of an input
  // without a mask count.
  Tensor compute_mask_of(const std::vector<Tensor>& inputs) override;

 private:
  int64_t axis_;
};

struct DotOptions {
  bool normalize = false;  // both along their axis first: the cosine of the angle between them
  std::string name = {};
};
ISO_OPTIONS(DotOptions, normalize, name)

// Products of two tensors summed along one axis of each, example by example: of (batch, n) and (batch, n) along 1 it is
// (batch, 1).
class Dot : public Merge {
 public:
  // Counted with the batch axis, which neither may be.
  explicit Dot(int64_t axis, DotOptions options = {}) : Dot(axis, axis, std::move(options)) {}
  Dot(int64_t first_axis, int64_t second_axis, DotOptions options = {});
  ISO_LAYER(Dot)
  ISO_ARGUMENTS(first_axis(), second_axis(), DotOptions{.normalize = normalize_})
  int64_t first_axis() const { return axes_.first; }
  int64_t second_axis() const { return axes_.second; }
  bool normalize() const { return normalize_; }

 protected:
  Tensor merge(const std::vector<Tensor>& inputs) const override;
  bool stretches() const override { return false; }
  Tensor compute_mask_of(const std::vector<Tensor>&) override { return {}; }

 private:
  std::pair<int64_t, int64_t> axes_;
  bool normalize_;
};

// A function of one tensor as a layer.
class Lambda : public Layer {
 public:
  explicit Lambda(std::function<Tensor(const Tensor&)> function, LayerOptions options = {});
  ISO_LAYER(Lambda)
  Tensor call(const Tensor& x, const CallContext&) override { return function_(x); }

 private:
  std::function<Tensor(const Tensor&)> function_;
};

}  // namespace isochron
