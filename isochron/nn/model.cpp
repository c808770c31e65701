#include "isochron/nn/model.h"

#include <fmt/core.h>

#include <cstring>
#include <unordered_set>

#include "isochron/base/joined.h"
#include "isochron/base/names.h"
#include "isochron/exec/variables.h"
#include "isochron/nn/layer_note.h"
#include "isochron/nn/model_graph.h"
#include "isochron/nn/partial_shapes.h"
#include "isochron/ops/elementwise.h"

namespace isochron {

Model::Model() = default;

Model::Model(const SymbolicTensors& inputs, const SymbolicTensors& outputs, ModelOptions options)
    : graph_(ModelGraph::from(inputs, outputs)) {
  set_name(options.name.empty() ? unique_layer_name("functional") : std::move(options.name));
  std::vector<Shape> shapes;
  for (const SymbolicTensor& input : inputs) shapes.push_back(input.shape());
  for (auto& layer : graph_->layers()) add_sublayer(std::move(layer));
  if (!options.dtype_policy.empty()) set_dtype_policy(options.dtype_policy);
  ensure_built(shapes);
}

bool Model::many() const { return graph_ && (graph_->inputs.size() > 1 || graph_->outputs.size() > 1); }

Tensor Model::call(const Tensor& x, const CallContext& context) {
  if (!graph_)
    fail<StateError>(class_name(), "define call() in the class of the model, or make it by Model(inputs, outputs)");
  return graph_->run({x}, context)[0];
}

std::vector<Tensor> Model::call_many(const std::vector<Tensor>& inputs, const CallContext& context) {
  return graph_ ? graph_->run(inputs, context) : Layer::call_many(inputs, context);
}

Shape Model::output_shape(const Shape& input) const {
  const bool known = graph_ && !graph_->output_symbols[0].shape().is_partial();
  return known ? graph_->output_symbols[0].shape() : Layer::output_shape(input);
}

std::shared_ptr<Layer> Model::get_layer(const std::string& wanted) const {
  const std::vector<std::shared_ptr<Layer>> all = layers();
  std::vector<std::string_view> known;
  for (const auto& layer : all) {
    if (layer->name() == wanted) return layer;
    known.push_back(layer->name());
  }
  fail<ValueError>("get_layer", "model \"{}\" has no layer \"{}\"{}", name(), wanted, did_you_mean(wanted, known));
}

std::shared_ptr<Layer> Model::get_layer(int64_t index) const {
  const std::vector<std::shared_ptr<Layer>> all = layers();
  const auto count = static_cast<int64_t>(all.size());
  if (index < -count || index >= count)
    fail<IndexError>("get_layer", "model \"{}\" has {} layers, got index {}", name(), count, index);
  return all[static_cast<size_t>(index < 0 ? index + count : index)];
}

namespace {
const ModelGraph& functional(const Model& model, const char* what) {
  if (!model.graph())
    fail<StateError>(what, "\"{}\" is no functional model: make it by Model(inputs, outputs)", model.name());
  return *model.graph();
}
}  // namespace

std::vector<SymbolicTensor> Model::inputs() const { return functional(*this, "inputs").input_symbols; }
std::vector<SymbolicTensor> Model::outputs() const { return functional(*this, "outputs").output_symbols; }

SymbolicTensor Model::output_of(const std::string& wanted) const {
  const ModelGraph& graph = functional(*this, "output_of");
  const std::shared_ptr<Layer> layer = get_layer(wanted);
  // The symbolic tensors of a model hold all that lead to them.
  std::vector<SymbolicTensor> open = graph.output_symbols;
  std::unordered_set<const SymbolicCall*> seen;
  SymbolicTensor found;
  while (!open.empty()) {
    const SymbolicTensor symbol = open.back();
    open.pop_back();
    if (!seen.insert(symbol.call().get()).second) continue;
    if (symbol.layer() == layer && (!found.defined() || symbol.call()->number < found.call()->number))
      found = {symbol.call(), 0};
    open.insert(open.end(), symbol.call()->inputs.begin(), symbol.call()->inputs.end());
  }
  ISO_CHECK(found.defined());
  return found;
}

std::vector<std::string> Model::input_names() const {
  return graph_ ? graph_->input_names : std::vector<std::string>{"x"};
}
std::vector<std::string> Model::output_names() const {
  return graph_ ? graph_->output_names : std::vector<std::string>{"output"};
}

Sequential::Sequential(std::initializer_list<AnyLayer> layers) {
  for (const AnyLayer& layer : layers) add(layer);
}
Sequential::Sequential(const std::vector<AnyLayer>& layers, ModelOptions options) {
  set_name(std::move(options.name));
  for (const AnyLayer& layer : layers) add(layer);
  if (!options.dtype_policy.empty()) set_dtype_policy(options.dtype_policy);
}

void Sequential::add(const AnyLayer& layer) {
  if (built() && !sublayers().empty()) {
    const Layer& last = *sublayers().back();
    const Shape input = gives_ ? *gives_ : output_shape_of(last, last.input_shape());
    // A layer that can't take what the last one gives is not added.
    gives_ = in_layer(*layer.get(), input, [&]() -> std::optional<Shape> {
      layer.get()->ensure_built(input);
      try {
        return output_shape_of(*layer.get(), input);
      } catch (const ShapeError&) {
        throw;
      } catch (const Error&) {
        return std::nullopt;  // of a trial with numbers where it takes tokens, say: its first call will tell
      }
    });
  }
  add_sublayer(layer.get());
  if (sublayers().size() == 1)
    if (const auto* input = dynamic_cast<const Input*>(layer.get().get())) ensure_built(input->shape());
}

std::vector<std::shared_ptr<Layer>> Sequential::layers() const {
  const std::vector<std::shared_ptr<Layer>>& all = sublayers();
  const bool input = !all.empty() && dynamic_cast<const Input*>(all.front().get());
  return {all.begin() + (input ? 1 : 0), all.end()};
}

void Sequential::pop() {
  if (sublayers().empty()) fail<StateError>("Sequential", "there is no layer to pop");
  gives_.reset();
  std::vector<std::shared_ptr<Layer>> kept(sublayers().begin(), sublayers().end() - 1);
  clear_sublayers();
  for (auto& layer : kept) add_sublayer(std::move(layer));
}

void Sequential::build(const Shape& input) {
  if (!built() && !building()) return ensure_built(input);
  Shape shape = input;
  for (const auto& layer : sublayers())
    shape = in_layer(*layer, shape, [&] {
      layer->ensure_built(shape);
      return output_shape_of(*layer, shape);
    });
}

Tensor Sequential::call(const Tensor& x, const CallContext& context) {
  Tensor y = x;
  for (const auto& layer : sublayers()) y = (*layer)(y, context);
  return y;
}

Shape Sequential::output_shape(const Shape& input) const {
  Shape shape = input;
  for (const auto& layer : sublayers()) shape = in_layer(*layer, shape, [&] { return layer->output_shape(shape); });
  return shape;
}

Input::Input(Shape shape, InputOptions options) : shape_(shape), dtype_(options.dtype) {
  set_name(std::move(options.name));
  auto layer = std::make_shared<Input>(*this);
  layer->set_name(name());
  layer->ensure_built(shape_);
  symbol_ = std::make_shared<SymbolicCall>();
  symbol_->layer = std::move(layer);
  symbol_->outputs = {{dtype_, shape_}};
}

Input::Input(std::initializer_list<int64_t> shape, InputOptions options)
    : Input(Shape::partial({shape.begin(), shape.size()}), std::move(options)) {}

Input::operator SymbolicTensor() const {
  if (symbol_) return {symbol_, 0};
  return Input(shape_, {name(), dtype_});
}

Tensor Input::call(const Tensor& x, const CallContext&) {
  bool fits = x.rank() == shape_.rank() + 1;
  for (int i = 0; fits && i < shape_.rank(); ++i) fits = shape_[i] < 0 || shape_[i] == x.shape()[i + 1];
  if (!fits)
    fail<ShapeError>("Input", "the model takes examples of shape {}, got a batch of shape {}", shape_, x.shape());
  return x.dtype() == dtype_ || dtype_ == DType::float32 ? x : cast(x, dtype_);
}

}  // namespace isochron
