#include "isochron/nn/symbolic_ops.h"

#include "isochron/base/names.h"
#include "isochron/ops/ops.h"

namespace isochron {
namespace {

using Arguments = OperationArguments;
using Inputs = std::span<const Tensor>;

struct Entry {
  std::string_view name;
  Tensor (*run)(Inputs, const Arguments&);
  size_t least, most;  // inputs
};

// An op of two operands, one of which may be a number.
template <Tensor (*op)(const Operand&, const Operand&)>
Tensor binary(Inputs x, const Arguments& a) {
  if (x.size() == 2) return op(x[0], x[1]);
  const Operand number = a.integers.empty() ? Operand(a.numbers.at(0)) : Operand(a.integers[0]);
  return a.flag ? op(number, x[0]) : op(x[0], number);
}

#define UNARY(name)                                                    \
  {                                                                    \
#name, [](Inputs x, const Arguments&) { return name(x[0]); }, 1, 1 \
  }
#define REDUCE(name)                                                                         \
  {                                                                                          \
#name, [](Inputs x, const Arguments& a) { return name(x[0], a.integers, a.flag); }, 1, 1 \
  }
const Entry kTable[] = {
    UNARY(neg),
    UNARY(abs),
    UNARY(sign),
    UNARY(floor),
    UNARY(ceil),
    UNARY(round),
    UNARY(square),
    UNARY(sqrt),
    UNARY(rsqrt),
    UNARY(reciprocal),
    UNARY(exp),
    UNARY(log),
    UNARY(log1p),
    UNARY(expm1),
    UNARY(sin),
    UNARY(cos),
    UNARY(tanh),
    UNARY(sigmoid),
    UNARY(erf),
    UNARY(relu),
    UNARY(elu),
    UNARY(selu),
    UNARY(gelu),
    UNARY(silu),
    UNARY(softplus),
    UNARY(logical_not),
    UNARY(stop_gradient),
    REDUCE(sum),
    REDUCE(mean),
    REDUCE(prod),
    REDUCE(max),
    REDUCE(min),
    REDUCE(any),
    REDUCE(all),
    REDUCE(var),
    REDUCE(std),
    REDUCE(logsumexp),
    {"add", binary<add>, 1, 2},
    {"sub", binary<sub>, 1, 2},
    {"mul", binary<mul>, 1, 2},
    {"div", binary<div>, 1, 2},
    {"floor_div", binary<floor_div>, 1, 2},
    {"mod", binary<mod>, 1, 2},
    {"pow", binary<pow>, 1, 2},
    {"minimum", binary<minimum>, 1, 2},
    {"maximum", binary<maximum>, 1, 2},
    {"equal", binary<equal>, 1, 2},
    {"not_equal", binary<not_equal>, 1, 2},
    {"less", binary<less>, 1, 2},
    {"less_equal", binary<less_equal>, 1, 2},
    {"greater", binary<greater>, 1, 2},
    {"greater_equal", binary<greater_equal>, 1, 2},
    {"logical_and", binary<logical_and>, 1, 2},
    {"logical_or", binary<logical_or>, 1, 2},
    {"matmul", [](Inputs x, const Arguments&) { return matmul(x[0], x[1]); }, 2, 2},
    {"concat",
     [](Inputs x, const Arguments& a) {
       return concat({x.begin(), x.end()}, a.integers.at(0));
     },
     1, SIZE_MAX},
    {"reshape", [](Inputs x, const Arguments& a) { return reshape(x[0], a.integers); }, 1, 1},
    {"transpose", [](Inputs x, const Arguments& a) { return transpose(x[0], a.integers); }, 1, 1},
    {"expand_dims", [](Inputs x, const Arguments& a) { return expand_dims(x[0], a.integers.at(0)); }, 1, 1},
    {"squeeze", [](Inputs x, const Arguments& a) { return squeeze(x[0], a.integers); }, 1, 1},
    {"stack",
     [](Inputs x, const Arguments& a) {
       return stack({x.begin(), x.end()}, a.integers.at(0));
     },
     1, SIZE_MAX},
    {"slice",
     [](Inputs x, const Arguments& a) {
       const auto third = [&](int64_t i) {
         const auto n = static_cast<int64_t>(a.integers.size()) / 3;
         return std::vector<int64_t>(a.integers.begin() + i * n, a.integers.begin() + (i + 1) * n);
       };
       return slice(x[0], third(0), third(1), third(2));
     },
     1, 1},
    {"where",
     [](Inputs x, const Arguments& a) {
       if (x.size() == 3) return where(x[0], x[1], x[2]);
       return a.flag ? where(x[0], a.numbers.at(0), x[1]) : where(x[0], x[1], a.numbers.at(0));
     },
     2, 3},
    {"argmax", [](Inputs x, const Arguments& a) { return argmax(x[0], a.integers.at(0), a.flag); }, 1, 1},
    {"argmin", [](Inputs x, const Arguments& a) { return argmin(x[0], a.integers.at(0), a.flag); }, 1, 1},
    {"softmax", [](Inputs x, const Arguments& a) { return softmax(x[0], a.integers.empty() ? -1 : a.integers[0]); }, 1,
     1},
    {"log_softmax", [](Inputs x, const Arguments& a) { return log_softmax(x[0], a.integers.at(0)); }, 1, 1},
    {"leaky_relu", [](Inputs x, const Arguments& a) { return leaky_relu(x[0], a.numbers.at(0)); }, 1, 1},
    {"one_hot", [](Inputs x, const Arguments& a) { return one_hot(x[0], a.integers.at(0)); }, 1, 1},
    {"cast", [](Inputs x, const Arguments& a) { return cast(x[0], a.dtype.value()); }, 1, 1},
    {"clip", [](Inputs x, const Arguments& a) { return clip(x[0], a.numbers.at(0), a.numbers.at(1)); }, 1, 1},
};
#undef UNARY
#undef REDUCE

const Entry& entry_of(const std::string& op) {
  std::vector<std::string_view> known;
  for (const Entry& entry : kTable) {
    if (entry.name == op) return entry;
    known.push_back(entry.name);
  }
  fail<ValueError>("Operation", "no op \"{}\" on symbolic tensors{}", op, did_you_mean(op, known));
}

}  // namespace

Operation::Operation(const std::string& op, OperationArguments arguments, LayerOptions options)
    : op_(op), arguments_(std::move(arguments)), run_(entry_of(op).run) {
  set_name(options.name.empty() ? unique_layer_name(op) : std::move(options.name));
}

std::vector<Tensor> Operation::call_many(const std::vector<Tensor>& inputs, const CallContext&) {
  const Entry& entry = entry_of(op_);
  if (inputs.size() < entry.least || inputs.size() > entry.most ||
      (inputs.size() == 1 && entry.most == 2 && entry.least == 1 && arguments_.numbers.empty() &&
       arguments_.integers.empty()))
    fail<ValueError>("Operation", "\"{}\" does not take {} inputs", op_, inputs.size());
  return {run_(inputs, arguments_)};
}

SymbolicTensor detail::symbolic_op(const char* op, std::vector<SymbolicTensor> inputs, OperationArguments arguments) {
  if (inputs.empty()) fail<ValueError>(op, "needs at least one input");
  return Operation(op, std::move(arguments))(inputs)[0];
}

SymbolicTensor stack(std::initializer_list<SymbolicTensor> parts, int64_t axis) {
  if (parts.size() && normalize_axis("stack", axis, parts.begin()->shape().rank() + 2) == 0)
    fail<ValueError>("stack", "axis 0 is the batch axis, which layers keep");
  return detail::symbolic_op("stack", parts, {{axis}});
}

SymbolicTensor slice(const SymbolicTensor& x, std::vector<int64_t> begin, std::vector<int64_t> end,
                     std::vector<int64_t> step) {
  if (step.empty()) step.assign(begin.size(), 1);
  if (begin.size() != end.size() || begin.size() != step.size())
    fail<ValueError>("slice", "begin, end and step must be of the same axes, got {}, {} and {} numbers", begin.size(),
                     end.size(), step.size());
  if (!begin.empty() && (begin[0] != 0 || end[0] != kEnd || step[0] != 1))
    fail<ValueError>("slice", "axis 0 is the batch axis, which layers keep: take it from 0 to kEnd, got {} to {}",
                     begin[0], end[0]);
  std::vector<int64_t> all = std::move(begin);
  all.insert(all.end(), end.begin(), end.end());
  all.insert(all.end(), step.begin(), step.end());
  return detail::symbolic_op("slice", {x}, {std::move(all)});
}

}  // namespace isochron
