#include "isochron/nn/einsum_dense.h"

#include <algorithm>

#include "isochron/base/joined.h"
#include "isochron/ops/elementwise.h"
#include "isochron/ops/matmul.h"

namespace isochron {
namespace {

constexpr const char* kName = "EinsumDense";
constexpr int64_t kUnknown = -1;

bool only_letters(const std::string& text) {
  return !text.empty() &&
         std::all_of(text.begin(), text.end(), [](char c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z'); });
}

// Whether the term had an ellipsis at this end, which is taken off.
bool take_dots(std::string& term, bool first) {
  if (first ? !term.starts_with("...") : !term.ends_with("...")) return false;
  term.erase(first ? 0 : term.size() - 3, 3);
  return true;
}

}  // namespace

EinsumDense::EinsumDense(std::string equation, Sizes output_shape, EinsumDenseOptions options)
    : equation_(std::move(equation)), output_shape_(std::move(output_shape)), options_(std::move(options)) {
  std::string text = equation_;
  std::erase(text, ' ');
  const size_t comma = text.find(','), arrow = text.find("->");
  bool fits = comma != std::string::npos && arrow != std::string::npos && comma < arrow;
  if (fits) {
    input_ = text.substr(0, comma);
    weight_ = text.substr(comma + 1, arrow - comma - 1);
    output_ = text.substr(arrow + 2);
    dots_first_ = take_dots(input_, true);
    dots_last_ = take_dots(input_, false);
    fits = take_dots(output_, true) == dots_first_ && take_dots(output_, false) == dots_last_ &&
           !(dots_first_ && dots_last_) && only_letters(input_) && only_letters(weight_) && only_letters(output_);
  }
  if (!fits)
    fail<ValueError>(kName, "an equation is \"ab,bc->ac\", \"...b,bc->...c\" or \"ab...,bc->ac...\", got \"{}\"",
                     equation_);
  for (const char c : options_.bias_axes)
    if (output_.find(c) == std::string::npos)
      fail<ValueError>(kName, "bias axis '{}' is not in the output of \"{}\"", c, equation_);
  take_common(options_);
}

// With the batch, whose extent is not known.
struct EinsumDense::Shapes {
  Extents kernel, bias, output;
  Fans fans;
};

EinsumDense::Shapes EinsumDense::shapes_for(const Shape& example) const {
  const Extents in = example.insert(0, 1).to_vector();
  const auto hidden = static_cast<ptrdiff_t>(in.size()) - std::ssize(input_);
  if (hidden < 0 || (hidden > 0 && !dots_first_ && !dots_last_))
    fail<ShapeError>(kName, "\"{}\" does not fit inputs (batch, {})", equation_, joined(example.to_vector()));
  const ptrdiff_t before = dots_first_ ? hidden : 0;
  // What the ellipsis in front stands for begins with the batch; without one the first letter is the batch's.
  Shapes out;
  out.output.assign(in.begin(), in.begin() + std::max<ptrdiff_t>(before, 1));
  const Extents& given = output_shape_.values();
  if (std::ssize(given) != before + std::ssize(output_) - std::ssize(out.output))
    fail<ValueError>(kName, "output_shape needs {} numbers for \"{}\", got ({})",
                     before + std::ssize(output_) - std::ssize(out.output), equation_, joined(given));
  out.output.insert(out.output.end(), given.begin(), given.end());
  if (dots_last_) out.output.insert(out.output.end(), in.end() - hidden, in.end());
  out.output[0] = kUnknown;

  const auto place = [](const std::string& letters, char c) { return letters.find(c); };
  const auto in_extent = [&](size_t at) {
    const size_t axis = at + static_cast<size_t>(before);
    return axis == 0 ? kUnknown : in[axis];
  };
  for (size_t i = 0; i < output_.size(); ++i) {
    int64_t& extent = out.output[i + static_cast<size_t>(before)];
    const size_t at = place(input_, output_[i]);
    if (at == std::string::npos) {
      if (place(weight_, output_[i]) == std::string::npos)
        fail<ValueError>(kName, "'{}' is in the output of \"{}\" only", output_[i], equation_);
      if (extent < 1)
        fail<ValueError>(kName, "output_shape must tell how large '{}' of \"{}\" is, got ({})", output_[i], equation_,
                         joined(given));
    } else if (extent == kUnknown) {
      extent = in_extent(at);
    } else if (extent != in_extent(at)) {
      fail<ShapeError>(kName, "'{}' of \"{}\" is {} in the input, {} in output_shape", output_[i], equation_,
                       in_extent(at), extent);
    }
  }
  out.fans = {1, 1};
  for (const char c : weight_) {
    const size_t at_output = place(output_, c), at_input = place(input_, c);
    if (at_output == std::string::npos && at_input == std::string::npos)
      fail<ValueError>(kName, "'{}' of the kernel is neither in the input nor in the output of \"{}\"", c, equation_);
    const bool of_output = at_output != std::string::npos;
    const int64_t extent = of_output ? out.output[at_output + static_cast<size_t>(before)] : in_extent(at_input);
    if (extent == kUnknown)
      fail<ValueError>(kName, "the kernel of \"{}\" can't have an axis of the batch, '{}'", equation_, c);
    out.kernel.push_back(extent);
    (of_output ? out.fans.out : out.fans.in) *= static_cast<double>(extent);
  }
  const size_t first = output_.find_first_of(options_.bias_axes);
  for (size_t i = first; i < output_.size(); ++i) {
    const bool has = options_.bias_axes.find(output_[i]) != std::string::npos;
    const int64_t extent = has ? out.output[i + static_cast<size_t>(before)] : 1;
    if (extent == kUnknown)
      fail<ValueError>(kName, "the bias of \"{}\" can't have an axis of the batch, '{}'", equation_, output_[i]);
    out.bias.push_back(extent);
  }
  if (first != std::string::npos && dots_last_) out.bias.insert(out.bias.end(), static_cast<size_t>(hidden), 1);
  return out;
}

void EinsumDense::build(const Shape& input) {
  const EinsumDenseOptions& o = options_;
  const Shapes shapes = shapes_for(input);
  kernel_ = add_weight("kernel", Shape(shapes.kernel), o.kernel_initializer.with_fans(shapes.fans),
                       {.regularizer = o.kernel_regularizer, .constraint = o.kernel_constraint, .dtype = o.dtype});
  if (!o.bias_axes.empty())
    bias_ = add_weight("bias", Shape(shapes.bias), o.bias_initializer,
                       {.regularizer = o.bias_regularizer, .constraint = o.bias_constraint, .dtype = o.dtype});
}

Tensor EinsumDense::call(const Tensor& x, const CallContext&) {
  Tensor y = einsum(equation_, {computed(x, options_.dtype), computed(kernel_, options_.dtype)});
  if (bias_.defined()) y = y + computed(bias_, options_.dtype);
  return options_.activation(y);
}

Shape EinsumDense::output_shape(const Shape& input) const {
  const Extents batch = shapes_for(input).output;
  return Shape(Extents(batch.begin() + 1, batch.end()));
}

}  // namespace isochron
