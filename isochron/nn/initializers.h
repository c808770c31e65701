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
#include <memory>
#include <optional>
#include <string>

#include "isochron/base/options.h"
#include "isochron/tensor/tensor.h"

namespace isochron {

class Config;  // config.h

// Numbers that a unit of a weight adds up, and units that a number goes to: what some initialisers scale by.
struct Fans {
  double in = 1, out = 1;
};

// Where a fill gets its random numbers.
struct RandomSource {
  uint64_t seed = 0;
  uint64_t stream = 0;
  std::optional<Fans> fans = {};  // when the shape does not tell them
};

class Initializer {
 public:
  using Fill = std::function<Tensor(const Shape& shape, DType dtype, RandomSource source)>;
  Initializer() : Initializer("glorot_uniform") {}
  Initializer(const char* name);
  Initializer(const std::string& name) : Initializer(name.c_str()) {}
  // `recipe` says how to make it again (named_recipe()); without one it can't be saved with a model.
  Initializer(std::string name, Fill fill, std::optional<uint64_t> seed = {},
              std::shared_ptr<const Config> recipe = {});

  // The same for a weight whose shape does not tell its fans, such as a kernel with an axis of heads. Read from a
  // shape, the last two axes are in and out, and those before what a unit of a convolution sees, as in Keras.
  Initializer with_fans(Fans fans) const;

  // A new tensor of this shape. MemoryError naming the numbers when it can't fit, before anything is allocated.
  Tensor operator()(const Shape& shape, DType dtype = DType::float32) const;
  const std::string& name() const { return name_; }
  const std::shared_ptr<const Config>& recipe() const { return recipe_; }

 private:
  std::string name_;
  Fill fill_;
  std::optional<uint64_t> seed_;
  std::shared_ptr<const Config> recipe_;
  std::optional<Fans> fans_;
};

struct ConstantOptions {
  double value = 0;
};
ISO_OPTIONS(ConstantOptions, value)
struct NormalOptions {
  double mean = 0;
  double stddev = 0.05;
  std::optional<uint64_t> seed = {};
};
ISO_OPTIONS(NormalOptions, mean, stddev, seed)
struct UniformOptions {
  double minval = -0.05;
  double maxval = 0.05;
  std::optional<uint64_t> seed = {};
};
ISO_OPTIONS(UniformOptions, minval, maxval, seed)
struct VarianceScalingOptions {
  double scale = 1;
  std::string mode = "fan_in";                    // fan_in, fan_out, fan_avg
  std::string distribution = "truncated_normal";  // truncated_normal, untruncated_normal, uniform
  std::optional<uint64_t> seed = {};
};
ISO_OPTIONS(VarianceScalingOptions, scale, mode, distribution, seed)
struct OrthogonalOptions {
  double gain = 1;
  std::optional<uint64_t> seed = {};
};
ISO_OPTIONS(OrthogonalOptions, gain, seed)
struct IdentityOptions {
  double gain = 1;
};
ISO_OPTIONS(IdentityOptions, gain)

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
Initializer identity(double gain = 1);  // of matrices: gain on the diagonal; ShapeError for other ranks

}  // namespace initializers

}  // namespace isochron
