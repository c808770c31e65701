// Convolutions and their gradients: by Winograd's method, tap by tap for depthwise ones, as matrix products for all.
#include "isochron/kernels/conv/conv_gemm.h"
#include "isochron/kernels/conv/depthwise.h"
#include "isochron/kernels/conv/winograd.h"
#include "isochron/kernels/conv_geometry.h"
#include "isochron/kernels/epilogue.h"
#include "isochron/kernels/share.h"

namespace isochron {
namespace {

using kernels::ConvEpilogue;
using kernels::ConvShape;

enum class Role { forward, input_grad, kernel_grad };

ConvShape shape_of(const KernelRequest& request, Role role) {
  const Shape &a = request.inputs[0].shape, &b = request.inputs[1].shape, &out = request.output().shape;
  const Shape& kernel = role == Role::kernel_grad ? out : b;
  const Shape& x = role == Role::input_grad ? out : a;
  const Shape& y = role == Role::forward ? out : role == Role::input_grad ? a : b;
  ConvShape s = conv_shape(request.attributes(), x, y, kernel.dims().first(static_cast<size_t>(kernel.rank() - 2)));
  s.groups = request.attributes().get<int64_t>("groups");
  return s;
}

template <class T>
class Finish {
 public:
  explicit Finish(const KernelRequest& request) : epilogue_(epilogue_of(request)) {
    activation_ = kernels::activation_function(epilogue_.activation, dtype_of<T>());
  }
  ConvEpilogue<T> of(const KernelFrame& f) const {
    return {.bias = epilogue_.bias ? f.in<T>(2) : nullptr,
            .activation = activation_,
            .relu = relu(),
            .immediates = {epilogue_.alpha, 0},
            .pre_activation = epilogue_.pre_activation ? f.out<T>(1) : nullptr};
  }
  bool relu() const { return epilogue_.activation == kernels::GemmActivation::relu && !epilogue_.pre_activation; }
  bool any() const { return activation_ != nullptr; }
  // Whether something is left to do when bias and relu are done.
  bool more() const { return activation_ && !relu(); }
  void run(const KernelFrame& f, int64_t elements) const {
    const kernels::Share mine = kernels::share_of(elements, 64, f.thread, f.threads);
    const int64_t count = mine.end - mine.begin;
    if (count <= 0) return;
    const ConvEpilogue<T> e = of(f);
    T* y = f.out<T>() + mine.begin;
    if (e.pre_activation) std::copy_n(y, count, e.pre_activation + mine.begin);
    e.activation(y, y, nullptr, nullptr, count, e.immediates);
  }

 private:
  Epilogue epilogue_;
  kernels::TileFunction activation_;
};

class WinogradForward final : public Kernel {
 public:
  WinogradForward(const KernelRequest& request, const ConvShape& shape)
      : shape_(shape), finish_(request), elements_(request.output().shape.elements()) {}
  size_t scratch_bytes(int) const override { return kernels::winograd_scratch_bytes(shape_); }
  size_t shared_bytes(int) const override { return kernels::winograd_kernel_bytes(shape_); }
  int stages() const override { return finish_.more() ? 3 : 2; }
  int variants() const override { return kernels::kWinogradBlocks; }
  void run(const KernelFrame& f) const override {
    auto* carried = static_cast<float*>(f.shared);
    if (f.stage == 0) return kernels::winograd_carry_kernel(shape_, f.in<float>(1), carried, f.thread, f.threads);
    if (f.stage == 2) return finish_.run(f, elements_);
    kernels::winograd_forward(shape_, f.in<float>(0), carried, finish_.of(f), f.out<float>(), f.scratch, f.thread,
                              f.threads, static_cast<kernels::WinogradBlock>(f.variant));
  }

 private:
  ConvShape shape_;
  Finish<float> finish_;
  int64_t elements_;
};

class WinogradInputGrad final : public Kernel {
 public:
  explicit WinogradInputGrad(const ConvShape& shape) : shape_(shape) {}
  size_t scratch_bytes(int) const override { return kernels::winograd_scratch_bytes(shape_); }
  size_t shared_bytes(int) const override { return kernels::winograd_kernel_bytes(shape_); }
  int stages() const override { return 2; }
  int variants() const override { return kernels::kWinogradBlocks; }
  void run(const KernelFrame& f) const override {
    auto* carried = static_cast<float*>(f.shared);
    if (f.stage == 0)
      return kernels::winograd_carry_turned_kernel(shape_, f.in<float>(1), carried, f.thread, f.threads);
    kernels::winograd_input_grad(shape_, f.in<float>(0), carried, f.out<float>(), f.scratch, f.thread, f.threads,
                                 static_cast<kernels::WinogradBlock>(f.variant));
  }

 private:
  ConvShape shape_;
};

class WinogradKernelGrad final : public Kernel {
 public:
  explicit WinogradKernelGrad(const ConvShape& shape) : shape_(shape) {}
  size_t scratch_bytes(int) const override { return kernels::winograd_scratch_bytes(shape_); }
  size_t shared_bytes(int threads) const override { return kernels::winograd_sums_bytes(shape_, threads); }
  int stages() const override { return 2; }
  void run(const KernelFrame& f) const override {
    auto* sums = static_cast<float*>(f.shared);
    if (f.stage == 0)
      return kernels::winograd_sum_tiles(shape_, f.in<float>(0), f.in<float>(1), sums, f.scratch, f.thread, f.threads);
    kernels::winograd_kernel_grad(shape_, sums, f.out<float>(), f.thread, f.threads);
  }

 private:
  ConvShape shape_;
};

template <Role role>
KernelPtr make_winograd(const KernelRequest& request, std::string& why_not) {
  const ConvShape shape = shape_of(request, role);
  const char* refusal = request.output().dtype == DType::float32 ? kernels::winograd_refusal(shape) : "needs float32";
  if (refusal) {
    why_not = refusal;
    return nullptr;
  }
  if constexpr (role == Role::forward) return std::make_unique<WinogradForward>(request, shape);
  if constexpr (role == Role::input_grad) return std::make_unique<WinogradInputGrad>(shape);
  return std::make_unique<WinogradKernelGrad>(shape);
}

class DepthwiseForward final : public Kernel {
 public:
  DepthwiseForward(const KernelRequest& request, const ConvShape& shape)
      : shape_(shape), finish_(request), elements_(request.output().shape.elements()) {}
  int stages() const override { return finish_.any() ? 2 : 1; }
  void run(const KernelFrame& f) const override {
    if (f.stage == 1) return finish_.run(f, elements_);
    kernels::depthwise_forward(shape_, f.in<float>(0), f.in<float>(1), finish_.of(f).bias, f.out<float>(), f.thread,
                               f.threads);
  }

 private:
  ConvShape shape_;
  Finish<float> finish_;
  int64_t elements_;
};

template <Role role>
KernelPtr make_depthwise(const KernelRequest& request, std::string& why_not) {
  const ConvShape s = shape_of(request, role);
  if (request.output().dtype != DType::float32 || !kernels::is_depthwise(s)) {
    why_not = "needs float32 and one filter for each channel";
    return nullptr;
  }
  if constexpr (role == Role::forward) return std::make_unique<DepthwiseForward>(request, s);
  return make_kernel([s](const KernelFrame& f) {
    const auto *a = f.in<float>(0), *b = f.in<float>(1);
    if constexpr (role == Role::input_grad)
      kernels::depthwise_input_grad(s, a, b, f.out<float>(), f.thread, f.threads);
    else
      kernels::depthwise_kernel_grad(s, a, b, f.out<float>(), f.thread, f.threads);
  });
}

template <class T, Role role>
class GemmConvolution final : public Kernel {
 public:
  GemmConvolution(const KernelRequest& request, const ConvShape& shape) : shape_(shape), finish_(request) {}
  size_t scratch_bytes(int threads) const override {
    if (role == Role::forward) return kernels::conv_forward_scratch<T>(shape_);
    if (role == Role::input_grad) return kernels::conv_input_grad_scratch<T>(shape_);
    return kernels::conv_kernel_grad_scratch<T>(shape_, threads);
  }
  size_t shared_bytes(int) const override {
    return role == Role::input_grad ? static_cast<size_t>(shape_.depth() * shape_.out_channels) * sizeof(T) : 0;
  }
  int stages() const override { return role == Role::input_grad ? 2 : 1; }
  void run(const KernelFrame& f) const override {
    const T *a = f.in<T>(0), *b = f.in<T>(1);
    if constexpr (role == Role::forward) {
      kernels::conv_forward(shape_, a, b, finish_.of(f), f.out<T>(), f.scratch, f.thread, f.threads);
    } else if constexpr (role == Role::kernel_grad) {
      kernels::conv_kernel_grad(shape_, a, b, f.out<T>(), f.scratch, f.thread, f.threads);
    } else {
      T* turned = static_cast<T*>(f.shared);
      if (f.stage == 0) return kernels::turn_kernel(shape_, b, turned, f.thread, f.threads);
      kernels::conv_input_grad<T>(shape_, a, turned, f.out<T>(), f.scratch, f.thread, f.threads);
    }
  }

 private:
  ConvShape shape_;
  Finish<T> finish_;
};

template <Role role>
KernelPtr make_gemm(const KernelRequest& request, std::string& why_not) {
  if (size_of(request.output().dtype) < 4) {
    why_not = "needs float32 or float64";
    return nullptr;
  }
  const ConvShape shape = shape_of(request, role);
  if (request.output().dtype == DType::float64) return std::make_unique<GemmConvolution<double, role>>(request, shape);
  return std::make_unique<GemmConvolution<float, role>>(request, shape);
}

[[maybe_unused]] const bool kConvolutionRegistered = register_kernels({
    {"conv", "winograd", make_winograd<Role::forward>},
    {"conv", "depthwise", make_depthwise<Role::forward>},
    {"conv", "gemm", make_gemm<Role::forward>},
    {"conv_epilogue", "winograd", make_winograd<Role::forward>},
    {"conv_epilogue", "depthwise", make_depthwise<Role::forward>},
    {"conv_epilogue", "gemm", make_gemm<Role::forward>},
    {"conv_input_grad", "winograd", make_winograd<Role::input_grad>},
    {"conv_input_grad", "depthwise", make_depthwise<Role::input_grad>},
    {"conv_input_grad", "gemm", make_gemm<Role::input_grad>},
    {"conv_kernel_grad", "winograd", make_winograd<Role::kernel_grad>},
    {"conv_kernel_grad", "depthwise", make_depthwise<Role::kernel_grad>},
    {"conv_kernel_grad", "gemm", make_gemm<Role::kernel_grad>},
});

}  // namespace
}  // namespace isochron
