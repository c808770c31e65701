#include "isochron/ops/create.h"

#include <cmath>
#include <limits>

#include "isochron/ops/elementwise.h"
#include "isochron/ops/op.h"
#include "isochron/ops/shape_ops.h"

namespace isochron {
namespace {

DType dtype_attribute(const RuleContext& c) { return static_cast<DType>(c.attributes.get<int64_t>("dtype")); }

const Op& kConstant = register_op({.name = "constant",
                                   .doc = "A scalar known when the graph is built.",
                                   .arity = 0,
                                   .rule = [](const RuleContext& c) -> Specs {
                                     return {{dtype_attribute(c), {}}};
                                   },
                                   .no_gradient = "it has no inputs",
                                   .elementwise = true});

const Op& kIota = register_op({.name = "iota",
                               .doc = "0, 1, 2, … along one axis.",
                               .arity = 0,
                               .rule = [](const RuleContext& c) -> Specs {
                                 return {{dtype_attribute(c), {c.attributes.get<int64_t>("count")}}};
                               },
                               .no_gradient = "it has no inputs"});

[[maybe_unused]] const bool kCreateComposites = register_composites({
    {"full", "A tensor of one value."},
    {"zeros", "A tensor of zeros."},
    {"ones", "A tensor of ones."},
    {"full_like", "One value in the shape and dtype of another tensor."},
    {"zeros_like", "Zeros in the shape and dtype of another tensor."},
    {"ones_like", "Ones in the shape and dtype of another tensor."},
    {"arange", "start, start + step, … below stop."},
    {"linspace", "Evenly spaced numbers, both ends included."},
    {"eye", "Ones on the diagonal, zeros elsewhere."},
});

}  // namespace

namespace detail {
Tensor tensor_from_doubles(std::vector<double> values, const Shape& shape, DType dtype) {
  const TensorSpec spec{dtype, shape};
  Storage bytes = Storage::allocate(static_cast<size_t>(spec.bytes()));
  visit_dtype(dtype, [&]<class T>(Type<T>) {
    T* out = reinterpret_cast<T*>(bytes.data());
    for (size_t i = 0; i < values.size(); ++i) {
      if constexpr (std::is_same_v<T, bfloat16> || std::is_same_v<T, float16>) {
        out[i] = T(static_cast<float>(values[i]));
      } else if constexpr (std::is_same_v<T, bool> || !std::is_integral_v<T>) {
        out[i] = static_cast<T>(values[i]);
      } else {
        using Limits = std::numeric_limits<T>;
        // The largest int64 is no double; 2^63 is, and lies above it.
        if (!(values[i] >= static_cast<double>(Limits::min()) && values[i] < static_cast<double>(Limits::max()) + 1))
          fail<ValueError>("tensor",
                           "{} does not fit {}; give a dtype it fits, or pass a std::vector, which keeps its type",
                           values[i], dtype);
        out[i] = static_cast<T>(values[i]);
      }
    }
  });
  return Tensor::from_storage(std::move(bytes), spec);
}
}  // namespace detail

Tensor constant(double value, DType dtype) {
  return apply(kConstant, std::initializer_list<Tensor>{}, {{"value", value}, {"dtype", static_cast<int64_t>(dtype)}});
}

Tensor scalar(double value, DType dtype) { return detail::tensor_from_doubles({value}, {}, dtype); }

Tensor full(const Shape& shape, const Operand& value, DType dtype) {
  return broadcast_to(cast(value.tensor(dtype), dtype), shape);
}
Tensor zeros(const Shape& shape, DType dtype) { return full(shape, 0, dtype); }
Tensor ones(const Shape& shape, DType dtype) { return full(shape, 1, dtype); }
Tensor full_like(const Tensor& like, const Operand& value) { return full(like.shape(), value, like.dtype()); }
Tensor zeros_like(const Tensor& like) { return zeros(like.shape(), like.dtype()); }
Tensor ones_like(const Tensor& like) { return ones(like.shape(), like.dtype()); }

Tensor arange(double start, double stop, double step, std::optional<DType> wanted) {
  if (!(step != 0) || !std::isfinite(start) || !std::isfinite(stop) || !std::isfinite(step))
    fail<ValueError>("arange", "needs finite numbers and a step other than 0, got {}, {}, {}", start, stop, step);
  const auto whole = [](double x) { return x == std::trunc(x); };
  const DType dtype = wanted.value_or(whole(start) && whole(stop) && whole(step) ? DType::int64 : DType::float32);
  const double count = std::ceil((stop - start) / step);
  if (count > 0x1p40) fail<ValueError>("arange", "{} to {} by {} would have {} elements", start, stop, step, count);
  const Tensor steps =
      apply(kIota, std::initializer_list<Tensor>{},
            {{"count", static_cast<int64_t>(std::max(count, 0.0))}, {"dtype", static_cast<int64_t>(dtype)}});
  if (start == 0 && step == 1) return steps;
  if (!is_floating(dtype) && !(whole(start) && whole(step)))
    return cast(cast(steps, DType::float64) * step + start, dtype);
  return steps * constant(step, dtype) + constant(start, dtype);
}
Tensor arange(int64_t stop) { return arange(0, static_cast<double>(stop)); }

Tensor linspace(double start, double stop, int64_t count, DType dtype) {
  if (count < 0) fail<ValueError>("linspace", "count must not be negative, got {}", count);
  if (!is_floating(dtype)) fail<DTypeError>("linspace", "needs a floating dtype, got {}", dtype);
  const Tensor i = arange(0, static_cast<double>(count), 1, DType::float64);
  const double last = static_cast<double>(std::max<int64_t>(count - 1, 1));
  // From both ends, so that the last element is exactly `stop`.
  const Tensor values =
      where(i * 2 < last, start + i * ((stop - start) / last), stop - (last - i) * ((stop - start) / last));
  return cast(count == 1 ? full({1}, start, DType::float64) : values, dtype);
}

Tensor eye(int64_t rows, int64_t columns, DType dtype) {
  if (columns == -1) columns = rows;
  if (rows < 0) fail<ValueError>("eye", "rows must not be negative, got {}", rows);
  if (columns < 0) fail<ValueError>("eye", "columns must not be negative, or -1 for as many as rows, got {}", columns);
  return cast(equal(reshape(arange(rows), {rows, 1}), arange(columns)), dtype);
}

}  // namespace isochron
