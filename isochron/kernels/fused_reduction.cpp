// Fused elementwise ops whose last value is reduced.
#include <map>

#include "isochron/kernels/tile_lowering.h"
#include "isochron/kernels/tile_reduction.h"

namespace isochron {
namespace {

KernelPtr make_fused_reduction(const KernelRequest& request, std::string& why_not) {
  using kernels::ReduceOp;
  static const std::map<std::string_view, ReduceOp> reductions = {{"sum", ReduceOp::sum},
                                                                  {"mean", ReduceOp::mean},
                                                                  {"prod", ReduceOp::prod},
                                                                  {"max", ReduceOp::max},
                                                                  {"min", ReduceOp::min}};
  const std::optional<kernels::TileProgram> program = lower_to_tile(request, why_not);
  if (!program) return nullptr;
  const Attributes& a = request.attributes();
  const auto& outputs = request.node.outputs;
  return std::make_unique<TileReduction>(
      *program, reductions.at(a.get<std::string>("reduce")), static_cast<int>(a.get<int64_t>("begin")),
      static_cast<int>(a.get<int64_t>("end")), request.inputs,
      std::vector<TensorSpec>(outputs.begin(), outputs.begin() + static_cast<int64_t>(outputs.size()) - 1));
}

[[maybe_unused]] const bool kFusedReductionRegistered =
    register_kernels({{"fused_reduce", "tile", make_fused_reduction}});

}  // namespace
}  // namespace isochron
