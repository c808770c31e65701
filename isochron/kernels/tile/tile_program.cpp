#include "isochron/kernels/tile/tile_program.h"

#include <fmt/format.h>

#include <algorithm>

#include "isochron/base/joined.h"

namespace isochron::kernels {
namespace {

struct OpFacts {
  std::string_view name;
  int operands;
};

constexpr OpFacts kOps[] = {
#define ISO_TILE_OP(name, operands) {#name, operands},
    ISO_TILE_OPS(ISO_TILE_OP)
#undef ISO_TILE_OP
};

bool computes(DType d) { return d == DType::float32 || d == DType::float64 || d == DType::int32 || d == DType::int64; }

std::string tuple(const std::array<int64_t, 8>& values, int rank) {
  return fmt::format("({})", joined(std::span(values).first(static_cast<size_t>(rank))));
}

int immediates(TileOp op) {
  switch (op) {
    case TileOp::constant:
    case TileOp::leaky_relu:
    case TileOp::elu:
      return 1;
    case TileOp::clip:
      return 2;
    default:
      return 0;
  }
}

}  // namespace

std::string_view name_of(TileOp op) { return kOps[static_cast<size_t>(op)].name; }
int operand_count(TileOp op) { return kOps[static_cast<size_t>(op)].operands; }

int64_t element_count(const TileProgram& program) {
  int64_t count = 1;
  for (int i = 0; i < program.rank; ++i) count *= program.dims[i];
  return count;
}

void check(const TileProgram& program) {
  ISO_CHECK(computes(program.compute));
  ISO_CHECK(program.rank >= 0 && program.rank <= 8);
  ISO_CHECK(std::all_of(program.dims.begin(), program.dims.begin() + program.rank, [](int64_t d) { return d >= 0; }));
  ISO_CHECK(program.registers <= 256 && program.registers >= static_cast<int>(program.inputs.size()));
  ISO_CHECK(program.outputs.size() == program.output_registers.size());
  std::array<bool, 256> defined{};
  std::fill_n(defined.begin(), program.inputs.size(), true);
  for (const TileInstruction& i : program.code) {
    const uint8_t operands[] = {i.a, i.b, i.c};
    ISO_CHECK(std::all_of(operands, operands + operand_count(i.op), [&](uint8_t r) { return defined[r]; }));
    ISO_CHECK(i.dst < program.registers);
    defined[i.dst] = true;
  }
  for (uint8_t r : program.output_registers) ISO_CHECK(defined[r]);
}

std::string to_string(const TileProgram& program) {
  std::string text = fmt::format("tile {} {}\n", program.compute, tuple(program.dims, program.rank));
  for (size_t i = 0; i < program.inputs.size(); ++i)
    text +=
        fmt::format("r{} = load {} {}\n", i, program.inputs[i].dtype, tuple(program.inputs[i].strides, program.rank));
  for (const TileInstruction& i : program.code) {
    text += fmt::format("r{} = {}", i.dst, name_of(i.op));
    const uint8_t operands[] = {i.a, i.b, i.c};
    for (int k = 0; k < operand_count(i.op); ++k) text += fmt::format(" r{}", operands[k]);
    const double imm[] = {i.imm0, i.imm1};
    for (int k = 0; k < immediates(i.op); ++k) text += fmt::format(" {}", imm[k]);
    text += '\n';
  }
  for (size_t i = 0; i < program.outputs.size(); ++i)
    text += fmt::format("store {} r{}\n", program.outputs[i].dtype, program.output_registers[i]);
  return text;
}

}  // namespace isochron::kernels
