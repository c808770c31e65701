#include "isochron/nn/resize_images.h"

#include <cmath>
#include <numbers>

#include "isochron/base/names.h"
#include "isochron/ops/create.h"
#include "isochron/ops/elementwise.h"
#include "isochron/ops/indexing.h"
#include "isochron/ops/matmul.h"
#include "isochron/ops/shape_ops.h"

namespace isochron {
namespace {

double lanczos(double x, double radius) {
  const double t = std::numbers::pi * x;
  return x == 0 ? 1 : radius * std::sin(t) * std::sin(t / radius) / (t * t);
}

// How much a pixel counts at a distance from it.
struct Kernel {
  const char* name;
  double radius;
  double (*weight)(double distance);
};
const Kernel kKernels[] = {
    {"bilinear", 1, [](double x) { return 1 - x; }},
    // Keys' cubic, a = -1/2.
    {"bicubic", 2, [](double x) { return x < 1 ? (1.5 * x - 2.5) * x * x + 1 : ((-0.5 * x + 2.5) * x - 4) * x + 2; }},
    {"lanczos3", 3, [](double x) { return lanczos(x, 3); }},
    {"lanczos5", 5, [](double x) { return lanczos(x, 5); }},
};

const Kernel* kernel_named(const std::string& name) {
  for (const Kernel& kernel : kKernels)
    if (name == kernel.name) return &kernel;
  return nullptr;
}

// (to, from): each row says how one pixel is made of the old ones. Those that would lie outside do not count.
Tensor mixture(int64_t from, int64_t to, const Kernel& kernel, DType dtype) {
  std::vector<float> weights(static_cast<size_t>(from * to));
  const double scale = static_cast<double>(from) / static_cast<double>(to);
  for (int64_t i = 0; i < to; ++i) {
    const double at = (static_cast<double>(i) + 0.5) * scale - 0.5;
    const auto first = std::max<int64_t>(0, static_cast<int64_t>(std::ceil(at - kernel.radius)));
    const auto last = std::min<int64_t>(from - 1, static_cast<int64_t>(std::floor(at + kernel.radius)));
    const auto weight = [&](int64_t p) { return kernel.weight(std::abs(static_cast<double>(p) - at)); };
    double total = 0;
    for (int64_t p = first; p <= last; ++p) total += weight(p);
    for (int64_t p = first; p <= last; ++p)
      weights[static_cast<size_t>(i * from + p)] = static_cast<float>(weight(p) / total);
  }
  return cast(Tensor::from_buffer(std::move(weights), {to, from}), dtype);
}

// The pixels that hold the centres of the new ones.
Tensor nearest(int64_t from, int64_t to) {
  std::vector<int64_t> places;
  for (int64_t i = 0; i < to; ++i) places.push_back(std::min(from - 1, (2 * i + 1) * from / (2 * to)));
  return Tensor::from_buffer(std::move(places), {to});
}

}  // namespace

void check_interpolation(const std::string& layer, const std::string& interpolation) {
  std::vector<std::string_view> known{"nearest"};
  for (const Kernel& kernel : kKernels) known.push_back(kernel.name);
  if (std::find(known.begin(), known.end(), interpolation) == known.end())
    fail<ValueError>(layer, "unknown interpolation \"{}\"{}", interpolation, did_you_mean(interpolation, known));
}

Tensor resize_images(const Tensor& x, int64_t height, int64_t width, const std::string& interpolation) {
  const int64_t batch = x.shape()[0], rows = x.shape()[1], columns = x.shape()[2], channels = x.shape()[3];
  const Kernel* kernel = kernel_named(interpolation);
  Tensor y = x;
  if (!kernel) {
    if (height != rows) y = gather(y, nearest(rows, height), 1);
    return width != columns ? gather(y, nearest(columns, width), 2) : y;
  }
  if (height != rows)
    y = matmul(mixture(rows, height, *kernel, x.dtype()), reshape(y, {batch, rows, columns * channels}));
  if (width != columns)
    y = matmul(mixture(columns, width, *kernel, x.dtype()), reshape(y, {batch * height, columns, channels}));
  return reshape(y, {batch, height, width, channels});
}

}  // namespace isochron
