// check_finite: a copy that looks at what it copies, and at what else it is given.
#include <cmath>

#include "isochron/kernels/kernel.h"

namespace isochron {
namespace {

template <class T>
bool is_bad(T x) {
  // x - x is 0 for every finite x and NaN for the others.
  const auto wide = static_cast<double>(x);
  return wide - wide != 0;
}

// Whether any of these is not finite: an exponent of ones, which compilers look for in whole vectors.
template <class T>
bool any_bad(const T* x, int64_t count) {
  if constexpr (std::is_same_v<T, float>) {
    constexpr uint32_t kExponent = 0x7f800000;
    uint32_t found = 0;
    for (int64_t i = 0; i < count; ++i) {
      uint32_t bits;
      std::memcpy(&bits, x + i, sizeof bits);
      found |= (bits & kExponent) == kExponent ? 1 : 0;
    }
    return found != 0;
  } else {
    bool found = false;
    for (int64_t i = 0; i < count; ++i) found |= is_bad(x[i]);
    return found;
  }
}

class CheckFiniteKernel final : public Kernel {
 public:
  explicit CheckFiniteKernel(const KernelRequest& request)
      : specs_(request.inputs), what_(request.attributes().get<std::string>("what")) {}
  bool in_place(size_t input, size_t) const override { return input == 0; }

  // Elements of all inputs are counted on, so that the report with the lowest number is of the first bad input.
  void run(const KernelFrame& f) const override {
    int64_t before = 0;
    for (size_t input = 0; input < specs_.size(); ++input) {
      const int64_t count = specs_[input].shape.elements();
      visit_dtype(specs_[input].dtype, [&]<class T>(Type<T>) {
        const Share share = share_of(f, count, 64);
        const T* in = f.in<T>(input);
        if (any_bad(in + share.begin, share.end - share.begin)) {
          int64_t bad = share.begin;
          while (!is_bad(in[bad])) ++bad;
          f.report(before + bad, static_cast<double>(in[bad]));
        }
        if (input == 0 && f.out<T>() != in) std::copy(in + share.begin, in + share.end, f.out<T>() + share.begin);
      });
      before += count;
    }
  }

  void raise(const KernelFrame& f, int64_t element) const override {
    size_t input = 0, line = 0;
    for (; element >= specs_[input].shape.elements(); ++input) {
      element -= specs_[input].shape.elements();
      line = what_.find('\n', line) + 1;
    }
    const std::string what = what_.substr(line, what_.find('\n', line) - line);
    const double value = f.fault->value();
    const char* shown = std::isnan(value) ? "nan" : value > 0 ? "inf" : "-inf";
    const Shape& shape = specs_[input].shape;
    if (input > 0 || shape.elements() == 1)
      fail<NumericError>("check_finite", "{} must be finite, got {}", what, shown);
    fail<NumericError>("check_finite", "{} must be finite, got {} at element {} of {}", what, shown, element, shape);
  }

 private:
  std::vector<TensorSpec> specs_;
  std::string what_;
};

[[maybe_unused]] const bool kCheckRegistered =
    register_kernels({{"check_finite", "loop", [](const KernelRequest& r, std::string&) -> KernelPtr {
                         return std::make_unique<CheckFiniteKernel>(r);
                       }}});

}  // namespace
}  // namespace isochron
