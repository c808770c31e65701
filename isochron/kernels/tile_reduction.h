// A ReduceKernel as a Kernel: one stage, or two when threads leave partial results to be put together.
#pragma once

#include "isochron/kernels/kernel.h"
#include "isochron/kernels/reduce/reduce.h"

namespace isochron {

class TileReduction final : public Kernel {
 public:
  // `stored` and `inputs` are given when values before the reduction are stored too: those may be written over an
  // input.
  TileReduction(const kernels::TileProgram& program, kernels::ReduceOp op, int begin, int end,
                std::vector<TensorSpec> inputs = {}, std::vector<TensorSpec> stored = {})
      : kernel_(program, op, begin, end), inputs_(std::move(inputs)), stored_(std::move(stored)) {
    constexpr int kManyThreads = 64;
    for (int threads = 2; threads <= kManyThreads; ++threads) finishes_ |= kernel_.needs_finish(threads);
  }
  size_t shared_bytes(int threads) const override { return kernel_.scratch_bytes(threads); }
  int stages() const override { return finishes_ ? 2 : 1; }
  bool in_place(size_t input, size_t output) const override {
    return output < stored_.size() && inputs_[input].shape == stored_[output].shape &&
           size_of(inputs_[input].dtype) == size_of(stored_[output].dtype);
  }
  void run(const KernelFrame& f) const override {
    if (f.stage == 0) return kernel_.run(f.inputs, f.outputs, f.shared, f.thread, f.threads);
    if (f.thread == 0 && kernel_.needs_finish(f.threads)) kernel_.finish(f.outputs, f.shared, f.threads);
  }

 private:
  kernels::ReduceKernel kernel_;
  std::vector<TensorSpec> inputs_, stored_;
  bool finishes_ = false;
};

}  // namespace isochron
