// Softmax and cross-entropy through kernels/softmax.
#include "isochron/kernels/softmax/softmax.h"

#include <cmath>

#include "isochron/base/row_error.h"
#include "isochron/kernels/kernel.h"

namespace isochron {
namespace {

struct Rows {
  int64_t rows, cols;
  DType dtype;
  explicit Rows(const KernelRequest& request) {
    const Shape& shape = request.inputs[0].shape;
    cols = shape[-1];
    rows = shape.elements(0, shape.rank() - 1);
    dtype = request.inputs[0].dtype;
  }
};

// Calls f(Type<T>) with the row type: the rules admit no others.
template <class F>
void visit_real(DType dtype, F&& f) {
  dtype == DType::float64 ? f(Type<double>{}) : f(Type<float>{});
}

class SoftmaxKernel final : public Kernel {
 public:
  enum class What { softmax, log_softmax, softmax_backward, log_softmax_backward };
  SoftmaxKernel(const KernelRequest& request, What what) : rows_(request), what_(what) {}
  bool in_place(size_t input, size_t) const override { return input == 0; }
  void run(const KernelFrame& f) const override {
    visit_real(rows_.dtype, [&]<class T>(Type<T>) {
      const int64_t rows = rows_.rows, cols = rows_.cols;
      switch (what_) {
        case What::softmax:
          return kernels::softmax(f.in<T>(0), f.out<T>(), rows, cols, f.thread, f.threads);
        case What::log_softmax:
          return kernels::log_softmax(f.in<T>(0), f.out<T>(), rows, cols, f.thread, f.threads);
        case What::softmax_backward:
          return kernels::softmax_backward(f.in<T>(0), f.in<T>(1), f.out<T>(), rows, cols, f.thread, f.threads);
        case What::log_softmax_backward:
          return kernels::log_softmax_backward(f.in<T>(0), f.in<T>(1), f.out<T>(), rows, cols, f.thread, f.threads);
      }
    });
  }

 private:
  Rows rows_;
  What what_;
};

// Inputs: logits, labels or probabilities; the backward op also log_sum and the rows' gradients.
class CrossEntropyKernel final : public Kernel {
 public:
  CrossEntropyKernel(const KernelRequest& request, bool sparse, bool backward)
      : rows_(request), label_dtype_(request.inputs[1].dtype), sparse_(sparse), backward_(backward) {}
  bool in_place(size_t input, size_t) const override { return backward_ && input == 0; }
  void run(const KernelFrame& f) const override {
    int64_t bad = kernels::kNoBadRow;
    visit_real(rows_.dtype, [&]<class T>(Type<T>) {
      kernels::CrossEntropyTarget<T> target;
      if (sparse_) {
        target.labels = f.inputs[1];
        target.label_dtype = label_dtype_;
        target.bad_row = &bad;
      } else {
        target.probabilities = f.in<T>(1);
      }
      if (backward_)
        kernels::cross_entropy_backward(f.in<T>(0), rows_.rows, rows_.cols, target, f.in<T>(2), f.in<T>(3), 1,
                                        f.out<T>(), f.thread, f.threads);
      else
        kernels::cross_entropy<T>(f.in<T>(0), rows_.rows, rows_.cols, target,
                                  {.loss = f.out<T>(0), .log_sum = f.out<T>(1)}, f.thread, f.threads);
    });
    if (bad != kernels::kNoBadRow) f.report(bad, label(f.inputs[1], bad));
  }
  void raise(const KernelFrame& f, int64_t row) const override {
    const double value = f.fault->value();
    throw RowError("sparse_softmax_cross_entropy",
                   fmt::format("labels must be {}in [0, {}), got {}",
                               value == std::trunc(value) ? "" : "whole numbers ", rows_.cols, value),
                   row);
  }

 private:
  double label(const void* labels, int64_t row) const {
    switch (label_dtype_) {
      case DType::int64:
        return static_cast<double>(static_cast<const int64_t*>(labels)[row]);
      case DType::int32:
        return static_cast<const int32_t*>(labels)[row];
      case DType::float32:
        return static_cast<double>(static_cast<const float*>(labels)[row]);
      case DType::float64:
        return static_cast<const double*>(labels)[row];
      default:
        return static_cast<const uint8_t*>(labels)[row];
    }
  }

  Rows rows_;
  DType label_dtype_;
  bool sparse_, backward_;
};

template <SoftmaxKernel::What what>
KernelPtr make_softmax(const KernelRequest& request, std::string&) {
  return std::make_unique<SoftmaxKernel>(request, what);
}
template <bool sparse, bool backward>
KernelPtr make_cross_entropy(const KernelRequest& request, std::string&) {
  return std::make_unique<CrossEntropyKernel>(request, sparse, backward);
}

using What = SoftmaxKernel::What;
[[maybe_unused]] const bool kSoftmaxRegistered =
    register_kernels({{"softmax", "simd", make_softmax<What::softmax>},
                      {"log_softmax", "simd", make_softmax<What::log_softmax>},
                      {"softmax_backward", "simd", make_softmax<What::softmax_backward>},
                      {"log_softmax_backward", "simd", make_softmax<What::log_softmax_backward>},
                      {"softmax_cross_entropy", "simd", make_cross_entropy<false, false>},
                      {"softmax_cross_entropy_backward", "simd", make_cross_entropy<false, true>},
                      {"sparse_softmax_cross_entropy", "simd", make_cross_entropy<true, false>},
                      {"sparse_softmax_cross_entropy_backward", "simd", make_cross_entropy<true, true>}});

}  // namespace
}  // namespace isochron
