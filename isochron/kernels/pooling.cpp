// Pooling and its gradients through kernels/conv/pool.
#include "isochron/kernels/conv/pool.h"

#include "isochron/kernels/conv_geometry.h"

namespace isochron {
namespace {

using kernels::PoolWork;

// Inputs of pick and backward come as (what is moved, x).
template <PoolWork work>
KernelPtr make_pool(const KernelRequest& request, std::string&) {
  const bool backward = work == PoolWork::max_backward || work == PoolWork::mean_backward;
  const Shape &first = request.inputs[0].shape, &out = request.output().shape;
  const auto& window = request.attributes().get<std::vector<int64_t>>("window");
  const kernels::ConvShape shape =
      conv_shape(request.attributes(), backward ? out : first, backward ? first : out, window);
  const bool count_padding = request.attributes().get_or("count_padding", false);
  const auto kernel = [&]<class T>(Type<T>) {
    return make_kernel([shape, count_padding](const KernelFrame& f) {
      kernels::PoolArgs<T> args{.result = f.out<T>(), .count_padding = count_padding};
      constexpr bool pair = work == PoolWork::max_pick || work == PoolWork::max_backward;
      constexpr bool is_backward = work == PoolWork::max_backward || work == PoolWork::mean_backward;
      if (work != PoolWork::mean_backward) args.x = f.in<T>(pair ? 1 : 0);
      if (is_backward) args.gradient = f.in<T>(0);
      if (work == PoolWork::max_pick) args.from = f.in<T>(0);
      kernels::pool(work, shape, args, f.thread, f.threads);
    });
  };
  return request.output().dtype == DType::float64 ? kernel(Type<double>{}) : kernel(Type<float>{});
}

[[maybe_unused]] const bool kRegistered = register_kernels({
    {"max_pool", "windows", make_pool<PoolWork::max>},
    {"max_pool_pick", "windows", make_pool<PoolWork::max_pick>},
    {"max_pool_backward", "windows", make_pool<PoolWork::max_backward>},
    {"avg_pool", "windows", make_pool<PoolWork::mean>},
    {"avg_pool_backward", "windows", make_pool<PoolWork::mean_backward>},
});

}  // namespace
}  // namespace isochron
