#include "../op_cases.h"

namespace isochron::testing {
namespace {

// The definition, in plain ops.
Tensor by_rows(const Tensor& x, const Tensor& gamma, const Tensor& beta) {
  const Tensor centred = x - mean(x, {-1}, true);
  return centred / sqrt(mean(square(centred), {-1}, true) + 1e-3) * gamma + beta;
}
Tensor by_columns(const Tensor& x, const Tensor& gamma, const Tensor& beta) {
  const Tensor centred = x - mean(x, {0}, true);
  return centred / sqrt(mean(square(centred), {0}, true) + 1e-3) * gamma + beta;
}

Tensor backward(const char* op, const Tensors& inputs, const char* which) {
  const std::vector<Tensor> out =
      apply_many(op_named(op), inputs, {{"epsilon", 1e-3}, {"scale", true}, {"center", true}});
  return which == std::string("x") ? out[0] : which == std::string("gamma") ? out[1] : out[2];
}

// Of dy, x and gamma; the statistics are those of x.
Slope slope_of_backward(const char* op, bool rows, const char* which) {
  return {{points({4, 3}, -1, 1, 0.11), points({4, 3}), points({3}, 0.5, 2)}, [=](const Tensors& t) {
            if (rows) return backward(op, {t[0], t[1], rsqrt(var(t[1], {1}) + 1e-3), mean(t[1], {1}), t[2]}, which);
            return backward(op, {t[0], t[1], mean(t[1], {0}), var(t[1], {0}), t[2]}, which);
          }};
}

}  // namespace

std::vector<OpCase> normalize_cases() {
  const Tensor x = points({5, 19}), gamma = points({19}, 0.5, 2), beta = points({19}, -1, 1);
  const Tensor dy = points({5, 19}, -1, 1, 0.11);
  const Tensor row_mean = mean(x, {1}), column_mean = mean(x, {0}), column_variance = var(x, {0});
  const Tensor row_rstd = rsqrt(var(x, {1}) + 1e-3),
               n = by_rows(x, ones({19}, DType::float64), zeros({19}, DType::float64));
  return {
      {.op = "layer_norm",
       .known = {{[=] { return layer_norm(x, gamma, beta, 1e-3); }, by_rows(x, gamma, beta)},
                 {[=] { return layer_norm(x, {}, {}, 1e-3); }, n}},
       .slopes = {{{points({3, 5}), points({5}, 0.5, 2), points({5})},
                   [](const Tensors& t) { return layer_norm(t[0], t[1], t[2], 1e-3); }},
                  {{points({2, 2, 3}), points({3})},
                   [](const Tensors& t) { return layer_norm(t[0], {}, t[1], 1e-3); }}},
       .refusals = {{[] {
                       return layer_norm(zeros({2, 3}), zeros({2}), {}, 1e-3);
                     },
                     "ShapeError", "x float32(2, 3) needs a scale and shift of float32(3,), got float32(2,)"},
                    {[] { return layer_norm(zeros({}), {}, {}, 1e-3); }, "ShapeError", "needs at least one axis"}}},
      {.op = "layer_norm_backward",
       .known = {{[=] {
                    return backward("layer_norm_backward", {dy, x, row_rstd, row_mean, gamma}, "gamma");
                  },
                  sum(dy * n, {0})},
                 {[=] {
                    return backward("layer_norm_backward", {dy, x, row_rstd, row_mean, gamma}, "beta");
                  },
                  sum(dy, {0})}},
       .slopes = {slope_of_backward("layer_norm_backward", true, "x"),
                  slope_of_backward("layer_norm_backward", true, "gamma"),
                  slope_of_backward("layer_norm_backward", true, "beta")},
       .refusals = {{[=] {
                       return backward("layer_norm_backward", {gamma, x, row_rstd, row_mean, gamma}, "x");
                     },
                     "ShapeError", "needs a gradient like x"}}},
      {.op = "rms_norm",
       .known = {{[=] { return rms_norm(x, gamma, 1e-3); }, x / sqrt(mean(square(x), {1}, true) + 1e-3) * gamma}},
       .slopes = {{{points({3, 5}), points({5}, 0.5, 2)}, [](const Tensors& t) { return rms_norm(t[0], t[1], 1e-3); }}},
       .refusals = {{[] {
                       return rms_norm(zeros({2, 3}), zeros({4}), 1e-3);
                     },
                     "ShapeError", "[layer_norm] x"}}},
      {.op = "batch_norm",
       .known = {{[=] { return batch_norm(x, gamma, beta, 1e-3).y; }, by_columns(x, gamma, beta)},
                 {[=] { return batch_norm(x, {}, {}, 1e-3).mean; }, column_mean},
                 {[=] { return batch_norm(x, {}, beta, 1e-3).variance; }, column_variance}},
       .slopes = {{{points({4, 3}), points({3}, 0.5, 2), points({3})},
                   [](const Tensors& t) { return batch_norm(t[0], t[1], t[2], 1e-3).y; }}},
       .refusals = {{[] {
                       return batch_norm(zeros({2, 3}), zeros({3}, DType::float64), zeros({2}), 1e-3).y;
                     },
                     "ShapeError", "needs a scale and shift of float32(3,), got float32(2,)"}}},
      {.op = "batch_norm_backward",
       .known = {{[=] {
                    return backward("batch_norm_backward", {dy, x, column_mean, column_variance, gamma}, "beta");
                  },
                  sum(dy, {0})},
                 {[=] {
                    return backward("batch_norm_backward", {dy, x, column_mean, column_variance, gamma}, "gamma");
                  },
                  sum(dy * (x - column_mean) * rsqrt(column_variance + 1e-3), {0})}},
       .slopes = {slope_of_backward("batch_norm_backward", false, "x"),
                  slope_of_backward("batch_norm_backward", false, "gamma"),
                  slope_of_backward("batch_norm_backward", false, "beta")},
       .refusals = {{[=] {
                       return backward("batch_norm_backward", {x, x, gamma, gamma, row_mean}, "x");
                     },
                     "ShapeError", "needs a scale and shift"}}},
  };
}

}  // namespace isochron::testing
