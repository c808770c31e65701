// The forward-backward sums of connectionist temporal classification, an example at a time. Between labels, before and
// behind them stand blanks: 2 n + 1 states, of which a step stays, goes on by one, or skips a blank between two labels
// that differ.
#include <cmath>
#include <limits>

#include "isochron/base/row_error.h"
#include "isochron/kernels/kernel.h"

namespace isochron {
namespace {

constexpr double kNever = -std::numeric_limits<double>::infinity();

double log_add(double a, double b) {
  if (a < b) std::swap(a, b);
  return b == kNever ? a : a + std::log1p(std::exp(b - a));
}

// What can be wrong with an example; reported as row * kinds + kind.
enum Wrong { kLabel, kSteps, kLabels, kWrongKinds };

template <class T>
class CtcKernel final : public Kernel {
 public:
  explicit CtcKernel(const KernelRequest& request)
      : steps_(request.inputs[0].shape[0]),
        batch_(request.inputs[0].shape[1]),
        classes_(request.inputs[0].shape[2]),
        labels_(request.inputs[1].shape[1]),
        blank_(request.attributes().get<int64_t>("blank")) {}

  // Sums up to each step and state, and of two steps those that are left.
  size_t scratch_bytes(int) const override {
    return static_cast<size_t>((steps_ + 2) * (2 * labels_ + 1)) * sizeof(double);
  }

  void run(const KernelFrame& f) const override {
    const Share share = share_of(f, batch_);
    for (int64_t n = share.begin; n < share.end; ++n) {
      for (int64_t t = 0; t < steps_; ++t) {
        T* row = f.out<T>(1) + (t * batch_ + n) * classes_;
        std::fill(row, row + classes_, T(0));
      }
      const int64_t steps = f.in<int64_t>(2)[n], labels = f.in<int64_t>(3)[n];
      if (fits(f, n, steps, labels)) f.out<T>(0)[n] = static_cast<T>(one(f, n, steps, labels));
    }
  }

  void raise(const KernelFrame& f, int64_t row) const override {
    const double value = f.fault->value();
    const int64_t n = row / kWrongKinds;
    if (row % kWrongKinds == kSteps)
      throw RowError("ctc", fmt::format("input_lengths must be in [0, {}], got {}", steps_, value), n);
    if (row % kWrongKinds == kLabels)
      throw RowError("ctc", fmt::format("target_lengths must be in [0, {}], got {}", labels_, value), n);
    throw RowError("ctc",
                   fmt::format("labels must be in [0, {}) and not the blank {}, got {}", classes_, blank_, value), n);
  }

 private:
  bool fits(const KernelFrame& f, int64_t n, int64_t steps, int64_t labels) const {
    const auto wrong = [&](Wrong kind, int64_t value) {
      f.report(n * kWrongKinds + kind, static_cast<double>(value));
      return false;
    };
    if (steps < 0 || steps > steps_) return wrong(kSteps, steps);
    if (labels < 0 || labels > labels_) return wrong(kLabels, labels);
    const int64_t* target = f.in<int64_t>(1) + n * labels_;
    for (int64_t i = 0; i < labels; ++i)
      if (target[i] < 0 || target[i] >= classes_ || target[i] == blank_) return wrong(kLabel, target[i]);
    return true;
  }

  double one(const KernelFrame& f, int64_t n, int64_t steps, int64_t labels) const {
    if (steps == 0) return labels == 0 ? 0 : -kNever;
    const int64_t states = 2 * labels + 1;
    const int64_t* target = f.in<int64_t>(1) + n * labels_;
    const auto label = [&](int64_t s) { return s % 2 ? target[s / 2] : blank_; };
    const auto skips = [&](int64_t s) { return s % 2 && s > 1 && target[s / 2] != target[s / 2 - 1]; };
    const auto at = [&](int64_t t, int64_t s) {
      return static_cast<double>(f.in<T>(0)[(t * batch_ + n) * classes_ + label(s)]);
    };
    double* const before = static_cast<double*>(f.scratch);
    for (int64_t s = 0; s < states; ++s) before[s] = s < 2 ? at(0, s) : kNever;
    for (int64_t t = 1; t < steps; ++t) {
      const double* last = before + (t - 1) * states;
      for (int64_t s = 0; s < states; ++s) {
        double sum = last[s];
        if (s > 0) sum = log_add(sum, last[s - 1]);
        if (skips(s)) sum = log_add(sum, last[s - 2]);
        before[t * states + s] = sum + at(t, s);
      }
    }
    const double* end = before + (steps - 1) * states;
    const double likelihood = states > 1 ? log_add(end[states - 1], end[states - 2]) : end[0];
    if (likelihood == kNever) return -kNever;
    double *behind = before + steps * states, *next = behind + states;
    for (int64_t t = steps - 1; t >= 0; --t) {
      for (int64_t s = 0; s < states; ++s) {
        if (t == steps - 1) {
          behind[s] = s + 2 >= states ? 0 : kNever;
        } else {
          double sum = next[s] + at(t + 1, s);
          if (s + 1 < states) sum = log_add(sum, next[s + 1] + at(t + 1, s + 1));
          if (s + 2 < states && skips(s + 2)) sum = log_add(sum, next[s + 2] + at(t + 1, s + 2));
          behind[s] = sum;
        }
        T& slope = f.out<T>(1)[(t * batch_ + n) * classes_ + label(s)];
        slope -= static_cast<T>(std::exp(before[t * states + s] + behind[s] - likelihood));
      }
      std::swap(behind, next);
    }
    return -likelihood;
  }

  int64_t steps_, batch_, classes_, labels_, blank_;
};

[[maybe_unused]] const bool kCtcRegistered =
    register_kernels({{"ctc", "sums", [](const KernelRequest& r, std::string&) -> KernelPtr {
                         if (r.inputs[0].dtype == DType::float64) return std::make_unique<CtcKernel<double>>(r);
                         return std::make_unique<CtcKernel<float>>(r);
                       }}});

}  // namespace
}  // namespace isochron
