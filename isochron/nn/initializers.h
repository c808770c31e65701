// How weights start: by name ("glorot_uniform", "he_normal", "zeros", …) or as an object with options.
//
//   Dense(64, {.kernel_initializer = "he_normal"});
//   Dense(64, {.kernel_initializer = initializers::random_normal({.mean = 0, .stddev = 0.02, .seed = 7})});
//
// Numbers come from counter-based random bits, filled by all threads: a seed gives the same weights for any number of
// threads. Without a seed each call draws from the global one (set_seed()).
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>

#include "isochron/tensor/tensor.h"

namespace isochron {

// Where a fill gets its random numbers.
struct RandomSource {
  uint64_t seed = 0;
  uint64_t stream = 0;
};

class Initializer {
 public:
  using Fill = std::function<Tensor(const Shape& shape, DType dtype, RandomSource source)>;
  Initializer() : Initializer("glorot_uniform") {}
  Initializer(const char* name);
  Initializer(const std::string& name) : Initializer(name.c_str()) {}
  Initializer(std::string name, Fill fill, std::optional<uint64_t> seed = {});

  // A new tensor of this shape. MemoryError naming the numbers when it can't fit, before anything is allocated.
  Tensor operator()(const Shape& shape, DType dtype = DType::float32) const;
  const std::string& name() const { return name_; }

 private:
  std::string name_;
  Fill fill_;
  std::optional<uint64_t> seed_;
};

struct NormalOptions {
  double mean = 0;
  double stddev = 0.05;
  std::optional<uint64_t> seed = {};
};
struct UniformOptions {
  double minval = -0.05;
  double maxval = 0.05;
  std::optional<uint64_t> seed = {};
};
struct VarianceScalingOptions {
  double scale = 1;
  std::string mode = "fan_in";                    // fan_in, fan_out, fan_avg
  std::string distribution = "truncated_normal";  // truncated_normal, untruncated_normal, uniform
  std::optional<uint64_t> seed = {};
};

namespace initializers {

Initializer zeros();
Initializer ones();
Initializer constant(double value);
Initializer random_normal(NormalOptions options = {});
Initializer random_uniform(UniformOptions options = {});
Initializer truncated_normal(NormalOptions options = {});
Initializer variance_scaling(VarianceScalingOptions options = {});
Initializer glorot_uniform(std::optional<uint64_t> seed = {});
Initializer glorot_normal(std::optional<uint64_t> seed = {});
Initializer he_uniform(std::optional<uint64_t> seed = {});
Initializer he_normal(std::optional<uint64_t> seed = {});
Initializer lecun_uniform(std::optional<uint64_t> seed = {});
Initializer lecun_normal(std::optional<uint64_t> seed = {});
Initializer orthogonal(double gain = 1, std::optional<uint64_t> seed = {});

}  // namespace initializers

}  // namespace isochron
