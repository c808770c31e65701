#include "isochron/ops/create.h"

#include <cmath>

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

Tensor iota(int64_t count, DType dtype) {
  return apply(kIota, std::initializer_list<Tensor>{}, {{"count", count}, {"dtype", static_cast<int64_t>(dtype)}});
}

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
template <class N>
Tensor tensor_from_numbers(const std::vector<N>& values, const Shape& shape, DType dtype) {
  const TensorSpec spec{dtype, shape};
  Storage bytes = Storage::allocate(static_cast<size_t>(spec.bytes()));
  visit_dtype(dtype, [&]<class T>(Type<T>) {
    T* out = reinterpret_cast<T*>(bytes.data());
    for (size_t i = 0; i < values.size(); ++i) {
      if (!holds<T>(values[i]))
        fail<ValueError>("tensor",
                         "{} does not fit {}; give a dtype it fits, or pass a std::vector, which keeps its type",
                         values[i], dtype);
      if constexpr (std::is_same_v<T, bfloat16> || std::is_same_v<T, float16>)
        out[i] = T(static_cast<float>(values[i]));
      else
        out[i] = static_cast<T>(values[i]);
    }
  });
  return Tensor::from_storage(std::move(bytes), spec);
}
template Tensor tensor_from_numbers(const std::vector<int64_t>&, const Shape&, DType);
template Tensor tensor_from_numbers(const std::vector<uint64_t>&, const Shape&, DType);
template Tensor tensor_from_numbers(const std::vector<double>&, const Shape&, DType);

Tensor integer_range(int64_t start, int64_t stop, int64_t step, std::optional<DType> wanted) {
  const DType dtype = wanted.value_or(DType::int64);
  if (is_floating(dtype))
    return arange(static_cast<double>(start), static_cast<double>(stop), static_cast<double>(step), dtype);
  if (step == 0) fail<ValueError>("arange", "needs a step other than 0, got {}, {}, {}", start, stop, step);
  const bool up = step > 0;
  int64_t count = 0;
  if (up ? start < stop : start > stop) {
    const auto from = static_cast<uint64_t>(start), to = static_cast<uint64_t>(stop), by = static_cast<uint64_t>(step);
    const uint64_t steps = ((up ? to - from : from - to) - 1) / (up ? by : -by);
    if (steps >= uint64_t{kLongestRange})
      fail<ValueError>("arange", "{} to {} by {} would have {} elements", start, stop, step, steps + 1);
    count = static_cast<int64_t>(steps) + 1;
    for (const int64_t end : {start, static_cast<int64_t>(from + steps * by)})
      if (!Operand(end).fits(dtype)) fail<ValueError>("arange", "{} does not fit {}; give a dtype it fits", end, dtype);
  }
  if (start == 0 && step == 1) return iota(count, dtype);
  return cast(iota(count, DType::int64) * step + start, dtype);
}
}  // namespace detail

Tensor constant(double value, DType dtype) {
  if (!Operand(value).fits(dtype)) fail<ValueError>("constant", "{} does not fit {}", value, dtype);
  return apply(kConstant, std::initializer_list<Tensor>{}, {{"value", value}, {"dtype", static_cast<int64_t>(dtype)}});
}

Tensor full(const Shape& shape, const Operand& value, DType dtype) {
  return broadcast_to(cast(value.tensor(dtype, "full"), dtype), shape);
}
Tensor zeros(const Shape& shape, DType dtype) { return full(shape, 0, dtype); }
Tensor ones(const Shape& shape, DType dtype) { return full(shape, 1, dtype); }
Tensor full_like(const Tensor& like, const Operand& value) {
  return full(like.shape(), value.tensor(like.dtype(), "full_like"), like.dtype());
}
Tensor zeros_like(const Tensor& like) { return zeros(like.shape(), like.dtype()); }
Tensor ones_like(const Tensor& like) { return ones(like.shape(), like.dtype()); }

Tensor arange(double start, double stop, double step, std::optional<DType> wanted) {
  if (!(step != 0) || !std::isfinite(start) || !std::isfinite(stop) || !std::isfinite(step))
    fail<ValueError>("arange", "needs finite numbers and a step other than 0, got {}, {}, {}", start, stop, step);
  const auto whole = [](double x) { return x == std::trunc(x) && holds<int64_t>(x); };
  const bool integers = whole(start) && whole(stop) && whole(step);
  const DType dtype = wanted.value_or(integers ? DType::int64 : DType::float32);
  if (integers && !is_floating(dtype))
    return detail::integer_range(static_cast<int64_t>(start), static_cast<int64_t>(stop), static_cast<int64_t>(step),
                                 dtype);
  const double wide_count = std::ceil((stop - start) / step);
  if (wide_count > static_cast<double>(kLongestRange))
    fail<ValueError>("arange", "{} to {} by {} would have {} elements", start, stop, step, wide_count);
  const auto count = static_cast<int64_t>(std::max(wide_count, 0.0));
  if (!is_floating(dtype)) return cast(iota(count, DType::float64) * step + start, dtype);
  if (start == 0 && step == 1) return iota(count, dtype);
  return iota(count, dtype) * constant(step, dtype) + constant(start, dtype);
}
Tensor arange(int64_t stop) { return arange(int64_t{0}, stop); }

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
