#include "isochron/kernels/tile_lowering.h"

#include <map>

#include "isochron/ops/compute_type.h"

namespace isochron {
namespace {

using kernels::TileInstruction;
using kernels::TileOp;
using kernels::TileOperand;
using kernels::TileProgram;

const std::map<std::string_view, TileOp>& tile_ops() {
  static const std::map<std::string_view, TileOp> ops = {{"add", TileOp::add},
                                                         {"sub", TileOp::sub},
                                                         {"mul", TileOp::mul},
                                                         {"div", TileOp::div},
                                                         {"pow", TileOp::pow},
                                                         {"minimum", TileOp::minimum},
                                                         {"maximum", TileOp::maximum},
                                                         {"mod", TileOp::mod},
                                                         {"floor_div", TileOp::floor_div},
                                                         {"neg", TileOp::neg},
                                                         {"abs", TileOp::abs},
                                                         {"sign", TileOp::sign},
                                                         {"floor", TileOp::floor},
                                                         {"ceil", TileOp::ceil},
                                                         {"round", TileOp::round},
                                                         {"square", TileOp::square},
                                                         {"sqrt", TileOp::sqrt},
                                                         {"rsqrt", TileOp::rsqrt},
                                                         {"reciprocal", TileOp::reciprocal},
                                                         {"exp", TileOp::exp},
                                                         {"log", TileOp::log},
                                                         {"log1p", TileOp::log1p},
                                                         {"expm1", TileOp::expm1},
                                                         {"sin", TileOp::sin},
                                                         {"cos", TileOp::cos},
                                                         {"tanh", TileOp::tanh},
                                                         {"sigmoid", TileOp::sigmoid},
                                                         {"erf", TileOp::erf},
                                                         {"relu", TileOp::relu},
                                                         {"leaky_relu", TileOp::leaky_relu},
                                                         {"elu", TileOp::elu},
                                                         {"selu", TileOp::selu},
                                                         {"gelu", TileOp::gelu_erf},
                                                         {"silu", TileOp::silu},
                                                         {"softplus", TileOp::softplus},
                                                         {"clip", TileOp::clip},
                                                         {"equal", TileOp::equal},
                                                         {"not_equal", TileOp::not_equal},
                                                         {"less", TileOp::less},
                                                         {"less_equal", TileOp::less_equal},
                                                         {"greater", TileOp::greater},
                                                         {"greater_equal", TileOp::greater_equal},
                                                         {"logical_and", TileOp::logical_and},
                                                         {"logical_or", TileOp::logical_or},
                                                         {"logical_xor", TileOp::logical_xor},
                                                         {"logical_not", TileOp::logical_not},
                                                         {"is_nan", TileOp::is_nan},
                                                         {"is_inf", TileOp::is_inf},
                                                         {"is_finite", TileOp::is_finite},
                                                         {"where", TileOp::select},
                                                         {"cast", TileOp::copy},
                                                         {"stop_gradient", TileOp::copy},
                                                         {"assign", TileOp::copy},
                                                         {"broadcast_to", TileOp::copy},
                                                         {"constant", TileOp::constant}};
  return ops;
}

TileInstruction instruction_for(const GraphNode& node) {
  TileInstruction instruction{tile_ops().at(node.op->name)};
  const Attributes& a = node.attributes;
  if (const AttributeValue* approximate = a.find("approximate"))
    instruction.op = std::get<bool>(*approximate) ? TileOp::gelu_tanh : TileOp::gelu_erf;
  if (instruction.op == TileOp::constant) instruction.imm0 = a.get<double>("value");
  if (instruction.op == TileOp::clip) {
    instruction.imm0 = a.get<double>("low");
    instruction.imm1 = a.get<double>("high");
  }
  if (instruction.op == TileOp::leaky_relu || instruction.op == TileOp::elu) instruction.imm0 = a.get<double>("alpha");
  return instruction;
}

// Rounding a 16-bit value takes when it stays in a register instead of going through memory.
std::optional<TileOp> rounding(DType d) {
  if (d == DType::bfloat16) return TileOp::round_to_bfloat16;
  if (d == DType::float16) return TileOp::round_to_float16;
  return std::nullopt;
}

TileOperand operand(const TensorSpec& spec, const Shape& space) {
  TileOperand out{spec.dtype, {}};
  int64_t stride = 1;
  for (int i = 1; i <= spec.shape.rank(); ++i) {
    out.strides[static_cast<size_t>(space.rank() - i)] = spec.shape[-i] == 1 ? 0 : stride;
    stride *= spec.shape[-i];
  }
  return out;
}

}  // namespace

std::vector<const char*> tile_op_names() {
  std::vector<const char*> names;
  for (const auto& [name, op] : tile_ops()) names.push_back(name.data());
  return names;
}

std::optional<TileProgram> lower_to_tile(const KernelRequest& request, std::string& why_not) {
  const GraphNode& node = request.node;
  // A reduction at the end gives its last output another shape.
  const AttributeValue* shape = node.body ? node.attributes.find("shape") : nullptr;
  const Shape space = shape ? Shape(std::get<std::vector<int64_t>>(*shape)) : node.outputs[0].shape;
  const size_t dense = node.outputs.size() - (shape ? 1 : 0);
  TileProgram program;
  program.rank = space.rank();
  for (int i = 0; i < space.rank(); ++i) program.dims[static_cast<size_t>(i)] = space[i];
  for (const TensorSpec& input : request.inputs) program.inputs.push_back(operand(input, space));
  for (size_t i = 0; i < node.outputs.size(); ++i) {
    const TensorSpec& output = node.outputs[i];
    if (i < dense && output.shape != space) {
      why_not = "outputs of different shapes";
      return std::nullopt;
    }
    program.outputs.push_back(operand({output.dtype, space}, space));
  }

  if (!node.body) {
    const std::optional<DType> compute = compute_type(*node.op, request.inputs, node.outputs);
    if (!compute) {
      why_not = "no one type to compute in";
      return std::nullopt;
    }
    program.compute = *compute;
    TileInstruction instruction = instruction_for(node);
    const auto count = static_cast<uint8_t>(request.inputs.size());
    instruction.dst = count;
    instruction.a = 0;
    instruction.b = count > 1 ? 1 : 0;
    instruction.c = count > 2 ? 2 : 0;
    program.code.push_back(instruction);
    program.registers = count + 1;
    program.output_registers = {count};
    return program;
  }

  const Graph& body = *node.body;
  program.compute = static_cast<DType>(node.attributes.get<int64_t>("compute"));
  std::vector<uint8_t> register_of(body.nodes.size());
  int next = 0;
  for (int32_t input : body.inputs) register_of[static_cast<size_t>(input)] = static_cast<uint8_t>(next++);
  for (size_t i = 0; i < body.nodes.size(); ++i) {
    const GraphNode& inner = body.nodes[i];
    if (!inner.op) continue;
    TileInstruction instruction = instruction_for(inner);
    const auto reg = [&](size_t k) {
      return k < inner.inputs.size() ? register_of[static_cast<size_t>(inner.inputs[k].node)] : uint8_t{0};
    };
    instruction.a = reg(0);
    instruction.b = reg(1);
    instruction.c = reg(2);
    if (next >= 250) {
      why_not = "more values than registers";
      return std::nullopt;
    }
    instruction.dst = static_cast<uint8_t>(next++);
    program.code.push_back(instruction);
    if (const auto round = rounding(inner.outputs[0].dtype)) {
      program.code.push_back({*round, static_cast<uint8_t>(next), instruction.dst});
      ++next;
    }
    register_of[i] = static_cast<uint8_t>(next - 1);
  }
  program.registers = next;
  for (ValueId out : body.outputs) program.output_registers.push_back(register_of[static_cast<size_t>(out.node)]);
  return program;
}

}  // namespace isochron
