// A layer: weights and what they do to a batch.
//
//   class Scale : public Layer {                                  // a layer of one's own
//    public:
//     ISO_LAYER(Scale)
//     void build(const Shape& input) override { scale_ = add_weight("scale", {input[-1]}, "ones"); }
//     Tensor call(const Tensor& x, const CallContext&) override { return x * scale_; }
//    private:
//     Variable scale_;
//   };
//
// Shapes in build() and output_shape() are those of one example, without the batch axis. A layer is built once, on its
// first call or by its model; its weights keep their shapes for life.
//
// A layer of several inputs or outputs overrides many(), call_many() and, if it has weights, build_many(). One that may
// be given further inputs besides its own, such as initial states, overrides takes_lists() in place of many().
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "isochron/base/not_copied.h"
#include "isochron/base/options.h"
#include "isochron/nn/initializers.h"
#include "isochron/nn/symbolic.h"
#include "isochron/nn/weight_rules.h"
#include "isochron/tensor/tensor.h"

namespace isochron {

struct CallContext {
  bool training = false;
  Tensor mask = {};  // bool (batch, time): the steps of the input that count; undefined: all of them
};

struct WeightOptions {
  bool trainable = true;
  Regularizer regularizer = {};
  Constraint constraint = {};
  DType dtype = DType::float32;
};

struct LoadWeightsOptions {
  bool skip_mismatch = false;  // take what fits and leave the rest as it is
};

// "dense", "dense_1", …: unique in the process.
std::string unique_layer_name(const std::string& base);

// What layers take that have nothing else to be told.
struct LayerOptions {
  std::string name = {};
};
ISO_OPTIONS(LayerOptions, name)

// The name of a layer's class, and how to copy it: in the public part of every class of layers. Not by make_shared, of
// which each of a hundred classes would bring an instance of its own into every program that includes this.
#define ISO_LAYER(Class)                                                           \
  std::string class_name() const override { return #Class; }                       \
  std::shared_ptr<::isochron::Layer> clone() const override {                      \
    return ::isochron::own_layer(new std::remove_cvref_t<decltype(*this)>(*this)); \
  }                                                                                \
  bool become(const ::isochron::Layer& other) override {                           \
    using Self = std::remove_cvref_t<decltype(*this)>;                             \
    if constexpr (std::is_copy_assignable_v<Self>) {                               \
      *this = static_cast<const Self&>(other);                                     \
      return true;                                                                 \
    }                                                                              \
    return false;                                                                  \
  }

class Layer;
// The layer, freed with its last owner.
std::shared_ptr<Layer> own_layer(Layer* layer);

class Layer : public std::enable_shared_from_this<Layer> {
 public:
  virtual ~Layer() = default;

  virtual std::string class_name() const = 0;
  // A copy that shares the weights; null when the class does not say how (ISO_LAYER does).
  virtual std::shared_ptr<Layer> clone() const { return nullptr; }
  // Takes over weights and all else from a layer of the same class; false when the class does not say how (ISO_LAYER
  // does).
  virtual bool become(const Layer& /*other*/) { return false; }
  // Makes the weights. Called by ensure_built(); whoever calls it himself makes what ensure_built() will find. Shapes
  // have no unknown extents, or those of Input({-1, 8}) where builds_partial() says so.
  virtual void build(const Shape& /*input*/) {}
  virtual bool builds_partial() const { return false; }
  // x is (batch, …).
  virtual Tensor call(const Tensor& x, const CallContext& context) = 0;
  // What call() makes of one example of this shape; worked out by tracing call() unless overridden.
  virtual Shape output_shape(const Shape& input) const;

  // Whether a mask of the input is one of the output, too: true for layers that treat all steps alike. Where it is
  // false the mask ends (masking.h).
  virtual bool supports_masking() const { return false; }
  // The mask of the output; `mask` is the input's and may be undefined, as the result may.
  virtual Tensor compute_mask(const Tensor& x, const Tensor& mask);

  // Whether these are called in place of build() and call().
  virtual bool many() const { return false; }
  // Whether they are when there are several inputs.
  virtual bool takes_lists() const { return many(); }
  virtual void build_many(const std::vector<Shape>& inputs) { build(inputs.front()); }
  virtual std::vector<Tensor> call_many(const std::vector<Tensor>& inputs, const CallContext& context);
  // The mask of what call_many() gave first.
  virtual Tensor compute_mask_of(const std::vector<Tensor>& /*inputs*/) { return {}; }

  // Builds the layer if need be, and calls it; masks are taken from x and attached to the result.
  Tensor operator()(const Tensor& x, CallContext context = {});
  std::vector<Tensor> operator()(const std::vector<Tensor>& inputs, CallContext context = {});
  // A call in a functional model: builds the layer, checks that the inputs fit, and computes nothing.
  SymbolicTensor operator()(const SymbolicTensor& x);
  SymbolicTensors operator()(const std::vector<SymbolicTensor>& inputs);
  void ensure_built(const Shape& input) { ensure_built(std::vector<Shape>{input}); }
  // A build that throws leaves no weights and no parts behind.
  void ensure_built(const std::vector<Shape>& inputs);
  bool built() const { return built_; }
  // Whether ensure_built() is at work on this layer.
  bool building() const { return building_; }
  // The per-example shape the layer was built for; StateError before.
  const Shape& input_shape() const;

  // "dense", "dense_1", …: unique in the process unless set.
  const std::string& name() const;
  void set_name(std::string name) { name_ = std::move(name); }

  // Weights of this layer and its sublayers, in the order of their making.
  std::vector<Variable> weights() const;
  std::vector<Variable> trainable_variables() const;
  std::vector<Variable> non_trainable_variables() const;
  int64_t count_params() const;
  // The layers this one is made of, and the weights that are its own.
  const std::vector<std::shared_ptr<Layer>>& parts() const { return sublayers_; }
  std::vector<Variable> own_weights() const;
  // Their values in that order, as copies; setting checks count, shapes and dtypes first: ShapeError lists what does
  // not fit, and nothing is changed.
  std::vector<Tensor> get_weights() const;
  void set_weights(const std::vector<Tensor>& values);
  // Frozen weights get no gradients; takes effect when the model is compiled.
  bool trainable() const { return trainable_; }
  void set_trainable(bool on);

  // "float32": computes in its dtype. "mixed_bfloat16": what it multiplies and what it gives on is bfloat16, half as
  // large, sums and weights stay float32. For all parts, too, whose options do not say another; takes effect when the
  // model is compiled. ValueError for another name.
  const char* dtype_policy() const { return mixed_ ? "mixed_bfloat16" : "float32"; }
  void set_dtype_policy(const std::string& policy);

  // What it was made with, as JSON: {"class_name": …, "config": {…}} (config.h).
  std::string get_config() const;
  // What goes on from call to call besides weights, and is saved with a model: states of a stateful layer, the place
  // in its own sequence of random numbers.
  virtual std::vector<Variable> state() const { return {}; }
  // ValueError when it does not fit.
  virtual void set_state(const std::vector<Tensor>& values);

  // Penalties of the weights' regularisers, and what add_loss() was given in the last call; pending.
  std::vector<Tensor> losses() const;
  // Adds the penalty of the activity_regularizer, if there is one, on what a call gave: each output's divided by the
  // number of its examples, as in Keras. Calls do it themselves; for layers that run parts of another one.
  void penalize_activity(const std::vector<Tensor>& outputs);
  // Weights with a constraint, to be applied after each update.
  std::vector<std::pair<Variable, Constraint>> constrained_weights() const;

 protected:
  // For call(): a scalar that fit() and evaluate() add to the loss, such as a penalty on what the layer gives.
  // ShapeError unless it is a scalar.
  void add_loss(const Tensor& loss);
  Variable add_weight(const std::string& name, const Shape& shape, const Initializer& initializer,
                      WeightOptions options = {});
  // x, or a weight, in the dtype the policy computes in: bfloat16, or `own`.
  Tensor computed(const Tensor& x, DType own) const;
  // For layers that compute statistics or long sums in float32 whatever the policy: x widened, and the result as it is
  // stored.
  Tensor wide(const Tensor& x, DType own) const;
  Tensor given_on(const Tensor& y) const;
  // The penalty on what the layer gives.
  void set_activity_regularizer(Regularizer regularizer) { activity_regularizer_ = std::move(regularizer); }
  // Name, policy and activity_regularizer out of a layer's options.
  template <class Options>
  void take_common(const Options& options) {
    set_name(options.name);
    if constexpr (requires { options.activity_regularizer; }) set_activity_regularizer(options.activity_regularizer);
    if constexpr (requires { options.dtype; })
      if (!is_floating(options.dtype))
        fail<DTypeError>(class_name(), "computes in a floating dtype, got {}; cast its output for another",
                         options.dtype);
    if (options.dtype_policy.empty()) return;
    set_dtype_policy(options.dtype_policy);
    own_policy_ = true;
  }
  // Scale and shift of a normalisation, as far as its options (scale, center, gamma_…, beta_…, dtype) ask for them.
  template <class Options>
  void add_scale_and_shift(const Shape& shape, const Options& o, Variable& gamma, Variable& beta) {
    if (o.scale)
      gamma = add_weight("gamma", shape, o.gamma_initializer,
                         {.regularizer = o.gamma_regularizer, .constraint = o.gamma_constraint, .dtype = o.dtype});
    if (o.center)
      beta = add_weight("beta", shape, o.beta_initializer,
                        {.regularizer = o.beta_regularizer, .constraint = o.beta_constraint, .dtype = o.dtype});
  }
  // Makes another layer part of this one.
  void add_sublayer(std::shared_ptr<Layer> layer);
  void clear_sublayers() { sublayers_.clear(); }
  const std::vector<std::shared_ptr<Layer>>& sublayers() const { return sublayers_; }

 private:
  struct Weight {
    std::string name;  // within the layer
    Variable variable;
    bool trainable;
    Regularizer regularizer;
    Constraint constraint;
  };
  class OutermostCall;
  class BeforeBuild;
  template <class F>
  void each_layer(F&& f) const;
  template <class F>
  void each_weight(F&& f) const;
  void inherit_policy(const Layer& from);

  // A layer on the stack and the copy that models hold in its place share their weights, whichever is built first.
  friend class AnyLayer;
  // That copy, or the layer itself where a shared_ptr owns it; null for a class that can't be copied.
  std::shared_ptr<Layer> shared();
  void share_what_was_built();
  void build_now(const std::vector<Shape>& inputs);
  // ShapeError when the layer was built for a stand-in and works for no other extent.
  void check_other_extents(const std::vector<Shape>& inputs);
  // become(), but for what is this object's own.
  bool be_as(const Layer& other);
  void take_over(const Layer& built);

  mutable std::string name_;
  std::vector<Weight> weights_;
  std::vector<Weight> made_before_;  // while building: weights that were there, to be found by add_weight()
  std::vector<std::shared_ptr<Layer>> sublayers_;
  Regularizer activity_regularizer_;
  mutable std::vector<Value> added_losses_;  // not handles: what nobody asks for is not computed
  Shape input_shape_;
  bool built_ = false;
  bool building_ = false;
  bool trainable_ = true;
  bool mixed_ = false;
  bool own_policy_ = false;                    // said by its options: stays when that of the model is set
  std::shared_ptr<Layer> shared_;              // the copy that models hold
  NotCopied<std::shared_ptr<Layer*>> place_;   // where a layer is that has such a copy
  NotCopied<std::weak_ptr<Layer*>> original_;  // of such a copy: where it was made, until that layer is gone
  size_t symbolic_calls_ = 0;
};

// Any layer as an argument: `Sequential{Dense(128), Dense(10)}`. A layer with a name of its own in the program, `Dense
// d(1); Sequential model{d};`, shares its weights with the model.
class AnyLayer {
 public:
  template <class L>
  requires std::is_base_of_v<Layer, std::remove_cvref_t<L>> AnyLayer(L&& layer) {
    if constexpr (std::is_lvalue_reference_v<L> && !std::is_const_v<std::remove_reference_t<L>>)
      layer_ = layer.shared();
    if (!layer_) layer_ = own_layer(new std::remove_cvref_t<L>(std::forward<L>(layer)));
  }
  template <class L>
  requires std::is_base_of_v<Layer, L> AnyLayer(std::shared_ptr<L> layer) : layer_(std::move(layer)) {
    if (!layer_) fail<ValueError>("layer", "a layer is null");
  }
  const std::shared_ptr<Layer>& get() const { return layer_; }

 private:
  std::shared_ptr<Layer> layer_;
};

}  // namespace isochron
