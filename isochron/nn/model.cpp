#include "isochron/nn/model.h"

#include <fmt/ranges.h>

#include <cstring>

#include "isochron/exec/variables.h"

namespace isochron {

Model::Model() = default;

std::vector<Tensor> Model::get_weights() const {
  std::vector<Tensor> copies;
  for (const Variable& w : weights()) {
    w.eval();
    Storage bytes = Storage::allocate(static_cast<size_t>(w.spec().bytes()));
    std::memcpy(bytes.data(), w.raw_data(), static_cast<size_t>(w.spec().bytes()));
    copies.push_back(Tensor::from_storage(std::move(bytes), w.spec()));
  }
  return copies;
}

void Model::set_weights(const std::vector<Tensor>& values) {
  const std::vector<Variable> own = weights();
  if (own.empty())
    fail<StateError>("set_weights", "model \"{}\" has no weights yet: build it with Input(shape), a call, or fit",
                     name());
  std::vector<std::string> wrong;
  if (own.size() != values.size()) wrong.push_back(fmt::format("{} weights for {}", values.size(), own.size()));
  for (size_t i = 0; i < std::min(own.size(), values.size()); ++i)
    if (values[i].spec() != own[i].spec())
      wrong.push_back(
          fmt::format("{} is {}, got {}", own[i].name(), to_string(own[i].spec()), to_string(values[i].spec())));
  if (!wrong.empty()) fail<ShapeError>("set_weights", "the weights do not fit: {}", fmt::join(wrong, "; "));
  for (const Tensor& value : values) value.eval();
  for (size_t i = 0; i < own.size(); ++i) {
    own[i].eval();
    std::memcpy(writable_bytes(*own[i].state()), values[i].raw_data(), static_cast<size_t>(own[i].spec().bytes()));
    bytes_overwritten(*own[i].state());
  }
}

namespace {

std::string with_commas(int64_t n) {
  std::string digits = std::to_string(n), out;
  for (size_t i = 0; i < digits.size(); ++i) {
    if (i && (digits.size() - i) % 3 == 0) out += ',';
    out += digits[i];
  }
  return out;
}

std::string size_text(int64_t bytes) {
  if (bytes < 1024) return fmt::format("{} B", bytes);
  if (bytes < 1024 * 1024) return fmt::format("{:.2f} KB", static_cast<double>(bytes) / 1024);
  if (bytes < int64_t{1024} * 1024 * 1024) return fmt::format("{:.2f} MB", static_cast<double>(bytes) / (1024 * 1024));
  return fmt::format("{:.2f} GB", static_cast<double>(bytes) / (1024.0 * 1024 * 1024));
}

}  // namespace

std::string Model::summary() const {
  std::vector<std::array<std::string, 3>> rows;
  rows.push_back({"Layer (type)", "Output Shape", "Param #"});
  for (const std::shared_ptr<Layer>& layer : layers()) {
    std::string shape = "?";
    if (layer->built()) {
      const Shape out = layer->output_shape(layer->input_shape());
      shape = out.rank() ? fmt::format("(None, {})", fmt::join(out.begin(), out.end(), ", ")) : "(None,)";
    }
    rows.push_back({fmt::format("{} ({})", layer->name(), layer->class_name()), shape,
                    layer->built() ? with_commas(layer->count_params()) : "0 (unbuilt)"});
  }
  std::array<size_t, 3> width{};
  for (const auto& row : rows)
    for (size_t i = 0; i < 3; ++i) width[i] = std::max(width[i], row[i].size());
  const auto rule = [&](const char* left, const char* fill, const char* middle, const char* right) {
    std::string line = left;
    for (size_t i = 0; i < 3; ++i) {
      for (size_t k = 0; k < width[i] + 2; ++k) line += fill;
      line += i < 2 ? middle : right;
    }
    return line + "\n";
  };
  std::string text = fmt::format("Model: \"{}\"\n", name());
  text += rule("┏", "━", "┳", "┓");
  for (size_t r = 0; r < rows.size(); ++r) {
    const char* bar = r ? "│" : "┃";
    text += fmt::format("{0} {1:<{4}} {0} {2:<{5}} {0} {3:>{6}} {0}\n", bar, rows[r][0], rows[r][1], rows[r][2],
                        width[0], width[1], width[2]);
    if (r == 0)
      text += rule("┡", "━", "╇", "┩");
    else if (r + 1 < rows.size())
      text += rule("├", "─", "┼", "┤");
  }
  text += rule("└", "─", "┴", "┘");
  const auto line = [&](const char* label, const std::vector<Variable>& variables) {
    int64_t count = 0, bytes = 0;
    for (const Variable& v : variables) {
      count += v.elements();
      bytes += v.spec().bytes();
    }
    text += fmt::format(" {}: {} ({})\n", label, with_commas(count), size_text(bytes));
  };
  line("Total params", weights());
  line("Trainable params", trainable_variables());
  line("Non-trainable params", non_trainable_variables());
  return text;
}

Sequential::Sequential(std::initializer_list<AnyLayer> layers) {
  for (const AnyLayer& layer : layers) add(layer);
}
Sequential::Sequential(const std::vector<AnyLayer>& layers) {
  for (const AnyLayer& layer : layers) add(layer);
}

void Sequential::add(const AnyLayer& layer) {
  if (built() && !sublayers().empty()) {
    const Shape input = sublayers().back()->output_shape(sublayers().back()->input_shape());
    layer.get()->ensure_built(input);
  }
  add_sublayer(layer.get());
  if (sublayers().size() == 1)
    if (const auto* input = dynamic_cast<const Input*>(layer.get().get())) ensure_built(input->shape());
}

void Sequential::pop() {
  if (sublayers().empty()) fail<StateError>("Sequential", "there is no layer to pop");
  std::vector<std::shared_ptr<Layer>> kept(sublayers().begin(), sublayers().end() - 1);
  clear_sublayers();
  for (auto& layer : kept) add_sublayer(std::move(layer));
}

void Sequential::build(const Shape& input) {
  Shape shape = input;
  for (const auto& layer : sublayers()) {
    layer->ensure_built(shape);
    shape = layer->output_shape(shape);
  }
}

Tensor Sequential::call(const Tensor& x, const CallContext& context) {
  Tensor y = x;
  for (const auto& layer : sublayers()) y = (*layer)(y, context);
  return y;
}

Shape Sequential::output_shape(const Shape& input) const {
  Shape shape = input;
  for (const auto& layer : sublayers()) shape = layer->output_shape(shape);
  return shape;
}

Tensor Input::call(const Tensor& x, const CallContext&) {
  if (x.rank() != shape_.rank() + 1 || Shape(x.shape().dims().subspan(1)) != shape_)
    fail<ShapeError>("Input", "the model takes examples of shape {}, got a batch of shape {}", shape_, x.shape());
  return x;
}

}  // namespace isochron
