// Attention and recurrent cells, against their definitions in plain ops.
#include <cmath>

#include "../op_cases.h"
#include "isochron/ops/ctc.h"

namespace isochron::testing {
namespace {

constexpr DType kReal = DType::float64;

// (B, T, H, D) -> (B, H, T, D)
Tensor by_head(const Tensor& x) { return transpose(x, {0, 2, 1, 3}); }

Tensor plain_attention(const Tensor& q, const Tensor& k, const Tensor& v, const Tensor& seen) {
  Tensor scores = matmul(by_head(q), by_head(k), {.transpose_b = true}) / std::sqrt(static_cast<double>(q.dim(3)));
  if (seen.defined()) scores = where(seen, scores, -1e300);
  return by_head(matmul(softmax(scores), by_head(v)));
}

Tensor causal(int64_t queries, int64_t keys) { return tril(ones({queries, keys})) > 0; }

// Key j of example b is seen unless b + j is a multiple of three.
Tensor some_keys(int64_t batch, int64_t keys) {
  std::vector<bool> seen;
  for (int64_t i = 0; i < batch * keys; ++i) seen.push_back((i / keys + i % keys) % 3 != 0);
  return reshape(tensor(seen, {batch * keys}), {batch, 1, 1, keys});
}

Known attention_known(int64_t queries, int64_t keys, AttentionOptions options) {
  const Tensor q = points({2, queries, 3, 5}), k = points({2, keys, 3, 5}, -2, 2, 0.77),
               v = points({2, keys, 3, 4}, -1, 1, 0.05);
  Tensor seen = options.mask;
  if (options.causal) seen = seen.defined() ? logical_and(seen, causal(queries, keys)) : causal(queries, keys);
  return {[=] { return attention(q, k, v, options); }, plain_attention(q, k, v, seen)};
}

Slope attention_slope(int64_t queries, int64_t keys, AttentionOptions options) {
  return {{points({2, queries, 1, 2}), points({2, keys, 1, 2}, -2, 2, 0.77), points({2, keys, 1, 3})},
          [options](const Tensors& t) { return attention(t[0], t[1], t[2], options); },
          false};
}

Tensor rows_of(const Tensor& x, int64_t t) { return reshape(slice(x, {t}, {t + 1}), {x.dim(1), x.dim(2)}); }

Tensor plain_lstm(const Tensor& z, const Tensor& u, Tensor h, Tensor c, const Tensor& mask) {
  std::vector<Tensor> outputs;
  for (int64_t t = 0; t < z.dim(0); ++t) {
    const std::vector<Tensor> s = split(rows_of(z, t) + matmul(h, u), 4, -1);
    const Tensor next_c = sigmoid(s[1]) * c + sigmoid(s[0]) * tanh(s[2]);
    const Tensor next_h = sigmoid(s[3]) * tanh(next_c);
    const Tensor seen = mask.defined() ? transpose(slice(mask, {t}, {t + 1})) : ones({h.dim(0), 1}) > 0;
    h = where(seen, next_h, h);
    c = where(seen, next_c, c);
    outputs.push_back(h);
  }
  return stack(outputs);
}

Tensor plain_gru(const Tensor& z, const Tensor& u, const Tensor& bias, Tensor h) {
  std::vector<Tensor> outputs;
  for (int64_t t = 0; t < z.dim(0); ++t) {
    const std::vector<Tensor> in = split(rows_of(z, t), 3, -1), back = split(matmul(h, u) + bias, 3, -1);
    const Tensor update = sigmoid(in[0] + back[0]), reset = sigmoid(in[1] + back[1]);
    h = update * h + (1 - update) * tanh(in[2] + reset * back[2]);
    outputs.push_back(h);
  }
  return stack(outputs);
}

Tensor plain_rnn(const Tensor& z, const Tensor& u, Tensor h) {
  std::vector<Tensor> outputs;
  for (int64_t t = 0; t < z.dim(0); ++t) {
    h = tanh(rows_of(z, t) + matmul(h, u));
    outputs.push_back(h);
  }
  return stack(outputs);
}

// du of one step is h0^T dz, whatever the cell: dz is output 0 of the backward op, du output 1.
Known one_step_weights(const char* op, int64_t gates) {
  const auto gradients = [=] {
    const Tensor state = points({2, 3}), u = points({3, gates * 3}), z = points({1, 2, gates * 3});
    Tensors in{points({1, 2, 3})};
    if (gates == 4) in.push_back(zeros({1, 2, 3}, kReal));
    in.insert(in.end(), {z, u, state});
    if (gates == 4) in.push_back(state);
    if (gates == 3) in.push_back(points({9}));
    in.push_back(points({1, 2, 3}, -0.9, 0.9));
    if (gates == 4) in.push_back(points({1, 2, 3}));
    if (gates > 1) in.push_back(points({1, 2, gates * 3}, 0.1, 0.9));
    if (gates == 3) in.push_back(points({1, 2, 3}));
    return apply_many(op_named(op), in, {{"masked", false}});
  };
  const Tensor sums = rows_of(gradients()[gates == 3 ? 3 : 0], 0);
  return {[=] { return gradients()[1]; }, matmul(points({2, 3}), sums, {.transpose_a = true})};
}

Refusal wrong_weights(const char* op, int64_t gates) {
  return {[=] {
            const Tensor x = zeros({1, 2, 3});
            return apply(op_named(op), Tensors(10, x), {{"masked", false}});
          },
          "ShapeError", fmt::format("needs z (steps, batch, {0} units) and weights (units, {0} units)", gates)};
}

// -log of the sum over all ways to say the labels, path by path: repeats fold, then blanks go.
Tensor all_paths(const Tensor& log_p, const std::vector<std::vector<int64_t>>& labels, int64_t blank) {
  const int64_t steps = log_p.dim(0), batch = log_p.dim(1), classes = log_p.dim(2);
  const std::vector<double> p = log_p.to_vector<double>();
  std::vector<double> losses;
  for (int64_t n = 0; n < batch; ++n) {
    double total = 0;
    for (int64_t path = 0, paths = std::llround(std::pow(classes, steps)); path < paths; ++path) {
      std::vector<int64_t> said;
      double log_path = 0;
      int64_t before = -1;
      for (int64_t t = 0, rest = path; t < steps; ++t, rest /= classes) {
        const int64_t now = rest % classes;
        log_path += p[static_cast<size_t>((t * batch + n) * classes + now)];
        if (now != before && now != blank) said.push_back(now);
        before = now;
      }
      if (said == labels[static_cast<size_t>(n)]) total += std::exp(log_path);
    }
    losses.push_back(-std::log(total));
  }
  return tensor(losses);
}

OpCase ctc_case(const char* op) {
  const Tensor scores = points({5, 3, 3}), labels = tensor({{1, 2}, {2, 2}, {1, 9}}), steps = tensor({5, 5, 5}),
               counts = tensor({2, 2, 1});
  const Tensor log_p = log_softmax(scores).eval(), other = tensor({{0, 1}, {1, 1}, {1, 9}});
  return {.op = op,
          .known = {{[=] { return ctc(log_p, labels, steps, counts); }, all_paths(log_p, {{1, 2}, {2, 2}, {1}}, 0)},
                    {[=] {
                       return ctc(log_p, other, steps, tensor({2, 2, 0}), 2);
                     },
                     all_paths(log_p, {{0, 1}, {1, 1}, {}}, 2)},
                    // Two labels alike need three steps.
                    {[=] {
                       return ctc(log_p, labels, tensor({0, 2, 0}), tensor({0, 2, 1}));
                     },
                     tensor({0.0, double{INFINITY}, double{INFINITY}}, kReal)}},
          // Probabilities that do not add up to 1 as well.
          .slopes = {{{points({5, 3, 3}, -2, 0)},
                      [=](const Tensors& t) {
                        return ctc(t[0], labels, tensor({5, 4, 3}), counts);
                      },
                      false}},
          .refusals = {{[=] {
                          return ctc(zeros({5, 3}), labels, steps, counts);
                        },
                        "ShapeError", "must be (steps, batch, classes), got (5, 3)"},
                       {[=] {
                          return ctc(log_p, tensor({1, 2, 3}), steps, counts);
                        },
                        "ShapeError", "targets must be (3, labels)"},
                       {[=] { return ctc(log_p, labels, tensor({5}), counts); }, "ShapeError",
                        "one length for each of 3 examples, got (1,)"},
                       {[=] {
                          return ctc(log_p, zeros({3, 2}), steps, counts);
                        },
                        "DTypeError", "must be integers, got float32"},
                       {[=] { return ctc(log_p, labels, steps, counts, 3); }, "ValueError",
                        "blank must be one of 3 classes, got 3"}}};
}

}  // namespace

std::vector<OpCase> sequence_cases() {
  const Tensor h0 = points({2, 3}), c0 = points({2, 3}, -1, 1, 0.2);
  const Tensor mask = reshape(tensor({true, true, false, true, true, false, true, true}), {4, 2});
  const Tensor turned = points({2, 4, 3, 6});
  return {
      {.op = "attention",
       .known = {attention_known(7, 9, {}),
                 attention_known(7, 7, {.causal = true}),
                 attention_known(70, 300, {.mask = some_keys(2, 300)}),
                 attention_known(150, 150, {.causal = true}),
                 attention_known(5, 6, {.causal = true, .mask = some_keys(2, 6)}),
                 // Nothing to see: the average of all values.
                 {[] {
                    return attention(points({1, 1, 1, 2}), points({1, 2, 1, 2}),
                                     reshape(tensor({1.0, 3.0}, kReal), {1, 2, 1, 1}),
                                     {.mask = reshape(tensor({false, false}), {1, 1, 1, 2})});
                  },
                  reshape(tensor({2.0}, kReal), {1, 1, 1, 1})}},
       .slopes = {attention_slope(3, 4, {}), attention_slope(3, 3, {.causal = true}), attention_slope(66, 2, {}),
                  attention_slope(2, 4, {.mask = some_keys(2, 4)})},
       .refusals = {{[] {
                       return attention(zeros({1, 2, 1, 4}), zeros({1, 2, 1, 3}), zeros({1, 2, 1, 3}));
                     },
                     "ShapeError", "query (1, 2, 1, 4), key (1, 2, 1, 3) and value (1, 2, 1, 3) must agree"},
                    {[] {
                       return attention(zeros({2, 4}), zeros({2, 4}), zeros({2, 4}));
                     },
                     "ShapeError", "needs (batch, steps, heads, features)"},
                    {[] {
                       return attention(zeros({1, 2, 1, 4}), zeros({1, 2, 1, 4}), zeros({1, 2, 1, 3}),
                                        {.mask = zeros({1, 1, 2, 3}, DType::boolean)});
                     },
                     "ShapeError", "a mask for (1, 1, 2, 2) scores"}}},
      {.op = "attention_backward",
       .known = {{[] {
                    // One key: its probability is 1 whatever the scores, so all of dy goes to the value.
                    const Tensor q = points({1, 2, 1, 2}), k = points({1, 1, 1, 2}), v = points({1, 1, 1, 2});
                    const Tensor dy = reshape(tensor({1.0, 2.0, 3.0, 4.0}, kReal), {1, 2, 1, 2});
                    return apply_many(
                        op_named("attention_backward"),
                        {dy, q, k, v, broadcast_to(v, {1, 2, 1, 2}), transpose(sum(q * k, {-1}), {0, 2, 1})},
                        {{"causal", false}, {"scale", 1.0}})[2];
                  },
                  reshape(tensor({4.0, 6.0}, kReal), {1, 1, 1, 2})}},
       .refusals = {{[] {
                       const Tensor x = zeros({1, 2, 1, 2});
                       return apply(op_named("attention_backward"), {x, x, x, zeros({1, 3, 1, 2}), x, x},
                                    {{"causal", false}, {"scale", 1.0}});
                     },
                     "ShapeError", "must agree"}}},
      {.op = "lstm",
       .known = {{[=] {
                    return lstm(points({4, 2, 12}), points({3, 12}), h0, c0).h;
                  },
                  plain_lstm(points({4, 2, 12}), points({3, 12}), h0, c0, {})},
                 {[=] {
                    return lstm(points({4, 2, 12}), points({3, 12}), h0, c0, mask).h;
                  },
                  plain_lstm(points({4, 2, 12}), points({3, 12}), h0, c0, mask)}},
       .slopes = {{{points({3, 2, 8}), points({2, 8}), points({2, 2}), points({2, 2}, -1, 1)},
                   [](const Tensors& t) {
                     const LstmStates s = lstm(t[0], t[1], t[2], t[3]);
                     return s.h + square(s.c);
                   },
                   false},
                  {{points({4, 2, 8}), points({2, 8}), points({2, 2}), points({2, 2}, -1, 1)},
                   [mask](const Tensors& t) { return lstm(t[0], t[1], t[2], t[3], mask).h; },
                   false}},
       .refusals = {wrong_weights("lstm", 4),
                    {[] {
                       return lstm(zeros({3, 2, 4}), zeros({1, 4}), zeros({2, 2}), zeros({2, 1})).h;
                     },
                     "ShapeError", "the first state must be (2, 1), got (2, 2)"},
                    {[] {
                       return lstm(zeros({0, 2, 4}), zeros({1, 4}), zeros({2, 1}), zeros({2, 1})).h;
                     },
                     "ShapeError", "at least one step"}}},
      {.op = "lstm_backward",
       .known = {one_step_weights("lstm_backward", 4)},
       .refusals = {wrong_weights("lstm_backward", 4)}},
      {.op = "gru",
       .known = {{[=] {
                    return gru(points({4, 2, 9}), points({3, 9}), points({9}), h0);
                  },
                  plain_gru(points({4, 2, 9}), points({3, 9}), points({9}), h0)}},
       .slopes = {{{points({3, 2, 6}), points({2, 6}), points({6}), points({2, 2})},
                   [](const Tensors& t) { return gru(t[0], t[1], t[2], t[3]); },
                   false},
                  {{points({4, 2, 6}), points({2, 6}), points({6}), points({2, 2})},
                   [mask](const Tensors& t) { return gru(t[0], t[1], t[2], t[3], mask); },
                   false}},
       .refusals = {wrong_weights("gru", 3),
                    {[] {
                       return gru(zeros({3, 2, 3}), zeros({1, 3}), zeros({2}), zeros({2, 1}));
                     },
                     "ShapeError", "the recurrent bias must be (3,), got (2,)"}}},
      {.op = "gru_backward",
       .known = {one_step_weights("gru_backward", 3)},
       .refusals = {wrong_weights("gru_backward", 3)}},
      {.op = "simple_rnn",
       .known = {{[=] {
                    return simple_rnn(points({4, 2, 3}), points({3, 3}), h0);
                  },
                  plain_rnn(points({4, 2, 3}), points({3, 3}), h0)}},
       .slopes = {{{points({3, 2, 2}), points({2, 2}), points({2, 2})},
                   [](const Tensors& t) { return simple_rnn(t[0], t[1], t[2]); },
                   false},
                  {{points({3, 2, 2}), points({2, 2}), points({2, 2})},
                   [](const Tensors& t) { return simple_rnn(t[0], t[1], t[2], {}, RnnActivation::relu); },
                   false}},
       .refusals = {wrong_weights("simple_rnn", 1),
                    {[] {
                       return simple_rnn(zeros({1, 2, 2}), zeros({2, 2}), zeros({2, 2}), zeros({2, 1}) > 0);
                     },
                     "ShapeError", "a mask must be bool(1, 2), got bool(2, 1)"}}},
      {.op = "simple_rnn_backward",
       .known = {one_step_weights("simple_rnn_backward", 1)},
       .refusals = {wrong_weights("simple_rnn_backward", 1)}},
      {.op = "rotary_positions",
       // Position 0 is left alone; turning keeps lengths; products depend on distances alone.
       .known = {{[=] {
                    return slice(rotary_positions(turned), {0, 0}, {2, 1});
                  },
                  slice(turned, {0, 0}, {2, 1})},
                 {[=] { return sum(square(rotary_positions(turned)), {-1}); }, sum(square(turned), {-1})},
                 {[=] { return sum(rotary_positions(turned, 100, 3) * rotary_positions(turned * 2, 100, 5), {-1}); },
                  sum(rotary_positions(turned, 100, 13) * rotary_positions(turned * 2, 100, 15), {-1})}},
       .slopes = {{{points({2, 1, 4})}, [](const Tensors& t) { return rotary_positions(t[0]); }}},
       .refusals = {{[] {
                       return rotary_positions(zeros({2, 1, 3}));
                     },
                     "ShapeError", "an even number of features"}}},
      {.op = "sinusoidal_positions",
       .known = {{[] { return sinusoidal_positions(2, 4); },
                  tensor({{0.f, 1.f, 0.f, 1.f}, {0.8414709848f, 0.5403023059f, 0.009999833334f, 0.9999500004f}})}},
       .refusals = {{[] { return sinusoidal_positions(0, 4); }, "ValueError", "needs a length"}}},
      ctc_case("ctc"),
  };
}

}  // namespace isochron::testing
