// recompute and recompute_input: copies, in place where they may be.
#include <cstring>

#include "isochron/kernels/kernel.h"

namespace isochron {
namespace {

class CopyFirstKernel final : public Kernel {
 public:
  explicit CopyFirstKernel(const TensorSpec& spec) : bytes_(spec.bytes()) {}
  bool in_place(size_t input, size_t) const override { return input == 0; }
  void run(const KernelFrame& f) const override {
    const Share share = share_of(f, bytes_, 4096);
    if (f.in<char>(0) == f.out<char>() || share.begin == share.end) return;
    std::memcpy(f.out<char>() + share.begin, f.in<char>(0) + share.begin, static_cast<size_t>(share.end - share.begin));
  }

 private:
  int64_t bytes_;
};

KernelPtr copy_first(const KernelRequest& request, std::string&) {
  return std::make_unique<CopyFirstKernel>(request.inputs[0]);
}

[[maybe_unused]] const bool kRecomputeRegistered =
    register_kernels({{"recompute", "copy", copy_first}, {"recompute_input", "copy", copy_first}});

}  // namespace
}  // namespace isochron
