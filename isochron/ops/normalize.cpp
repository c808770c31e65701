#include "isochron/ops/normalize.h"

#include "isochron/ops/create.h"
#include "isochron/ops/elementwise.h"
#include "isochron/ops/op.h"
#include "isochron/ops/reduce.h"
#include "isochron/ops/shape_ops.h"

namespace isochron {
namespace {

using G = const GradientContext&;

// Attributes "scale" and "center" say whether gamma and beta are among the inputs; "rms" leaves the mean alone.
struct Form {
  bool scale, center, rms;
  explicit Form(const Attributes& a)
      : scale(a.get<bool>("scale")), center(a.get<bool>("center")), rms(a.get_or("rms", false)) {}
};

void need_features(const RuleContext& c, size_t x, size_t first_vector) {
  const Shape& shape = c.shape(x);
  if (shape.rank() < 1) fail<ShapeError>(c.op, "needs at least one axis, got a scalar");
  if (c.dtype(x) != DType::float32 && c.dtype(x) != DType::float64)
    fail<DTypeError>(c.op, "needs float32 or float64, got {}", c.dtype(x));
  for (size_t i = first_vector; i < c.inputs.size(); ++i)
    if (c.shape(i) != Shape{shape[-1]} || c.dtype(i) != c.dtype(x))
      fail<ShapeError>(c.op, "x {} needs a scale and shift of {}, got {}", to_string(c[x]),
                       to_string(TensorSpec{c.dtype(x), {shape[-1]}}), to_string(c[i]));
}

Cost passes(const RuleContext& c, std::span<const TensorSpec> outputs) {
  Cost cost{8.0 * static_cast<double>(c.shape().elements()), 0};
  for (const TensorSpec& input : c.inputs) cost.bytes += static_cast<double>(input.bytes());
  for (const TensorSpec& output : outputs) cost.bytes += static_cast<double>(output.bytes());
  return cost;
}

// Inputs: dy, x, then `statistics` tensors of the forward op, then gamma when there is one. Outputs: dx and the
// gradients of gamma and beta.
template <size_t statistics>
Specs parameter_gradients(const RuleContext& c) {
  const Form form(c.attributes);
  need_features(c, 1, 2 + statistics - (form.rms ? 1 : 0));
  if (c[0] != c[1]) fail<ShapeError>(c.op, "needs a gradient like x, got {} and {}", to_string(c[0]), to_string(c[1]));
  const TensorSpec vector{c.dtype(1), {c.shape(1)[-1]}};
  Specs out{c[1]};
  if (form.scale) out.push_back(vector);
  if (form.center) out.push_back(vector);
  return out;
}

enum class Along { rows, columns };  // what has mean 0 and variance 1

// Second derivatives, such as penalties on gradients need, in plain ops. With n = (x - mean) r, h = dy gamma and
// averages along the rows or columns: dx = r (h - avg(h) - n avg(h n)).
template <Along along>
Gradients second_order(G g) {
  const Form form(g.attributes());
  const Tensor dy = g.input(0), x = g.input(1), gamma = form.scale ? g.input(form.rms ? 3 : 4) : Tensor();
  std::vector<int64_t> rows;  // axes
  for (int i = 0; i + 1 < x.rank(); ++i) rows.push_back(i);
  const auto over_rows = [&](const Tensor& t) { return rows.empty() ? t : sum(t, rows); };
  const auto average = [&](const Tensor& t) {
    if (along == Along::rows) return mean(t, {-1}, true);
    return rows.empty() ? t : mean(t, rows, true);
  };
  const Tensor centred = form.rms ? x : x - average(x);
  const Tensor r = rsqrt(average(square(centred)) + g.attributes().get<double>("epsilon"));
  const Tensor n = centred * r;
  // What the norm lets through of a change of x, but for the factor r.
  const auto projected = [&](const Tensor& t) {
    const Tensor p = t - n * average(t * n);
    return form.rms ? p : p - average(t);
  };

  Tensor by_dy, by_x, by_gamma;
  const auto add = [](Tensor& total, const Tensor& t) { total = total.defined() ? total + t : t; };
  if (const Tensor& v = g.grad(0); v.defined()) {
    const Tensor h = form.scale ? dy * gamma : dy;
    const Tensor through = r * projected(v);
    by_dy = form.scale ? through * gamma : through;
    if (form.scale) by_gamma = over_rows(dy * through);
    const Tensor b = average(h * n), c = average(v * n);
    Tensor product = average(v * h) - b * c;  // of v and dx / r, on average
    if (!form.rms) product = product - average(v) * average(h);
    by_x = square(r) * (projected(-(h * c + v * b)) - n * product);
  }
  if (form.scale && g.grad(1).defined()) {
    add(by_dy, g.grad(1) * n);
    add(by_x, r * projected(g.grad(1) * dy));
  }
  if (form.center && g.grad(form.scale ? 2 : 1).defined())
    add(by_dy, broadcast_to(g.grad(form.scale ? 2 : 1), x.shape()));
  Gradients out(g.inputs());
  out[0] = by_dy;
  out[1] = by_x;
  if (form.scale) out.back() = by_gamma;
  return out;
}

const Op& kLayerNormBackward = register_op({.name = "layer_norm_backward",
                                            .doc = "Gradients of layer_norm by x, scale and shift.",
                                            .arity = -1,
                                            .rule = parameter_gradients<2>,
                                            .gradient = second_order<Along::rows>,
                                            .cost = passes});

const Op& kBatchNormBackward = register_op({.name = "batch_norm_backward",
                                            .doc = "Gradients of batch_norm by x, scale and shift.",
                                            .arity = -1,
                                            .rule = parameter_gradients<2>,
                                            .gradient = second_order<Along::columns>,
                                            .cost = passes});

// The backward op with these statistics of the forward node (outputs 1, 2, …).
Gradients through(const Op& backward, G g, int statistics) {
  const Form form(g.attributes());
  std::vector<Tensor> inputs{g.grad(), g.input(0)};
  for (int i = 1; i <= statistics; ++i) inputs.push_back(g.output(i));
  if (form.scale) inputs.push_back(g.input(1));
  return apply_many(backward, inputs, g.attributes());
}

const Op& kLayerNorm = register_op(
    {.name = "layer_norm",
     .doc = "Rows with mean 0 and variance 1 (rms: mean square 1), scaled and shifted.",
     .arity = -1,
     .rule = [](const RuleContext& c) -> Specs {
       need_features(c, 0, 1);
       const TensorSpec row{c.dtype(), c.shape().erase(c.shape().rank() - 1)};
       if (Form(c.attributes).rms) return {c[0], row};
       return {c[0], row, row};
     },
     .gradient = [](G g) -> Gradients { return through(kLayerNormBackward, g, Form(g.attributes()).rms ? 1 : 2); },
     .cost = passes});

const Op& kBatchNorm = register_op({.name = "batch_norm",
                                    .doc = "Columns with mean 0 and variance 1 over all rows, scaled and shifted.",
                                    .arity = -1,
                                    .rule = [](const RuleContext& c) -> Specs {
                                      need_features(c, 0, 1);
                                      const TensorSpec column{c.dtype(), {c.shape()[-1]}};
                                      return {c[0], column, column};
                                    },
                                    .gradient = [](G g) -> Gradients { return through(kBatchNormBackward, g, 2); },
                                    .cost = passes});

[[maybe_unused]] const bool kNormalizeComposites =
    register_composites({{"rms_norm", "Rows with mean square 1, scaled."}});

std::vector<Tensor> normed(const Op& op, const Operand& x, const Tensor& gamma, const Tensor& beta, double epsilon,
                           bool rms) {
  const Tensor given = x.tensor();
  const DType wide = given.dtype() == DType::float64 ? DType::float64 : DType::float32;
  std::vector<Tensor> inputs{cast(Operand(given, x.where()), wide)};
  for (const Tensor* vector : {&gamma, &beta})
    if (vector->defined()) inputs.push_back(cast(*vector, wide));
  Attributes attributes{{"epsilon", epsilon}, {"scale", gamma.defined()}, {"center", beta.defined()}};
  if (rms) attributes.set("rms", true);
  std::vector<Tensor> out = apply_many(op, inputs, std::move(attributes), x.where());
  if (is_floating(given.dtype())) out[0] = cast(out[0], given.dtype());
  return out;
}

}  // namespace

Tensor layer_norm(const Operand& x, const Tensor& gamma, const Tensor& beta, double epsilon) {
  return normed(kLayerNorm, x, gamma, beta, epsilon, false)[0];
}
Tensor rms_norm(const Operand& x, const Tensor& gamma, double epsilon) {
  return normed(kLayerNorm, x, gamma, {}, epsilon, true)[0];
}
BatchNormed batch_norm(const Operand& x, const Tensor& gamma, const Tensor& beta, double epsilon) {
  const std::vector<Tensor> out = normed(kBatchNorm, x, gamma, beta, epsilon, false);
  return {out[0], stop_gradient(out[1]), stop_gradient(out[2])};
}

}  // namespace isochron
