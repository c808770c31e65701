// Pooling and its gradients through kernels/conv/pool.
#include "isochron/kernels/conv/pool.h"

#include "isochron/kernels/conv_geometry.h"

namespace isochron {
namespace {

using kernels::PoolWork;

// Inputs of pick and backward come as (what is moved, x).
template <class T, PoolWork work>
class PoolKernel final : public Kernel {
 public:
  static constexpr bool kBackward = work == PoolWork::max_backward || work == PoolWork::mean_backward;
  explicit PoolKernel(const KernelRequest& request)
      : shape_(shape_of(request)), count_padding_(request.attributes().get_or("count_padding", false)) {}
  bool in_place(size_t input, size_t) const override {
    return work == PoolWork::max_backward && input == 1 && kernels::covers(shape_);
  }
  void run(const KernelFrame& f) const override {
    kernels::PoolArgs<T> args{.result = f.out<T>(), .count_padding = count_padding_};
    constexpr bool pair = work == PoolWork::max_pick || work == PoolWork::max_backward;
    if constexpr (work != PoolWork::mean_backward) args.x = f.in<T>(pair ? 1 : 0);
    if constexpr (kBackward) args.gradient = f.in<T>(0);
    if constexpr (work == PoolWork::max_pick) args.from = f.in<T>(0);
    kernels::pool(work, shape_, args, f.thread, f.threads);
  }

 private:
  static kernels::ConvShape shape_of(const KernelRequest& request) {
    const Shape &first = request.inputs[0].shape, &out = request.output().shape;
    return conv_shape(request.attributes(), kBackward ? out : first, kBackward ? first : out,
                      request.attributes().get<std::vector<int64_t>>("window"));
  }
  kernels::ConvShape shape_;
  bool count_padding_;
};

template <PoolWork work>
KernelPtr make_pool(const KernelRequest& request, std::string& why_not) {
  if (size_of(request.output().dtype) < 4) {
    why_not = "needs float32 or float64";
    return nullptr;
  }
  if (request.output().dtype == DType::float64) return std::make_unique<PoolKernel<double, work>>(request);
  return std::make_unique<PoolKernel<float, work>>(request);
}

[[maybe_unused]] const bool kPoolingRegistered = register_kernels({
    {"max_pool", "windows", make_pool<PoolWork::max>},
    {"max_pool_pick", "windows", make_pool<PoolWork::max_pick>},
    {"max_pool_backward", "windows", make_pool<PoolWork::max_backward>},
    {"avg_pool", "windows", make_pool<PoolWork::mean>},
    {"avg_pool_backward", "windows", make_pool<PoolWork::mean_backward>},
});

}  // namespace
}  // namespace isochron
