// Attention through kernels/attention.
#include "isochron/kernels/attention/attention.h"

#include "isochron/kernels/kernel.h"

namespace isochron {
namespace {

kernels::AttentionShape shape_of(const KernelRequest& request, size_t q, size_t mask) {
  const Shape &query = request.inputs[q].shape, &key = request.inputs[q + 1].shape,
              &value = request.inputs[q + 2].shape;
  kernels::AttentionShape s{.batch = query[0],
                            .heads = query[2],
                            .queries = query[1],
                            .keys = key[1],
                            .features = query[3],
                            .values = value[3],
                            .causal = request.attributes().get<bool>("causal"),
                            .scale = request.attributes().get<double>("scale"),
                            .kept = request.attributes().get_or<int64_t>("kept", 0)};
  if (mask < request.inputs.size()) {
    const Shape& m = request.inputs[mask].shape;
    s.mask_query = m[2] > 1 ? m[3] : 0;
    s.mask_head = m[1] > 1 ? m[2] * m[3] : 0;
    s.mask_batch = m[0] > 1 ? m[1] * m[2] * m[3] : 0;
  }
  return s;
}

template <class T>
class AttentionKernel final : public Kernel {
 public:
  AttentionKernel(const KernelRequest& request, bool backward)
      : shape_(shape_of(request, backward ? 1 : 0, backward ? 6 : 3)),
        masked_(request.inputs.size() > (backward ? 6u : 3u)),
        backward_(backward) {}
  size_t scratch_bytes(int) const override { return kernels::attention_scratch_bytes<T>(shape_, backward_); }
  void run(const KernelFrame& f) const override {
    if (backward_)
      return kernels::attention_backward<T>(shape_,
                                            {.q = f.in<T>(1),
                                             .k = f.in<T>(2),
                                             .v = f.in<T>(3),
                                             .y = const_cast<T*>(f.in<T>(4)),
                                             .log_sum = const_cast<T*>(f.in<T>(5)),
                                             .mask = masked_ ? f.in<bool>(6) : nullptr,
                                             .dy = f.in<T>(0),
                                             .dq = f.out<T>(0),
                                             .dk = f.out<T>(1),
                                             .dv = f.out<T>(2),
                                             .probabilities = shape_.kept ? const_cast<T*>(f.in<T>(5)) : nullptr},
                                            f.scratch, f.thread, f.threads);
    kernels::attention<T>(shape_,
                          {.q = f.in<T>(0),
                           .k = f.in<T>(1),
                           .v = f.in<T>(2),
                           .y = f.out<T>(0),
                           .log_sum = f.out<T>(1),
                           .mask = masked_ ? f.in<bool>(3) : nullptr,
                           .probabilities = shape_.kept ? f.out<T>(2) : nullptr},
                          f.scratch, f.thread, f.threads);
  }

 private:
  kernels::AttentionShape shape_;
  bool masked_, backward_;
};

template <bool backward>
KernelPtr make_attention(const KernelRequest& request, std::string&) {
  if (request.output().dtype == DType::float64) return std::make_unique<AttentionKernel<double>>(request, backward);
  return std::make_unique<AttentionKernel<float>>(request, backward);
}

[[maybe_unused]] const bool kAttentionRegistered = register_kernels(
    {{"attention", "blocks", make_attention<false>}, {"attention_backward", "blocks", make_attention<true>}});

}  // namespace
}  // namespace isochron
