// How ops run: for each op an ordered list of implementations, fastest first, a reference last. Each one
// either takes a node or says why not.
//
//   const bool kRegistered = register_kernels({{"matmul", "gemm", make_gemm_kernel}, {"matmul", "reference", …}});
//
// A kernel is made once, when a plan is compiled, and then run at every step by all threads of the team
// (SPMD): each does its own share, and there is a barrier after every stage.
#pragma once

#include <atomic>
#include <functional>
#include <memory>
#include <mutex>
#include <span>
#include <string>
#include <vector>

#include "isochron/graph/graph.h"

namespace isochron {

// Something wrong in the data, found while a plan ran. The first call of the plan that found something counts, and of
// its reports the one with the lowest row. The value is kept, for its memory may hold something else by the time the
// error is made.
class DataFault {
 public:
  bool found() const { return call_.load(std::memory_order_acquire) >= 0; }
  int32_t call() const { return call_.load(std::memory_order_relaxed); }
  int64_t row() const { return row_; }
  double value() const { return value_; }

  void clear() { call_.store(-1, std::memory_order_relaxed); }
  void report(int32_t call, int64_t row, double value) {
    std::lock_guard lock(mutex_);
    const int32_t seen = call_.load(std::memory_order_relaxed);
    if (seen >= 0 && (call > seen || (call == seen && row >= row_))) return;
    row_ = row;
    value_ = value;
    call_.store(call, std::memory_order_release);
  }

 private:
  std::mutex mutex_;
  std::atomic<int32_t> call_{-1};
  int64_t row_ = 0;
  double value_ = 0;
};

struct KernelFrame {
  const void* const* inputs;
  void* const* outputs;
  void* scratch;  // of this thread, 64-byte aligned; scratch_bytes() long
  void* shared;   // of all threads; shared_bytes() long; kept from stage to stage of one run
  int thread;
  int threads;
  int stage;
  DataFault* fault;
  int32_t call;     // position of this kernel in the plan
  int variant = 0;  // below variants()

  // Row `row` of the data is wrong, with this value: the plan stops before it updates anything, and raise() explains.
  void report(int64_t row, double value = 0) const { fault->report(call, row, value); }

  template <class T>
  const T* in(size_t i) const {
    return static_cast<const T*>(inputs[i]);
  }
  template <class T>
  T* out(size_t i = 0) const {
    return static_cast<T*>(outputs[i]);
  }
};

class Kernel {
 public:
  virtual ~Kernel() = default;
  virtual void run(const KernelFrame& frame) const = 0;
  // Bytes of working memory for `threads` threads: for each, and for all together.
  virtual size_t scratch_bytes(int /*threads*/) const { return 0; }
  virtual size_t shared_bytes(int /*threads*/) const { return 0; }
  virtual int stages() const { return 1; }
  // Ways to compute the same bits that differ in speed, from machine to machine: the sizes of blocks, what is packed. 0
  // is what the cost model says; the plan may find out that another is quicker (exec/kernel_trial).
  virtual int variants() const { return 1; }
  // False: only thread 0 runs it, the others skip it.
  virtual bool parallel() const { return true; }
  // Output i may lie in the same memory as input i's, element by element.
  virtual bool in_place(size_t /*input*/, size_t /*output*/) const { return false; }
  // The error for what run() reported at this row; frame.fault->value() is the value reported with it.
  virtual void raise(const KernelFrame& /*frame*/, int64_t row) const {
    throw InternalError("a kernel that explains its faults", __FILE__, __LINE__, std::to_string(row));
  }
};
using KernelPtr = std::unique_ptr<const Kernel>;

struct KernelRequest {
  const GraphNode& node;
  std::vector<TensorSpec> inputs;
  const Attributes& attributes() const { return node.attributes; }
  const TensorSpec& output(size_t i = 0) const { return node.outputs[i]; }
};

struct KernelEntry {
  const char* op;
  const char* name;
  // Null, with the reason in `why_not`, when this implementation does not take the node.
  KernelPtr (*make)(const KernelRequest& request, std::string& why_not);
};
bool register_kernels(std::initializer_list<KernelEntry> entries);
std::span<const KernelEntry* const> kernels_of(std::string_view op);

struct ChosenKernel {
  KernelPtr kernel;
  const char* name;
  std::string refusals;  // "gemm: needs float32; …" of those tried before
};
// InternalError listing the refusals when none takes the node.
ChosenKernel choose_kernel(const KernelRequest& request);

// A kernel from a function object called as f(const KernelFrame&).
template <class F>
KernelPtr make_kernel(F f, bool parallel = true) {
  class FunctionKernel final : public Kernel {
   public:
    FunctionKernel(F function, bool is_parallel) : function_(std::move(function)), parallel_(is_parallel) {}
    void run(const KernelFrame& frame) const override { function_(frame); }
    bool parallel() const override { return parallel_; }

   private:
    F function_;
    bool parallel_;
  };
  return std::make_unique<FunctionKernel>(std::move(f), parallel);
}

// This thread's part of `count` items: [begin, end).
struct Share {
  int64_t begin, end;
};
inline Share share_of(const KernelFrame& frame, int64_t count, int64_t unit = 1) {
  const int64_t units = (count + unit - 1) / unit;
  return {std::min(count, units * frame.thread / frame.threads * unit),
          std::min(count, units * (frame.thread + 1) / frame.threads * unit)};
}

}  // namespace isochron
