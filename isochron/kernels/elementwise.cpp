// Elementwise ops, single or fused, as tile programs.
#include <map>

#include "isochron/kernels/kernel.h"
#include "isochron/kernels/tile/tile_kernel.h"
#include "isochron/kernels/tile_lowering.h"

namespace isochron {
namespace {

using kernels::TileKernel;

class ElementwiseKernel final : public Kernel {
 public:
  ElementwiseKernel(const KernelRequest& request, const kernels::TileProgram& program) : kernel_(program) {
    for (const TensorSpec& input : request.inputs) inputs_.push_back(input);
    for (const TensorSpec& output : request.node.outputs) outputs_.push_back(output);
  }
  void run(const KernelFrame& f) const override { kernel_.run(f.inputs, f.outputs, f.shared, f.thread, f.threads); }
  size_t shared_bytes(int threads) const override { return kernel_.scratch_bytes(threads); }
  bool in_place(size_t input, size_t output) const override {
    return inputs_[input].shape == outputs_[output].shape &&
           size_of(inputs_[input].dtype) == size_of(outputs_[output].dtype);
  }

 private:
  TileKernel kernel_;
  std::vector<TensorSpec> inputs_, outputs_;
};

KernelPtr make_elementwise(const KernelRequest& request, std::string& why_not) {
  std::optional<kernels::TileProgram> program = lower_to_tile(request, why_not);
  if (!program) return nullptr;
  return std::make_unique<ElementwiseKernel>(request, *program);
}

[[maybe_unused]] const bool kElementwiseRegistered = [] {
  for (const char* op : tile_op_names()) register_kernels({{op, "tile", make_elementwise}});
  register_kernels({{"fused", "tile", make_elementwise}});
  return true;
}();

}  // namespace
}  // namespace isochron
