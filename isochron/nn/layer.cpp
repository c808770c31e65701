#include "isochron/nn/layer.h"

#include <atomic>
#include <cstring>
#include <map>
#include <mutex>
#include <typeinfo>
#include <unordered_set>

#include "isochron/base/joined.h"
#include "isochron/base/names.h"
#include "isochron/exec/first_bad_op.h"
#include "isochron/exec/function.h"
#include "isochron/exec/trial.h"
#include "isochron/exec/variables.h"
#include "isochron/nn/layer_note.h"
#include "isochron/nn/masking.h"
#include "isochron/nn/partial_shapes.h"
#include "isochron/nn/weight_budget.h"
#include "isochron/ops/create.h"
#include "isochron/ops/elementwise.h"
#include "isochron/tensor/zeroed_storage.h"
#include "isochron/timeline/timeline.h"

namespace isochron {

std::string unique_layer_name(const std::string& base) {
  static std::mutex mutex;
  static std::map<std::string, int> used;
  std::lock_guard lock(mutex);
  const int n = used[base]++;
  return n ? fmt::format("{}_{}", base, n) : base;
}

const std::string& Layer::name() const {
  if (name_.empty()) name_ = unique_layer_name(snake_case(class_name()));
  return name_;
}

const Shape& Layer::input_shape() const {
  if (!built_)
    fail<StateError>(class_name(), "layer \"{}\" has not been built: call it on data, or give its model an input shape",
                     name());
  return input_shape_;
}

// What a layer was before it was built, for a build that fails. One for a stand-in may well fail, after everything was
// made: then all members are as they were, of parts that were not built as well.
class Layer::BeforeBuild {
 public:
  BeforeBuild(Layer& layer, bool whole) : layer_(layer), weights_(layer.weights_), sublayers_(layer.sublayers_) {
    if (whole)
      layer.each_layer([&](const Layer& one) {
        if (!one.built_) copies_.emplace_back(const_cast<Layer*>(&one), one.clone());
      });
  }
  void restore() {
    for (const auto& [layer, copy] : copies_)
      if (copy) layer->be_as(*copy);
    layer_.weights_ = std::move(weights_);
    layer_.sublayers_ = std::move(sublayers_);
    layer_.made_before_.clear();
    layer_.built_ = layer_.building_ = false;
  }

 private:
  Layer& layer_;
  std::vector<Weight> weights_;
  std::vector<std::shared_ptr<Layer>> sublayers_;
  std::vector<std::pair<Layer*, std::shared_ptr<Layer>>> copies_;
};

void Layer::ensure_built(const std::vector<Shape>& inputs) {
  if (built_) return;
  ScopedSpan span(Phase::build, "build");
  in_layer(*this, inputs, [&] { build_now(inputs); });
  if (!trainable_) set_trainable(false);
  share_what_was_built();
}

void Layer::build_now(const std::vector<Shape>& inputs) {
  const bool stand_in = !builds_partial() && any_partial(inputs);
  const std::vector<Shape> shapes = stand_in ? filled(inputs, kStandIns[0]) : inputs;
  BeforeBuild before(*this, stand_in);
  try {
    // Weights that the constructor made stay; so do those of a build() called by somebody else, each in its place, also
    // when he called that of the layer a model has this copy of.
    made_before_ = std::exchange(weights_, {});
    if (const auto original = original_.lock(); original && made_before_.empty()) made_before_ = (*original)->weights_;
    building_ = true;
    many() || inputs.size() > 1 ? build_many(shapes) : build(shapes.front());
    building_ = false;
    weights_.insert(weights_.begin(), made_before_.begin(), made_before_.end());
    made_before_.clear();
    input_shape_ = inputs.front();
    built_ = true;
    if (stand_in) check_other_extents(inputs);
  } catch (...) {
    before.restore();
    throw;
  }
}

namespace {
std::string batch_shapes_text(std::span<const Shape> shapes) {
  std::vector<std::string> texts;
  for (const Shape& shape : shapes) texts.push_back(batch_shape_text(shape));
  return joined(texts);
}
}  // namespace

void note_layer(Error& error, const Layer& layer, std::span<const Shape> inputs) {
  const std::string who = fmt::format("in layer \"{}\" ({}), called with ", layer.name(), layer.class_name());
  // Building is part of a call: it was said there.
  const std::string_view text = error.what(), last = text.substr(text.rfind('\n') + 1);
  if (last.size() < text.size() && last.find(who) != last.npos) return;
  error.add_note(who + batch_shapes_text(inputs));
}

void Layer::check_other_extents(const std::vector<Shape>& inputs) {
  std::vector<TensorSpec> specs;
  for (const Shape& shape : inputs) specs.push_back({DType::float32, shape});
  try {
    (void)tried(*this, specs);
  } catch (const ShapeError& error) {
    ShapeError refusal(
        class_name(),
        fmt::format(
            "layer \"{}\" must know more of its input than {}: give the extent in Input(…), or reduce that axis "
            "before (tried {} and {} in place of what is not known: {})",
            name(), batch_shapes_text(inputs), kStandIns[0], kStandIns[1], error.message()));
    refusal.add_notes_of(error);
    throw refusal;
  } catch (const Error&) {
    // Not of shapes: of a trial with numbers where the layer takes tokens, say. Its first call will tell.
  }
}

std::shared_ptr<Layer> own_layer(Layer* layer) { return std::shared_ptr<Layer>(layer); }

std::shared_ptr<Layer> Layer::shared() {
  if (auto self = weak_from_this().lock()) return self;
  if (shared_) return shared_;
  (void)name();  // the same for both
  std::shared_ptr<Layer> copy = clone();
  if (!copy || typeid(*copy.get()) != typeid(*this)) return nullptr;
  if (!place_) place_ = std::make_shared<Layer*>(this);
  copy->original_ = place_;
  return shared_ = std::move(copy);
}

void Layer::share_what_was_built() {
  if (shared_ && !shared_->built_) {
    shared_->take_over(*this);
    shared_->share_what_was_built();  // this may be a copy of the original
  }
  if (const auto original = original_.lock(); original && !(*original)->built_) (*original)->take_over(*this);
}

bool Layer::be_as(const Layer& other) {
  const std::shared_ptr<Layer> copy = shared_;
  const std::string name = name_;
  if (!become(other)) return false;
  shared_ = copy;
  name_ = name;
  return true;
}

void Layer::take_over(const Layer& built) {
  if (!be_as(built)) return;
  built_ = true;
  input_shape_ = built.input_shape_;
}

// A call that is not part of another one starts with no losses added.
class Layer::OutermostCall {
 public:
  explicit OutermostCall(const Layer& layer) {
    if (depth++ == 0 && losses_were_added) layer.each_layer([](const Layer& one) { one.added_losses_.clear(); });
  }
  ~OutermostCall() { --depth; }
  static inline std::atomic<bool> losses_were_added{false};

 private:
  static inline thread_local int depth = 0;
};

void Layer::add_loss(const Tensor& loss) {
  if (loss.rank() != 0 || !is_floating(loss.dtype()))
    fail<ShapeError>(class_name(), "add_loss() takes a floating scalar, got {}; sum or mean it",
                     to_string(loss.spec()));
  if (TrialScope::active()) return;
  OutermostCall::losses_were_added = true;
  added_losses_.push_back(loss.value());
}

void Layer::penalize_activity(const std::vector<Tensor>& outputs) {
  for (const Tensor& y : outputs)
    if (activity_regularizer_)
      add_loss(activity_regularizer_.penalty(wide(y, DType::float32)) /
               static_cast<double>(std::max<int64_t>(1, y.rank() ? y.shape()[0] : 1)));
}

Tensor Layer::operator()(const Tensor& x, CallContext context) {
  const OutermostCall call_scope(*this);
  if (many()) {
    std::vector<Tensor> results = (*this)(std::vector<Tensor>{x}, context);
    if (results.size() == 1) return results[0];
    fail<ValueError>(class_name(),
                     "layer \"{}\" gives {} outputs: call it with a list, layer(std::vector{{x}}), to get them all",
                     name(), results.size());
  }
  if (x.rank() < 1) fail<ShapeError>(class_name(), "needs a batch, (batch, …), got a scalar");
  const Shape shape = x.shape().erase(0);
  ensure_built(shape);
  return in_layer(*this, shape, [&] {
    if (!context.mask.defined()) context.mask = mask_of(x);
    const Tensor y = call(x, context);
    if (activity_regularizer_) penalize_activity({y});
    if (NodeLabels* labels = NodeLabels::current()) labels->add({&y, 1}, {&x, 1}, name());
    if (const Tensor mask = compute_mask(x, context.mask); mask.defined()) set_mask(y, mask);
    return y;
  });
}

Tensor Layer::compute_mask(const Tensor&, const Tensor& mask) { return supports_masking() ? mask : Tensor(); }

std::vector<Tensor> Layer::operator()(const std::vector<Tensor>& inputs, CallContext context) {
  const OutermostCall call_scope(*this);
  if (inputs.size() == 1 && !many()) return {(*this)(inputs[0], context)};
  if (!takes_lists()) fail<ValueError>(class_name(), "layer \"{}\" takes one input, got {}", name(), inputs.size());
  if (inputs.empty()) fail<ValueError>(class_name(), "needs at least one input");
  std::vector<Shape> shapes;
  for (const Tensor& input : inputs) {
    if (input.rank() < 1) fail<ShapeError>(class_name(), "needs batches, (batch, …), got a scalar");
    shapes.push_back(input.shape().erase(0));
  }
  ensure_built(shapes);
  return in_layer(*this, shapes, [&] {
    std::vector<Tensor> results = call_many(inputs, context);
    if (activity_regularizer_) penalize_activity(results);
    if (NodeLabels* labels = NodeLabels::current()) labels->add(results, inputs, name());
    if (const Tensor mask = compute_mask_of(inputs); mask.defined()) set_mask(results.front(), mask);
    return results;
  });
}

std::vector<Tensor> Layer::call_many(const std::vector<Tensor>& inputs, const CallContext& context) {
  return {call(inputs.front(), context)};
}

Shape Layer::output_shape(const Shape& input) const {
  const TrialScope nothing_runs;
  const Tensor example(make_leaf({DType::float32, input.insert(0, 1)}, {}, LeafRole::argument));
  const Shape shape = const_cast<Layer*>(this)->call(example, {}).shape();
  return Shape(shape.dims().subspan(1));
}

void Layer::set_state(const std::vector<Tensor>& values) {
  const std::vector<Variable> own = state();
  bool fits = own.size() == values.size();
  for (size_t i = 0; fits && i < own.size(); ++i) fits = own[i].spec() == values[i].spec();
  if (!fits) fail<ValueError>(class_name(), "the state does not fit layer \"{}\"", name());
  for (size_t i = 0; i < own.size(); ++i) overwrite(own[i], values[i]);
}

namespace {
thread_local WeightBudget* current_budget = nullptr;
}
WeightBudget::WeightBudget(int64_t bytes) : left_(bytes), outer_(std::exchange(current_budget, this)) {}
WeightBudget::~WeightBudget() { current_budget = outer_; }
Tensor WeightBudget::take(const TensorSpec& spec) {
  if (spec.bytes() > left_)
    fail<ValueError>("load", "a weight of {} bytes is asked for, {} are left in the file", spec.bytes(), left_);
  left_ -= spec.bytes();
  return Tensor::from_storage(zeroed_storage(static_cast<size_t>(spec.bytes())), spec);
}

Variable Layer::add_weight(const std::string& weight_name, const Shape& shape, const Initializer& initializer,
                           WeightOptions options) {
  const TensorSpec spec{options.dtype, shape};
  const auto same_name = [&](const Weight& weight) { return weight.name == weight_name; };
  if (!building_ && std::any_of(weights_.begin(), weights_.end(), same_name))
    fail<StateError>(class_name(), "layer \"{}\" has been built and has its weight \"{}\"", name(), weight_name);
  if (const auto made = std::find_if(made_before_.begin(), made_before_.end(), same_name); made != made_before_.end()) {
    if (!(made->variable.spec() == spec))
      fail<ShapeError>(class_name(), "layer \"{}\" has a weight \"{}\" of {} already, {} is asked for", name(),
                       weight_name, to_string(made->variable.spec()), to_string(spec));
    weights_.push_back(std::move(*made));
    made_before_.erase(made);
    return weights_.back().variable;
  }
  ScopedSpan span(Phase::init, "init weights");
  Variable variable(current_budget ? current_budget->take(spec) : initializer(shape, options.dtype),
                    {.name = name() + "/" + weight_name, .trainable = options.trainable});
  weights_.push_back(
      {weight_name, variable, options.trainable, std::move(options.regularizer), std::move(options.constraint)});
  return variable;
}

// A layer that two others share is visited once.
template <class F>
void Layer::each_layer(F&& f) const {
  std::unordered_set<const Layer*> seen;
  const auto visit = [&](const auto& self, const Layer& layer) -> void {
    if (!seen.insert(&layer).second) return;
    f(layer);
    for (const auto& inner : layer.sublayers_) self(self, *inner);
  };
  visit(visit, *this);
}
template <class F>
void Layer::each_weight(F&& f) const {
  each_layer([&](const Layer& layer) {
    for (const Weight& weight : layer.weights_) f(weight);
  });
}

std::vector<Variable> Layer::weights() const {
  std::vector<Variable> out;
  each_weight([&](const Weight& w) { out.push_back(w.variable); });
  return out;
}
std::vector<Variable> Layer::own_weights() const {
  std::vector<Variable> out;
  for (const Weight& weight : weights_) out.push_back(weight.variable);
  return out;
}
std::vector<Variable> Layer::trainable_variables() const {
  std::vector<Variable> out;
  each_weight([&](const Weight& w) {
    if (w.variable.trainable()) out.push_back(w.variable);
  });
  return out;
}
std::vector<Variable> Layer::non_trainable_variables() const {
  std::vector<Variable> out;
  each_weight([&](const Weight& w) {
    if (!w.variable.trainable()) out.push_back(w.variable);
  });
  return out;
}

std::vector<Tensor> Layer::get_weights() const {
  std::vector<Tensor> copies;
  for (const Variable& w : weights()) {
    const auto size = static_cast<size_t>(w.spec().bytes());
    Storage bytes = Storage::allocate(size);
    std::memcpy(bytes.data(), w.eval().raw_data(), size);
    copies.push_back(Tensor::from_storage(std::move(bytes), w.spec()));
  }
  return copies;
}

void Layer::set_weights(const std::vector<Tensor>& values) {
  const std::vector<Variable> own = weights();
  if (own.empty() && !built_)
    fail<StateError>("set_weights", "\"{}\" has no weights yet: build it with Input(shape), a call, or fit", name());
  std::vector<std::string> known, wrong;
  for (size_t i = 0; i < own.size(); ++i) {
    const std::string& path = own[i].name();
    const std::string inner = path.starts_with(name() + "/") ? path.substr(name().size() + 1) : path;
    known.push_back(fmt::format("{} {}", inner, own[i].shape()));
    if (i < values.size() && values[i].spec() != own[i].spec())
      wrong.push_back(fmt::format("{} is {}, got {}", inner, to_string(own[i].spec()), to_string(values[i].spec())));
  }
  if (own.size() != values.size())
    fail<ShapeError>("set_weights", "got {} tensor{}, \"{}\" has {} weight{}: {}", values.size(),
                     values.size() == 1 ? "" : "s", name(), own.size(), own.size() == 1 ? "" : "s", joined(known));
  if (!wrong.empty()) fail<ShapeError>("set_weights", "weights of \"{}\" do not fit: {}", name(), joined(wrong, "; "));
  for (const Tensor& value : values) value.eval();
  for (size_t i = 0; i < own.size(); ++i) overwrite(own[i], values[i]);
}

int64_t Layer::count_params() const {
  int64_t count = 0;
  each_weight([&](const Weight& w) { count += w.variable.elements(); });
  return count;
}

void Layer::set_trainable(bool on) {
  trainable_ = on;
  for (const Weight& weight : weights_) {
    weight.variable.set_trainable(on && weight.trainable);
    weight.variable.value().node->differentiable = on && weight.trainable;
  }
  for (const auto& layer : sublayers_) layer->set_trainable(on);
  if (shared_) shared_->set_trainable(on);
}

void Layer::set_dtype_policy(const std::string& policy) {
  if (policy != "float32" && policy != "mixed_bfloat16")
    fail<ValueError>(class_name(), "unknown dtype_policy \"{}\"{}", policy,
                     did_you_mean(policy, {"float32", "mixed_bfloat16"}));
  mixed_ = policy == "mixed_bfloat16";
  for (const auto& layer : sublayers_) layer->inherit_policy(*this);
  if (shared_) shared_->set_dtype_policy(policy);
}

void Layer::inherit_policy(const Layer& from) {
  if (!own_policy_) set_dtype_policy(from.dtype_policy());
}

Tensor Layer::computed(const Tensor& x, DType own) const { return cast(x, mixed_ ? DType::bfloat16 : own); }

Tensor Layer::wide(const Tensor& x, DType own) const {
  return is_floating(x.dtype()) && size_of(x.dtype()) > 2 ? x : cast(x, own);
}
Tensor Layer::given_on(const Tensor& y) const { return mixed_ ? cast(y, DType::bfloat16) : y; }

void Layer::add_sublayer(std::shared_ptr<Layer> layer) {
  if (mixed_) layer->inherit_policy(*this);
  sublayers_.push_back(std::move(layer));
}

std::vector<Tensor> Layer::losses() const {
  std::vector<Tensor> out;
  each_weight([&](const Weight& w) {
    if (w.regularizer) out.push_back(w.regularizer.penalty(w.variable));
  });
  each_layer([&](const Layer& layer) {
    for (const Value& loss : layer.added_losses_) out.emplace_back(loss);
  });
  return out;
}

std::vector<std::pair<Variable, Constraint>> Layer::constrained_weights() const {
  std::vector<std::pair<Variable, Constraint>> out;
  each_weight([&](const Weight& w) {
    if (w.constraint) out.emplace_back(w.variable, w.constraint);
  });
  return out;
}

}  // namespace isochron
