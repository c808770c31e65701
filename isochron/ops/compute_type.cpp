#include "isochron/ops/compute_type.h"

namespace isochron {
namespace {

// Bytes and bools count as small numbers in whatever type the op computes in.
bool small(DType d) { return d == DType::boolean || d == DType::uint8; }

DType wide(DType d) {
  if (d == DType::bfloat16 || d == DType::float16) return DType::float32;
  return small(d) ? DType::int32 : d;
}

}  // namespace

std::optional<DType> compute_type(const Op& op, std::span<const TensorSpec> inputs,
                                  std::span<const TensorSpec> outputs) {
  // A cast is a load and a store: computing in the wider of the two loses nothing.
  if (std::string_view(op.name) == "cast") {
    const DType from = wide(inputs[0].dtype), to = wide(outputs[0].dtype);
    if (is_floating(from)) return from;
    return is_floating(to) && from == DType::int64        ? DType::float64
           : to == DType::float32 && from == DType::int32 ? DType::float64
                                                          : promote(from, to);
  }
  DType compute = wide(outputs[0].dtype);
  bool only_small = small(outputs[0].dtype);
  for (const TensorSpec& input : inputs) {
    if (small(input.dtype)) continue;
    const DType w = wide(input.dtype);
    if (!only_small && w != compute && !(is_floating(compute) && !is_floating(w))) return std::nullopt;
    if (only_small || is_floating(w) >= is_floating(compute)) compute = only_small ? w : compute;
    only_small = false;
  }
  return compute;
}

}  // namespace isochron
