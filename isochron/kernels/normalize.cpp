// Layer norm and batch norm through kernels/normalize: rows divided among the threads, what belongs to all rows merged
// after a barrier.
#include "isochron/kernels/normalize/normalize.h"

#include <cmath>

#include "isochron/kernels/kernel.h"

namespace isochron {
namespace {

using kernels::normalize_loops;

struct Form {
  int64_t rows, cols;
  double epsilon;
  bool scale, center, rms;
  Form(const KernelRequest& request, size_t x) {
    const Shape& shape = request.inputs[x].shape;
    cols = shape[-1];
    rows = shape.elements(0, shape.rank() - 1);
    const Attributes& a = request.attributes();
    epsilon = a.get<double>("epsilon");
    scale = a.get<bool>("scale");
    center = a.get<bool>("center");
    rms = a.get_or("rms", false);
  }
};

template <class T>
class LayerNormKernel final : public Kernel {
 public:
  explicit LayerNormKernel(const Form& form) : form_(form) {}
  bool in_place(size_t input, size_t output) const override { return input == 0 && output == 0; }
  void run(const KernelFrame& f) const override {
    const Share mine = share_of(f, form_.rows);
    const int64_t at = mine.begin * form_.cols;
    normalize_loops<T>().rows(f.in<T>(0) + at, form_.scale ? f.in<T>(1) : nullptr,
                              form_.center ? f.in<T>(form_.scale ? 2 : 1) : nullptr, f.out<T>(0) + at,
                              f.out<T>(1) + mine.begin, form_.rms ? nullptr : f.out<T>(2) + mine.begin,
                              mine.end - mine.begin, form_.cols, form_.epsilon);
  }

 private:
  Form form_;
};

// Inputs: dy, x, rstd, mean (not for RMS norm), gamma (when scaled).
template <class T>
class LayerNormBackwardKernel final : public Kernel {
 public:
  explicit LayerNormBackwardKernel(const Form& form) : form_(form) {}
  bool in_place(size_t input, size_t output) const override { return input == 0 && output == 0; }
  int stages() const override { return form_.scale || form_.center ? 2 : 1; }
  size_t shared_bytes(int threads) const override { return static_cast<size_t>(threads * 2 * form_.cols) * sizeof(T); }
  void run(const KernelFrame& f) const override { f.stage == 0 ? each_row(f) : add_parts(f); }

 private:
  // Thread t's sums for gamma, and behind them those for beta.
  T* part(const KernelFrame& f, int thread) const { return static_cast<T*>(f.shared) + thread * 2 * form_.cols; }

  void each_row(const KernelFrame& f) const {
    const Share mine = share_of(f, form_.rows);
    const int64_t at = mine.begin * form_.cols;
    const size_t gamma = form_.rms ? 3 : 4;
    T* sums = part(f, f.thread);
    std::fill_n(sums, 2 * form_.cols, T(0));
    normalize_loops<T>().rows_backward(f.in<T>(0) + at, f.in<T>(1) + at, form_.scale ? f.in<T>(gamma) : nullptr,
                                       f.in<T>(2) + mine.begin, form_.rms ? nullptr : f.in<T>(3) + mine.begin,
                                       f.out<T>(0) + at, form_.scale ? sums : nullptr,
                                       form_.center ? sums + form_.cols : nullptr, mine.end - mine.begin, form_.cols);
  }
  void add_parts(const KernelFrame& f) const {
    const Share mine = share_of(f, form_.cols, 64 / static_cast<int64_t>(sizeof(T)));
    for (int64_t i = mine.begin; i < mine.end; ++i) {
      T gamma = 0, beta = 0;
      for (int t = 0; t < f.threads; ++t) {
        gamma += part(f, t)[i];
        beta += part(f, t)[form_.cols + i];
      }
      if (form_.scale) f.out<T>(1)[i] = gamma;
      if (form_.center) f.out<T>(form_.scale ? 2 : 1)[i] = beta;
    }
  }
  Form form_;
};

// Two stages: each thread's rows give statistics, then all threads merge them alike and finish their rows.
template <class T>
class BatchKernel : public Kernel {
 public:
  explicit BatchKernel(const Form& form) : form_(form) {}
  int stages() const override { return 2; }
  bool in_place(size_t input, size_t output) const override { return input == 0 && output == 0; }
  size_t shared_bytes(int threads) const override { return static_cast<size_t>(threads * 2 * form_.cols) * sizeof(T); }
  size_t scratch_bytes(int) const override { return static_cast<size_t>(3 * form_.cols) * sizeof(T); }

 protected:
  T* first(const KernelFrame& f, int thread) const { return static_cast<T*>(f.shared) + thread * 2 * form_.cols; }
  T* second(const KernelFrame& f, int thread) const { return first(f, thread) + form_.cols; }
  static Share rows_of(const KernelFrame& f, int64_t rows, int thread) {
    return {rows * thread / f.threads, rows * (thread + 1) / f.threads};
  }
  Form form_;
};

template <class T>
class BatchNormKernel final : public BatchKernel<T> {
 public:
  using BatchKernel<T>::BatchKernel;
  void run(const KernelFrame& f) const override {
    const Form& form = this->form_;
    const Share mine = this->rows_of(f, form.rows, f.thread);
    const T* x = f.in<T>(0) + mine.begin * form.cols;
    if (f.stage == 0)
      return normalize_loops<T>().column_statistics(x, mine.end - mine.begin, form.cols, this->first(f, f.thread),
                                                    this->second(f, f.thread));
    T* scale = static_cast<T*>(f.scratch);
    T* shift = scale + form.cols;
    for (int64_t i = 0; i < form.cols; ++i) {
      double mean = 0, m2 = 0, count = 0;
      for (int t = 0; t < f.threads; ++t) {
        const Share rows = this->rows_of(f, form.rows, t);
        const auto more = static_cast<double>(rows.end - rows.begin);
        if (more == 0) continue;
        const double delta = static_cast<double>(this->first(f, t)[i]) - mean;
        m2 += static_cast<double>(this->second(f, t)[i]) + delta * delta * count * more / (count + more);
        mean += delta * more / (count + more);
        count += more;
      }
      const double variance = count > 0 ? m2 / count : 0;
      const double gamma = form.scale ? static_cast<double>(f.in<T>(1)[i]) : 1;
      const double beta = form.center ? static_cast<double>(f.in<T>(form.scale ? 2 : 1)[i]) : 0;
      const double factor = gamma / std::sqrt(variance + form.epsilon);
      scale[i] = static_cast<T>(factor);
      shift[i] = static_cast<T>(beta - mean * factor);
      if (f.thread == 0) {
        f.out<T>(1)[i] = static_cast<T>(mean);
        f.out<T>(2)[i] = static_cast<T>(variance);
      }
    }
    normalize_loops<T>().scale_columns(x, scale, shift, f.out<T>(0) + mine.begin * form.cols, mine.end - mine.begin,
                                       form.cols);
  }
};

// Inputs: dy, x, mean, variance, gamma (when scaled).
template <class T>
class BatchNormBackwardKernel final : public BatchKernel<T> {
 public:
  using BatchKernel<T>::BatchKernel;
  void run(const KernelFrame& f) const override {
    const Form& form = this->form_;
    const Share mine = this->rows_of(f, form.rows, f.thread);
    const int64_t at = mine.begin * form.cols, count = mine.end - mine.begin;
    const T* mean = f.in<T>(2);
    if (f.stage == 0)
      return normalize_loops<T>().column_products(f.in<T>(0) + at, f.in<T>(1) + at, mean, count, form.cols,
                                                  this->first(f, f.thread), this->second(f, f.thread));
    // With n = (x - mean) rstd: dx = gamma rstd (dy - mean(dy) - n mean(dy n)), gathered by dy, x and the rest.
    T* a = static_cast<T*>(f.scratch);
    T* b = a + form.cols;
    T* c = b + form.cols;
    const double share = 1 / static_cast<double>(std::max<int64_t>(form.rows, 1));
    for (int64_t i = 0; i < form.cols; ++i) {
      double sum = 0, product = 0;
      for (int t = 0; t < f.threads; ++t) {
        sum += static_cast<double>(this->first(f, t)[i]);
        product += static_cast<double>(this->second(f, t)[i]);
      }
      const double rstd = 1 / std::sqrt(static_cast<double>(f.in<T>(3)[i]) + form.epsilon);
      const double factor = rstd * (form.scale ? static_cast<double>(f.in<T>(4)[i]) : 1);
      const double slope = -factor * rstd * rstd * product * share;
      a[i] = static_cast<T>(factor);
      b[i] = static_cast<T>(slope);
      c[i] = static_cast<T>(-factor * sum * share - slope * static_cast<double>(mean[i]));
      if (f.thread != 0) continue;
      if (form.scale) f.out<T>(1)[i] = static_cast<T>(product * rstd);
      if (form.center) f.out<T>(form.scale ? 2 : 1)[i] = static_cast<T>(sum);
    }
    normalize_loops<T>().combine_columns(f.in<T>(0) + at, f.in<T>(1) + at, a, b, c, f.out<T>(0) + at, count, form.cols);
  }
};

template <template <class> class K, size_t x>
KernelPtr make_norm(const KernelRequest& request, std::string&) {
  const Form form(request, x);
  if (request.output().dtype == DType::float64) return std::make_unique<K<double>>(form);
  return std::make_unique<K<float>>(form);
}

[[maybe_unused]] const bool kNormalizeRegistered =
    register_kernels({{"layer_norm", "simd", make_norm<LayerNormKernel, 0>},
                      {"layer_norm_backward", "simd", make_norm<LayerNormBackwardKernel, 1>},
                      {"batch_norm", "simd", make_norm<BatchNormKernel, 0>},
                      {"batch_norm_backward", "simd", make_norm<BatchNormBackwardKernel, 1>}});

}  // namespace
}  // namespace isochron
