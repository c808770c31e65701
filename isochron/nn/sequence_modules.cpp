#include "isochron/nn/sequence_modules.h"

#include <cmath>

#include "isochron/base/names.h"
#include "isochron/nn/dropout.h"
#include "isochron/nn/initializers.h"
#include "isochron/ops/create.h"
#include "isochron/ops/elementwise.h"
#include "isochron/ops/matmul.h"
#include "isochron/ops/recurrent.h"
#include "isochron/ops/shape_ops.h"

namespace isochron::nn {
namespace {

bool is_relu(const char* module, const std::string& nonlinearity) {
  if (nonlinearity != "tanh" && nonlinearity != "relu")
    fail<ValueError>(module, "unknown nonlinearity \"{}\"{}", nonlinearity,
                     did_you_mean(nonlinearity, {"tanh", "relu"}));
  return nonlinearity == "relu";
}

Initializer uniform_by(int64_t hidden) {
  const double bound = 1 / std::sqrt(static_cast<double>(hidden));
  return initializers::random_uniform({.minval = -bound, .maxval = bound});
}

// PyTorch's gates of the GRU stand in the order r, z, n; the op's in the order z, r, n.
Tensor reordered(const Tensor& w) {
  const std::vector<Tensor> parts = split(w, 3, 0);
  return concat({parts[1], parts[0], parts[2]}, 0);
}

void check_dtype(const char* module, const Tensor& x, DType dtype) {
  if (x.dtype() != dtype) fail<DTypeError>(module, "takes {}, got {}; convert with x.to(…)", dtype, x.dtype());
}

}  // namespace

RecurrentDirection::States RecurrentDirection::run(const Tensor& x, const Tensor& h0, const Tensor& c0) const {
  if (gates == 3) {
    Tensor z = matmul(x, reordered(w_ih), {.transpose_b = true});
    if (b_ih.defined()) z = z + reordered(b_ih);
    const Tensor bias = b_hh.defined() ? reordered(b_hh) : zeros({w_hh.shape()[0]}, w_hh.dtype());
    return {gru(z, transpose(reordered(w_hh)), bias, h0), {}};
  }
  Tensor z = matmul(x, w_ih, {.transpose_b = true});
  if (b_ih.defined()) z = z + (b_ih + b_hh);
  if (gates == 1) return {simple_rnn(z, transpose(w_hh), h0, {}, relu ? RnnActivation::relu : RnnActivation::tanh), {}};
  const LstmStates s = lstm(z, transpose(w_hh), h0, c0);
  return {s.h, s.c};
}

RecurrentModule::RecurrentModule(const char* kind, int gates, int64_t input_size, int64_t hidden_size,
                                 RecurrentOptions options)
    : kind_(kind), gates_(gates), input_(input_size), hidden_(hidden_size), options_(std::move(options)) {
  if (input_size < 1 || hidden_size < 1 || options_.num_layers < 1)
    fail<ValueError>(kind, "sizes and layers must be positive, got {}, {} and {}", input_size, hidden_size,
                     options_.num_layers);
  if (!(options_.dropout >= 0 && options_.dropout <= 1))
    fail<ValueError>(kind, "dropout must be in [0, 1], got {}", options_.dropout);
  const bool relu = is_relu(kind, options_.nonlinearity);
  const Initializer uniform = uniform_by(hidden_size);
  const DType dtype = options_.dtype;
  const int ways = options_.bidirectional ? 2 : 1;
  for (int64_t layer = 0; layer < options_.num_layers; ++layer)
    for (int way = 0; way < ways; ++way) {
      const std::string suffix = fmt::format("_l{}{}", layer, way ? "_reverse" : "");
      const int64_t rows = gates * hidden_size;
      RecurrentDirection d{.gates = gates, .relu = relu};
      d.w_ih =
          register_parameter("weight_ih" + suffix, uniform({rows, layer ? ways * hidden_size : input_size}, dtype));
      d.w_hh = register_parameter("weight_hh" + suffix, uniform({rows, hidden_size}, dtype));
      if (options_.bias) {
        d.b_ih = register_parameter("bias_ih" + suffix, uniform({rows}, dtype));
        d.b_hh = register_parameter("bias_hh" + suffix, uniform({rows}, dtype));
      }
      directions_.push_back(d);
    }
  describe(fmt::format("{}, {}, num_layers={}", input_size, hidden_size, options_.num_layers));
}

RecurrentOutput RecurrentModule::run(const Tensor& x, const Tensor& h0, const Tensor& c0) {
  if ((x.rank() != 3 && x.rank() != 2) || x.shape()[-1] != input_)
    fail<ShapeError>(kind_, "takes {} or (L, …) with {} features, got {}",
                     options_.batch_first ? "(N, L, …)" : "(L, N, …)", input_, x.shape());
  check_dtype(kind_, x, directions_[0].w_hh.dtype());
  const bool single = x.rank() == 2;
  const size_t ways = options_.bidirectional ? 2 : 1;
  Tensor input = single ? expand_dims(x, 1) : options_.batch_first ? transpose(x, {1, 0, 2}) : x;
  const int64_t batch = input.shape()[1], last = input.shape()[0] - 1;
  if (last < 0) fail<ShapeError>(kind_, "needs at least one step, got {}", x.shape());
  Shape states{static_cast<int64_t>(directions_.size()), batch, hidden_};
  if (single) states = states.erase(1);
  const auto state_of = [&](const Tensor& given, size_t i) {
    if (!given.defined()) return zeros({batch, hidden_}, x.dtype());
    if (given.shape() != states) fail<ShapeError>(kind_, "first states must be {}, got {}", states, given.shape());
    const auto at = static_cast<int64_t>(i);
    return reshape(slice(given, {at}, {at + 1}), {batch, hidden_});
  };
  const auto final_of = [&](const Tensor& all) { return slice(all, {last}, {last + 1}); };
  std::vector<Tensor> h, c;
  for (size_t i = 0; i < directions_.size(); i += ways) {
    if (i > 0 && options_.dropout > 0)
      input = isochron::Dropout(options_.dropout).call(input, {.training = is_training()});
    std::vector<Tensor> outputs;
    for (size_t way = 0; way < ways; ++way) {
      const bool backwards = way == 1;
      const auto [all, cells] = directions_[i + way].run(backwards ? flip(input, {0}) : input, state_of(h0, i + way),
                                                         gates_ == 4 ? state_of(c0, i + way) : Tensor());
      h.push_back(final_of(all));
      if (gates_ == 4) c.push_back(final_of(cells));
      outputs.push_back(backwards ? flip(all, {0}) : all);
    }
    input = ways == 2 ? concat(outputs, -1) : outputs[0];
  }
  const auto together = [&](const std::vector<Tensor>& parts) {
    const Tensor all = concat(parts, 0);
    return single ? squeeze(all, {1}) : all;
  };
  return {single                 ? squeeze(input, {1})
          : options_.batch_first ? transpose(input, {1, 0, 2})
                                 : input,
          together(h), c.empty() ? Tensor() : together(c)};
}

RecurrentCell::RecurrentCell(const char* kind, int gates, int64_t input_size, int64_t hidden_size,
                             const CellOptions& options)
    : kind_(kind) {
  if (input_size < 1 || hidden_size < 1)
    fail<ValueError>(kind, "sizes must be positive, got {} and {}", input_size, hidden_size);
  const Initializer uniform = uniform_by(hidden_size);
  const int64_t rows = gates * hidden_size;
  weight_ih = register_parameter("weight_ih", uniform({rows, input_size}, options.dtype));
  weight_hh = register_parameter("weight_hh", uniform({rows, hidden_size}, options.dtype));
  if (options.bias) {
    bias_ih = register_parameter("bias_ih", uniform({rows}, options.dtype));
    bias_hh = register_parameter("bias_hh", uniform({rows}, options.dtype));
  }
  direction_ = {gates, is_relu(kind, options.nonlinearity), weight_ih, weight_hh, bias_ih, bias_hh};
  describe(fmt::format("{}, {}", input_size, hidden_size));
}

RecurrentDirection::States RecurrentCell::step(const Tensor& x, const Tensor& h, const Tensor& c) const {
  const int64_t features = weight_ih.shape()[1], hidden = weight_hh.shape()[1];
  if ((x.rank() != 1 && x.rank() != 2) || x.shape()[-1] != features)
    fail<ShapeError>(kind_, "takes (N, {0}) or ({0},), got {1}", features, x.shape());
  check_dtype(kind_, x, weight_ih.dtype());
  const int64_t batch = x.rank() == 2 ? x.shape()[0] : 1;
  const Shape states = x.shape().with(-1, hidden);
  const auto state_of = [&](const Tensor& given) {
    if (!given.defined()) return zeros({batch, hidden}, x.dtype());
    if (given.shape() != states) fail<ShapeError>(kind_, "states must be {}, got {}", states, given.shape());
    return reshape(given, {batch, hidden});
  };
  const auto [all_h, all_c] =
      direction_.run(reshape(x, {1, batch, features}), state_of(h), direction_.gates == 4 ? state_of(c) : Tensor());
  const auto only = [&](const Tensor& all) { return all.defined() ? reshape(all, states.to_vector()) : Tensor(); };
  return {only(all_h), only(all_c)};
}

}  // namespace isochron::nn
