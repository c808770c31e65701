// Random tensors: every thread fills its share of a stream given by the key input.
#include "isochron/base/rng.h"
#include "isochron/kernels/kernel.h"

namespace isochron {
namespace {

// A kernel from fill(frame, stream, begin, end).
template <class Fill>
KernelPtr filling(const KernelRequest& request, Fill fill) {
  const int64_t n = request.output().shape.elements(), offset = request.attributes().get<int64_t>("offset");
  return make_kernel([n, offset, fill](const KernelFrame& f) {
    const int64_t* key = f.in<int64_t>(0);
    const RandomStream stream{static_cast<uint64_t>(key[0]), static_cast<uint64_t>(key[1] + offset)};
    const Share share = share_of(f, n, 64);
    fill(f, stream, share.begin, share.end);
  });
}

enum class Distribution { uniform, normal, truncated_normal };

template <Distribution which>
KernelPtr make_real(const KernelRequest& request, std::string&) {
  const bool uniform = which == Distribution::uniform;
  const double a = request.attributes().get<double>(uniform ? "low" : "mean"),
               b = request.attributes().get<double>(uniform ? "high" : "stddev");
  const auto typed = [&]<class T>(Type<T>) {
    const auto first = static_cast<T>(a), second = static_cast<T>(b);
    return filling(request, [first, second](const KernelFrame& f, RandomStream s, int64_t begin, int64_t end) {
      if constexpr (which == Distribution::uniform)
        fill_uniform(f.out<T>(), s, begin, end, first, second);
      else if constexpr (which == Distribution::normal)
        fill_normal(f.out<T>(), s, begin, end, first, second);
      else
        fill_truncated_normal(f.out<T>(), s, begin, end, first, second);
    });
  };
  return request.output().dtype == DType::float64 ? typed(Type<double>{}) : typed(Type<float>{});
}

KernelPtr make_bernoulli(const KernelRequest& request, std::string&) {
  const double p = request.attributes().get<double>("probability");
  const bool real = request.output().dtype == DType::float32;
  return filling(request, [p, real](const KernelFrame& f, RandomStream s, int64_t begin, int64_t end) {
    if (real)
      fill_bernoulli(f.out<float>(), s, begin, end, p);
    else
      fill_bernoulli(f.out<uint8_t>(), s, begin, end, p);
  });
}

KernelPtr make_integers(const KernelRequest& request, std::string&) {
  const int64_t low = request.attributes().get<int64_t>("low"), high = request.attributes().get<int64_t>("high");
  return filling(request, [low, high](const KernelFrame& f, RandomStream s, int64_t begin, int64_t end) {
    fill_integers(f.out<int64_t>(), s, begin, end, low, high);
  });
}

KernelPtr make_permutation(const KernelRequest& request, std::string&) {
  const auto n = static_cast<uint64_t>(request.output().shape.elements());
  return filling(request, [n](const KernelFrame& f, RandomStream s, int64_t begin, int64_t end) {
    if (begin == end) return;
    const Permutation permutation(s.seed, s.stream, n);
    for (int64_t i = begin; i < end; ++i)
      f.out<int64_t>()[i] = static_cast<int64_t>(permutation(static_cast<uint64_t>(i)));
  });
}

[[maybe_unused]] const bool kRandomRegistered =
    register_kernels({{"random_uniform", "philox", make_real<Distribution::uniform>},
                      {"random_normal", "philox", make_real<Distribution::normal>},
                      {"random_truncated_normal", "philox", make_real<Distribution::truncated_normal>},
                      {"random_bernoulli", "philox", make_bernoulli},
                      {"random_integers", "philox", make_integers},
                      {"random_permutation", "philox", make_permutation}});

}  // namespace
}  // namespace isochron
