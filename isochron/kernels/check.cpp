// check_finite: a copy that looks at what it copies.
#include <cmath>

#include "isochron/kernels/kernel.h"

namespace isochron {
namespace {

class CheckFiniteKernel final : public Kernel {
 public:
  explicit CheckFiniteKernel(const KernelRequest& request)
      : spec_(request.inputs[0]), what_(request.attributes().get<std::string>("what")) {}
  bool in_place(size_t, size_t) const override { return true; }
  void run(const KernelFrame& f) const override {
    visit_dtype(spec_.dtype, [&]<class T>(Type<T>) {
      const Share share = share_of(f, spec_.shape.elements(), 64);
      const T* in = f.in<T>(0);
      T* out = f.out<T>();
      int64_t bad = -1;
      for (int64_t i = share.begin; i < share.end; ++i) {
        // x - x is 0 for every finite x and NaN for the others.
        const auto x = static_cast<double>(in[i]);
        if (x - x != 0 && bad < 0) bad = i;
        out[i] = in[i];
      }
      if (bad >= 0) f.report(bad, static_cast<double>(out[bad]));
    });
  }
  void raise(const KernelFrame& f, int64_t element) const override {
    const double value = f.fault->value();
    const char* shown = std::isnan(value) ? "nan" : value > 0 ? "inf" : "-inf";
    if (spec_.shape.elements() == 1) fail<NumericError>("check_finite", "{} must be finite, got {}", what_, shown);
    fail<NumericError>("check_finite", "{} must be finite, got {} at element {} of {}", what_, shown, element,
                       spec_.shape);
  }

 private:
  TensorSpec spec_;
  std::string what_;
};

[[maybe_unused]] const bool kCheckRegistered =
    register_kernels({{"check_finite", "loop", [](const KernelRequest& r, std::string&) -> KernelPtr {
                         return std::make_unique<CheckFiniteKernel>(r);
                       }}});

}  // namespace
}  // namespace isochron
