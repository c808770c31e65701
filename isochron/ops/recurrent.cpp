#include "isochron/ops/recurrent.h"

#include "isochron/ops/create.h"
#include "isochron/ops/elementwise.h"
#include "isochron/ops/op.h"

namespace isochron {
namespace {

using G = const GradientContext&;

constexpr const char* kOnePassCell =
    "it is a first derivative computed in one loop; unroll the cell with plain ops for more";

// Forward: z, recurrent, h0, then c0 (lstm) or the bias (gru), then a mask when there is one.
// Backward: dh, then of the lstm dc, then the forward op's inputs, then its outputs. Of z it needs the shape alone; an
// output takes its place, so that z need not be kept.
struct Cell {
  const char* name;
  int64_t gates;
  size_t inputs;   // without the mask
  size_t outputs;  // lstm: h, c, gates; gru: h, gates, recurrent part of the candidate; rnn: h
  int like_z;      // the output shaped like z
};
constexpr Cell kLstmCell{"lstm", 4, 4, 3, 2}, kGruCell{"gru", 3, 4, 3, 1}, kRnnCell{"simple_rnn", 1, 3, 1, 0};

struct Extents {
  int64_t steps, batch, units;
};

Extents need_cell(const RuleContext& c, const Cell& cell, size_t first) {
  const auto shape = [&](size_t i) -> const Shape& { return c.shape(first + i); };
  const Shape &z = shape(0), &u = shape(1);
  if (z.rank() != 3 || u.rank() != 2 || z[2] != u[1] || u[1] != cell.gates * u[0])
    fail<ShapeError>(c.op, "needs z (steps, batch, {0} units) and weights (units, {0} units), got {1} and {2}",
                     cell.gates, z, u);
  if (z[0] == 0 || u[0] == 0) fail<ShapeError>(c.op, "needs at least one step and one unit, got {} and {}", z, u);
  const Shape state{z[1], u[0]};
  if (shape(2) != state) fail<ShapeError>(c.op, "the first state must be {}, got {}", state, shape(2));
  if (cell.gates == 4 && shape(3) != state)
    fail<ShapeError>(c.op, "the first cell state must be {}, got {}", state, shape(3));
  if (cell.gates == 3 && shape(3) != Shape{u[1]})
    fail<ShapeError>(c.op, "the recurrent bias must be {}, got {}", Shape{u[1]}, shape(3));
  const DType dtype = c.dtype(first);
  if (dtype != DType::float32 && dtype != DType::float64)
    fail<DTypeError>(c.op, "needs float32 or float64, got {}", dtype);
  for (size_t i = 1; i < cell.inputs; ++i)
    if (c.dtype(first + i) != dtype)
      fail<DTypeError>(c.op, "needs equal dtypes, got {} and {}", dtype, c.dtype(first + i));
  if (c.attributes.get<bool>("masked")) {
    const TensorSpec& mask = c[first + cell.inputs];
    if (mask.dtype != DType::boolean || mask.shape != Shape{z[0], z[1]})
      fail<ShapeError>(c.op, "a mask must be {}, got {}", to_string(TensorSpec{DType::boolean, {z[0], z[1]}}),
                       to_string(mask));
  }
  return {z[0], z[1], u[0]};
}

template <const Cell& cell>
Specs states(const RuleContext& c) {
  const Extents e = need_cell(c, cell, 0);
  const TensorSpec h{c.dtype(), {e.steps, e.batch, e.units}};
  if (cell.gates == 1) return {h};
  const TensorSpec gates = c[0];
  if (cell.gates == 4) return {h, h, gates};
  return {h, gates, h};
}

// dz, du, dh0, then dc0 (lstm) or the gradients of the recurrent sums and of the bias (gru).
template <const Cell& cell>
Specs state_gradients(const RuleContext& c) {
  const size_t first = cell.gates == 4 ? 2 : 1;
  need_cell(c, cell, first);
  Specs out{c[first], c[first + 1], c[first + 2]};
  if (cell.gates == 4) out.push_back(c[first + 3]);
  if (cell.gates == 3) {
    out.push_back(c[first]);
    out.push_back(c[first + 3]);
  }
  return out;
}

template <int products>
Cost loop_cost(const RuleContext& c, std::span<const TensorSpec> outputs) {
  const TensorSpec& z = products > 1 ? outputs[0] : c[0];
  const int64_t units = products > 1 ? outputs[1].shape[0] : c.shape(1)[0];
  Cost cost{static_cast<double>(z.shape.elements()) * static_cast<double>(2 * products * units + 20), 0};
  for (const TensorSpec& input : c.inputs) cost.bytes += static_cast<double>(input.bytes());
  for (const TensorSpec& output : outputs) cost.bytes += static_cast<double>(output.bytes());
  return cost;
}

std::vector<Tensor> backward_inputs(G g, const Cell& cell) {
  std::vector<Tensor> in;
  const auto gradient = [&](size_t i) {
    return g.grad(i).defined() ? g.grad(i) : zeros_like(g.output(static_cast<int>(i)));
  };
  in.push_back(gradient(0));
  if (cell.gates == 4) in.push_back(gradient(1));
  in.push_back(g.output(cell.like_z));
  for (size_t i = 1; i < g.inputs(); ++i) in.push_back(g.input(i));
  for (size_t i = 0; i < cell.outputs; ++i) in.push_back(g.output(static_cast<int>(i)));
  return in;
}

const Op& kLstmBackward = register_op({.name = "lstm_backward",
                                       .doc = "Gradients of lstm by its sums, weights and first states.",
                                       .arity = -1,
                                       .rule = state_gradients<kLstmCell>,
                                       .no_gradient = kOnePassCell,
                                       .cost = loop_cost<2>});
const Op& kGruBackward = register_op({.name = "gru_backward",
                                      .doc = "Gradients of gru by its sums, weights, bias and first state.",
                                      .arity = -1,
                                      .rule = state_gradients<kGruCell>,
                                      .no_gradient = kOnePassCell,
                                      .cost = loop_cost<2>});
const Op& kRnnBackward = register_op({.name = "simple_rnn_backward",
                                      .doc = "Gradients of simple_rnn by its sums, weights and first state.",
                                      .arity = -1,
                                      .rule = state_gradients<kRnnCell>,
                                      .no_gradient = kOnePassCell,
                                      .cost = loop_cost<2>});

const Op& kLstm = register_op({.name = "lstm",
                               .doc = "A long short-term memory over all steps of a sequence.",
                               .arity = -1,
                               .rule = states<kLstmCell>,
                               .gradient = [](G g) -> Gradients {
                                 Gradients d = apply_many(kLstmBackward, backward_inputs(g, kLstmCell), g.attributes());
                                 d.resize(g.inputs());
                                 return d;
                               },
                               .cost = loop_cost<1>});
const Op& kGru = register_op({.name = "gru",
                              .doc = "A gated recurrent unit over all steps of a sequence.",
                              .arity = -1,
                              .rule = states<kGruCell>,
                              .gradient = [](G g) -> Gradients {
                                const Gradients d =
                                    apply_many(kGruBackward, backward_inputs(g, kGruCell), g.attributes());
                                Gradients out{d[0], d[1], d[2], d[4]};
                                out.resize(g.inputs());
                                return out;
                              },
                              .cost = loop_cost<1>});
const Op& kRnn = register_op({.name = "simple_rnn",
                              .doc = "activation(z + h u) over all steps of a sequence.",
                              .arity = -1,
                              .rule = states<kRnnCell>,
                              .gradient = [](G g) -> Gradients {
                                Gradients d = apply_many(kRnnBackward, backward_inputs(g, kRnnCell), g.attributes());
                                d.resize(g.inputs());
                                return d;
                              },
                              .cost = loop_cost<1>});

std::vector<Tensor> run(const Op& op, const Operand& z, std::vector<Tensor> inputs, const Tensor& mask,
                        Attributes attributes = {}) {
  attributes.set("masked", mask.defined());
  if (mask.defined()) inputs.push_back(mask);
  return apply_many(op, inputs, std::move(attributes), z.where());
}

}  // namespace

LstmStates lstm(const Operand& z, const Tensor& recurrent, const Tensor& h0, const Tensor& c0, const Tensor& mask) {
  const std::vector<Tensor> out = run(kLstm, z, {z.tensor(), recurrent, h0, c0}, mask);
  return {out[0], out[1]};
}
Tensor gru(const Operand& z, const Tensor& recurrent, const Tensor& recurrent_bias, const Tensor& h0,
           const Tensor& mask) {
  return run(kGru, z, {z.tensor(), recurrent, h0, recurrent_bias}, mask)[0];
}
Tensor simple_rnn(const Operand& z, const Tensor& recurrent, const Tensor& h0, const Tensor& mask,
                  RnnActivation activation) {
  return run(kRnn, z, {z.tensor(), recurrent, h0}, mask, {{"relu", activation == RnnActivation::relu}})[0];
}

}  // namespace isochron
