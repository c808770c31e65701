#include "isochron/nn/initializers.h"

#include <cmath>
#include <cstring>
#include <map>

#include "isochron/base/memory_info.h"
#include "isochron/base/names.h"
#include "isochron/base/orthonormal.h"
#include "isochron/base/rng.h"
#include "isochron/base/threads.h"
#include "isochron/nn/config.h"
#include "isochron/ops/random_key.h"
#include "isochron/tensor/deferred.h"
#include "isochron/timeline/timeline.h"

namespace isochron {
namespace {

// While one lives, new_storage() of its size hands out its bytes: for filling what was deferred where it lies.
class FillTarget {
 public:
  FillTarget(std::byte* to, size_t bytes) : bytes_(bytes), to_(to), before_(std::exchange(current(), this)) {}
  ~FillTarget() { current() = before_; }
  FillTarget(const FillTarget&) = delete;
  static FillTarget*& current() {
    thread_local FillTarget* target = nullptr;
    return target;
  }
  static Storage new_storage(size_t bytes) {
    const FillTarget* target = current();
    return target && target->bytes_ == bytes ? Storage::wrap(target->to_, bytes, [] {}) : Storage::allocate(bytes);
  }

 private:
  const size_t bytes_;
  std::byte* const to_;
  FillTarget* const before_;
};

// A new tensor filled by all threads: fill(T* out, begin, end).
template <class F>
Tensor filled(const Shape& shape, DType dtype, F&& fill) {
  if (dtype != DType::float32 && dtype != DType::float64)
    fail<DTypeError>("initializer", "fills float32 and float64, got {}", dtype);
  const TensorSpec spec{dtype, shape};
  Storage bytes = FillTarget::new_storage(static_cast<size_t>(spec.bytes()));
  const int64_t n = shape.elements();
  const auto run = [&](int thread, int threads) {
    const int64_t begin = n * thread / threads, end = n * (thread + 1) / threads;
    if (dtype == DType::float32)
      fill(reinterpret_cast<float*>(bytes.data()), begin, end);
    else
      fill(reinterpret_cast<double*>(bytes.data()), begin, end);
  };
  constexpr int64_t kShared = 1 << 16;  // fewer elements are done before another thread is awake
  if (n < kShared)
    run(0, 1);
  else
    ThreadTeam::global().parallel(ThreadTeam::global().size(), run);
  return Tensor::from_storage(std::move(bytes), spec);
}

Tensor constant_fill(const Shape& shape, DType dtype, double value) {
  const TensorSpec spec{dtype, shape};
  Storage bytes = FillTarget::new_storage(static_cast<size_t>(spec.bytes()));
  if (value == 0) {
    std::memset(bytes.data(), 0, static_cast<size_t>(spec.bytes()));
    return Tensor::from_storage(std::move(bytes), spec);
  }
  visit_dtype(dtype, [&]<class T>(Type<T>) {
    T* out = reinterpret_cast<T*>(bytes.data());
    if constexpr (std::is_same_v<T, bfloat16> || std::is_same_v<T, float16>)
      std::fill(out, out + shape.elements(), T(static_cast<float>(value)));
    else
      std::fill(out, out + shape.elements(), static_cast<T>(value));
  });
  return Tensor::from_storage(std::move(bytes), spec);
}

Tensor normal_fill(const Shape& shape, DType dtype, RandomSource s, double mean, double stddev) {
  return filled(shape, dtype, [&]<class T>(T* out, int64_t begin, int64_t end) {
    fill_normal(out, {s.seed, s.stream}, begin, end, static_cast<T>(mean), static_cast<T>(stddev));
  });
}
Tensor truncated_fill(const Shape& shape, DType dtype, RandomSource s, double mean, double stddev) {
  return filled(shape, dtype, [&]<class T>(T* out, int64_t begin, int64_t end) {
    fill_truncated_normal(out, {s.seed, s.stream}, begin, end, static_cast<T>(mean), static_cast<T>(stddev));
  });
}
Tensor uniform_fill(const Shape& shape, DType dtype, RandomSource s, double low, double high) {
  return filled(shape, dtype, [&]<class T>(T* out, int64_t begin, int64_t end) {
    fill_uniform(out, {s.seed, s.stream}, begin, end, static_cast<T>(low), static_cast<T>(high));
  });
}

Fans fans_of(const Shape& shape) {
  if (shape.rank() == 0) return {1, 1};
  if (shape.rank() == 1) return {static_cast<double>(shape[0]), static_cast<double>(shape[0])};
  const auto field = static_cast<double>(shape.elements(0, shape.rank() - 2));
  return {field * static_cast<double>(shape[-2]), field * static_cast<double>(shape[-1])};
}

// Rows (or columns, the fewer) of a random matrix made orthonormal; a second time where float32 would not hide the
// rounding errors of the first.
Tensor orthogonal_fill(const Shape& shape, DType dtype, RandomSource source, double gain) {
  if (shape.rank() < 2) fail<ShapeError>("orthogonal", "needs at least two axes, got {}", shape);
  const int64_t columns = shape[-1], rows = shape.elements() / std::max<int64_t>(columns, 1);
  const int64_t count = std::min(rows, columns), length = std::max(rows, columns);
  std::vector<double> v(static_cast<size_t>(count * length));
  fill_normal(v.data(), {source.seed, source.stream}, 0, count * length, 0.0, 1.0);
  for (int pass = 0; pass < (dtype == DType::float64 ? 2 : 1); ++pass) make_orthonormal(v.data(), count, length);
  return filled(shape, dtype, [&]<class T>(T* out, int64_t begin, int64_t end) {
    for (int64_t at = begin; at < end; ++at) {
      const int64_t row = at / columns, column = at % columns;
      out[at] = static_cast<T>(gain * (rows <= columns ? v[static_cast<size_t>(row * length + column)]
                                                       : v[static_cast<size_t>(column * length + row)]));
    }
  });
}

using Maker = Initializer (*)();
const std::map<std::string_view, Maker>& named_initializers() {
  static const std::map<std::string_view, Maker> makers = {
      {"zeros", [] { return initializers::zeros(); }},
      {"zero", [] { return initializers::zeros(); }},
      {"ones", [] { return initializers::ones(); }},
      {"one", [] { return initializers::ones(); }},
      {"constant", [] { return initializers::constant(0); }},
      {"random_normal", [] { return initializers::random_normal(); }},
      {"random_uniform", [] { return initializers::random_uniform(); }},
      {"normal", [] { return initializers::random_normal(); }},
      {"uniform", [] { return initializers::random_uniform(); }},
      {"truncated_normal", [] { return initializers::truncated_normal(); }},
      {"variance_scaling", [] { return initializers::variance_scaling(); }},
      {"glorot_uniform", [] { return initializers::glorot_uniform(); }},
      {"glorot_normal", [] { return initializers::glorot_normal(); }},
      {"xavier_uniform", [] { return initializers::glorot_uniform(); }},
      {"xavier_normal", [] { return initializers::glorot_normal(); }},
      {"he_uniform", [] { return initializers::he_uniform(); }},
      {"he_normal", [] { return initializers::he_normal(); }},
      {"lecun_uniform", [] { return initializers::lecun_uniform(); }},
      {"lecun_normal", [] { return initializers::lecun_normal(); }},
      {"orthogonal", [] { return initializers::orthogonal(); }},
      {"identity", [] { return initializers::identity(); }},
  };
  return makers;
}

}  // namespace

Initializer::Initializer(const char* name) {
  if (!name) fail<ValueError>("initializer", "weights need one, got nullptr; \"zeros\" starts them at 0");
  const auto& makers = named_initializers();
  const auto found = find_by_name(makers, name);
  if (found == makers.end()) {
    std::vector<std::string_view> known;
    for (const auto& [key, maker] : makers) known.push_back(key);
    fail<ValueError>("initializer", "unknown initializer \"{}\"{}", name, did_you_mean(name, known));
  }
  *this = found->second();
}

Initializer::Initializer(std::string name, Fill fill, std::optional<uint64_t> seed,
                         std::shared_ptr<const Config> recipe)
    : name_(std::move(name)), fill_(std::move(fill)), seed_(seed), recipe_(std::move(recipe)) {}

Initializer Initializer::with_fans(Fans fans) const {
  Initializer other = *this;
  other.fans_ = fans;
  return other;
}

Tensor Initializer::operator()(const Shape& shape, DType dtype) const {
  const TensorSpec spec{dtype, shape};
  RandomSource source = seed_ ? RandomSource{*seed_, 0} : RandomSource{get_seed(), take_random_streams(1)};
  source.fans = fans_;
  if (!worth_deferring(static_cast<size_t>(spec.bytes()))) return fill_(shape, dtype, source);
  const auto fill = [fill = fill_, name = name_, spec, source](std::byte* to) {
    ScopedSpan span(Phase::init, "init weights");
    if (const int64_t available = available_memory_bytes(); spec.bytes() > available)
      fail<MemoryError>(name, "a {} of shape {} needs {:.1f} GB; available {:.1f} GB", spec.dtype, spec.shape,
                        static_cast<double>(spec.bytes()) / 1e9, static_cast<double>(available) / 1e9);
    // In place, unless the fill is a user's own.
    FillTarget target(to, static_cast<size_t>(spec.bytes()));
    const Tensor filled = fill(spec.shape, spec.dtype, source);
    if (filled.raw_data() != to) std::memcpy(to, filled.raw_data(), static_cast<size_t>(spec.bytes()));
  };
  return Tensor::from_storage(deferred_storage(static_cast<size_t>(spec.bytes()), fill), spec);
}

namespace initializers {

// A seed of its own, so that no random numbers are used up.
constexpr uint64_t kNotRandom = 0;

Initializer zeros() { return constant(0); }
Initializer ones() { return constant(1); }
Initializer constant(double value) {
  return {"constant", [=](const Shape& s, DType d, RandomSource) { return constant_fill(s, d, value); }, kNotRandom,
          named_recipe("constant", ConstantOptions{value})};
}
Initializer random_normal(NormalOptions o) {
  return {"random_normal",
          [=](const Shape& s, DType d, RandomSource r) { return normal_fill(s, d, r, o.mean, o.stddev); }, o.seed,
          named_recipe("random_normal", o)};
}
Initializer truncated_normal(NormalOptions o) {
  return {"truncated_normal",
          [=](const Shape& s, DType d, RandomSource r) { return truncated_fill(s, d, r, o.mean, o.stddev); }, o.seed,
          named_recipe("truncated_normal", o)};
}
Initializer random_uniform(UniformOptions o) {
  if (!(o.minval < o.maxval))
    fail<ValueError>("random_uniform", "minval must be below maxval, got {} and {}", o.minval, o.maxval);
  return {"random_uniform",
          [=](const Shape& s, DType d, RandomSource r) { return uniform_fill(s, d, r, o.minval, o.maxval); }, o.seed,
          named_recipe("random_uniform", o)};
}

Initializer variance_scaling(VarianceScalingOptions o) {
  if (!(o.scale > 0)) fail<ValueError>("variance_scaling", "scale must be positive, got {}", o.scale);
  if (o.mode != "fan_in" && o.mode != "fan_out" && o.mode != "fan_avg")
    fail<ValueError>("variance_scaling", "unknown mode \"{}\"{}", o.mode,
                     did_you_mean(o.mode, {"fan_in", "fan_out", "fan_avg"}));
  if (o.distribution != "truncated_normal" && o.distribution != "untruncated_normal" && o.distribution != "uniform")
    fail<ValueError>("variance_scaling", "unknown distribution \"{}\"{}", o.distribution,
                     did_you_mean(o.distribution, {"truncated_normal", "untruncated_normal", "uniform"}));
  return {"variance_scaling",
          [=](const Shape& shape, DType dtype, RandomSource source) {
            const auto [in, out] = source.fans.value_or(fans_of(shape));
            const double fan = o.mode == "fan_in" ? in : o.mode == "fan_out" ? out : (in + out) / 2;
            const double variance = o.scale / std::max(1.0, fan);
            if (o.distribution == "uniform")
              return uniform_fill(shape, dtype, source, -std::sqrt(3 * variance), std::sqrt(3 * variance));
            if (o.distribution == "untruncated_normal")
              return normal_fill(shape, dtype, source, 0, std::sqrt(variance));
            // Cutting at two deviations narrows a normal to this fraction of its deviation.
            constexpr double kTruncatedDeviation = 0.87962566103423978;
            return truncated_fill(shape, dtype, source, 0, std::sqrt(variance) / kTruncatedDeviation);
          },
          o.seed, named_recipe("variance_scaling", o)};
}

Initializer glorot_uniform(std::optional<uint64_t> seed) { return variance_scaling({1, "fan_avg", "uniform", seed}); }
Initializer glorot_normal(std::optional<uint64_t> seed) {
  return variance_scaling({1, "fan_avg", "truncated_normal", seed});
}
Initializer he_uniform(std::optional<uint64_t> seed) { return variance_scaling({2, "fan_in", "uniform", seed}); }
Initializer he_normal(std::optional<uint64_t> seed) {
  return variance_scaling({2, "fan_in", "truncated_normal", seed});
}
Initializer lecun_uniform(std::optional<uint64_t> seed) { return variance_scaling({1, "fan_in", "uniform", seed}); }
Initializer lecun_normal(std::optional<uint64_t> seed) {
  return variance_scaling({1, "fan_in", "truncated_normal", seed});
}
Initializer orthogonal(double gain, std::optional<uint64_t> seed) {
  return {"orthogonal", [=](const Shape& s, DType d, RandomSource r) { return orthogonal_fill(s, d, r, gain); }, seed,
          named_recipe("orthogonal", OrthogonalOptions{gain, seed})};
}
Initializer identity(double gain) {
  return {"identity",
          [=](const Shape& shape, DType dtype, RandomSource) {
            if (shape.rank() != 2) fail<ShapeError>("identity", "starts matrices, got a weight of shape {}", shape);
            return filled(shape, dtype, [&]<class T>(T* out, int64_t begin, int64_t end) {
              for (int64_t at = begin; at < end; ++at)
                out[at] = at / shape[1] == at % shape[1] ? static_cast<T>(gain) : T{0};
            });
          },
          kNotRandom, named_recipe("identity", IdentityOptions{gain})};
}

}  // namespace initializers
}  // namespace isochron
