#include "isochron/kernels/widened.h"

#include <array>

#include "isochron/kernels/tile/tile_ops.h"

namespace isochron {
namespace {

constexpr size_t kMostOperands = 16;

bool is_narrow(const TensorSpec& spec) { return is_floating(spec.dtype) && size_of(spec.dtype) == 2; }

// An operand or result that is converted, and where its float32 copy lies in the shared memory.
struct Converted {
  size_t place;
  int64_t elements;
  size_t offset;
  kernels::ConvertFunction convert;
};

class WidenedKernel final : public Kernel {
 public:
  WidenedKernel(const KernelRequest& request, KernelPtr inner)
      : inner_(std::move(inner)), input_count_(request.inputs.size()), output_count_(request.node.outputs.size()) {
    const auto add = [&](std::vector<Converted>& list, size_t place, const TensorSpec& spec, bool widens) {
      if (!is_narrow(spec)) return;
      list.push_back({place, spec.shape.elements(), copies_,
                      widens ? kernels::convert_function(spec.dtype, DType::float32)
                             : kernels::convert_function(DType::float32, spec.dtype)});
      copies_ += (static_cast<size_t>(spec.shape.elements()) * sizeof(float) + 63) / 64 * 64;
    };
    for (size_t i = 0; i < input_count_; ++i) add(inputs_, i, request.inputs[i], true);
    for (size_t i = 0; i < output_count_; ++i) add(outputs_, i, request.node.outputs[i], false);
  }
  size_t scratch_bytes(int threads) const override { return inner_->scratch_bytes(threads); }
  size_t shared_bytes(int threads) const override { return copies_ + inner_->shared_bytes(threads); }
  int stages() const override { return inner_->stages() + 2; }

  void run(const KernelFrame& frame) const override {
    auto* const shared = static_cast<std::byte*>(frame.shared);
    if (frame.stage == 0) {
      for (const Converted& one : inputs_) {
        const Share share = share_of(frame, one.elements, kUnit);
        one.convert(frame.in<uint16_t>(one.place) + share.begin, 1,
                    reinterpret_cast<float*>(shared + one.offset) + share.begin, share.end - share.begin);
      }
    } else if (frame.stage == stages() - 1) {
      for (const Converted& one : outputs_) {
        const Share share = share_of(frame, one.elements, kUnit);
        one.convert(reinterpret_cast<const float*>(shared + one.offset) + share.begin, 1,
                    frame.out<uint16_t>(one.place) + share.begin, share.end - share.begin);
      }
    } else if (inner_->parallel() || frame.thread == 0) {
      std::array<const void*, kMostOperands> inputs;
      std::array<void*, kMostOperands> outputs;
      inner_->run(wide(frame, inputs, outputs));
    }
  }
  void raise(const KernelFrame& frame, int64_t row) const override {
    std::array<const void*, kMostOperands> inputs;
    std::array<void*, kMostOperands> outputs;
    inner_->raise(wide(frame, inputs, outputs), row);
  }

 private:
  static constexpr int64_t kUnit = 1024;

  KernelFrame wide(const KernelFrame& frame, std::array<const void*, kMostOperands>& inputs,
                   std::array<void*, kMostOperands>& outputs) const {
    auto* const shared = static_cast<std::byte*>(frame.shared);
    std::copy_n(frame.inputs, input_count_, inputs.begin());
    std::copy_n(frame.outputs, output_count_, outputs.begin());
    for (const Converted& one : inputs_) inputs[one.place] = shared + one.offset;
    for (const Converted& one : outputs_) outputs[one.place] = shared + one.offset;
    KernelFrame inner = frame;
    inner.inputs = inputs.data();
    inner.outputs = outputs.data();
    inner.shared = shared + copies_;
    inner.stage = frame.stage - 1;
    return inner;
  }

  KernelPtr inner_;
  size_t input_count_, output_count_;
  std::vector<Converted> inputs_, outputs_;
  size_t copies_ = 0;
};

}  // namespace

KernelPtr make_widened(const KernelRequest& request, std::string& why_not) {
  GraphNode node = request.node;
  std::vector<TensorSpec> inputs = request.inputs;
  bool any = false;
  const auto widen = [&](TensorSpec& spec) {
    if (!is_narrow(spec)) return;
    any = true;
    spec.dtype = DType::float32;
  };
  for (TensorSpec& spec : inputs) widen(spec);
  for (TensorSpec& spec : node.outputs) widen(spec);
  if (!any || inputs.size() > kMostOperands || node.outputs.size() > kMostOperands) {
    why_not = any ? "has too many operands" : "has no 16-bit floats";
    return nullptr;
  }
  // Not through choose_kernel(), which would end here again.
  for (const KernelEntry* entry : kernels_of(node.op->name))
    if (KernelPtr inner = entry->make({node, inputs}, why_not))
      return std::make_unique<WidenedKernel>(request, std::move(inner));
  return nullptr;
}

}  // namespace isochron
