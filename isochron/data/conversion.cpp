#include "isochron/data/conversion.h"

#include <cmath>
#include <cstring>
#include <limits>

namespace isochron::data {
namespace {

// As the op cast: what is no integer is truncated, what is out of range clamped, and NaN is 0.
template <class To>
To from_real(double value) {
  if constexpr (std::is_same_v<To, bfloat16> || std::is_same_v<To, float16>) return To(static_cast<float>(value));
  if constexpr (std::is_integral_v<To> && !std::is_same_v<To, bool>) {
    using Limits = std::numeric_limits<To>;
    if (std::isnan(value)) return 0;
    if (value >= std::ldexp(1, Limits::digits)) return Limits::max();
    if (value < static_cast<double>(Limits::min())) return Limits::min();
  }
  return static_cast<To>(value);
}

template <class To, class From>
void convert_row(const std::byte* from_bytes, std::byte* to_bytes, const Conversion& c, int64_t count) {
  const From* from = reinterpret_cast<const From*>(from_bytes);
  To* to = reinterpret_cast<To*>(to_bytes);
  if (c.scale == 1 && c.shift == 0) {
    for (int64_t i = 0; i < count; ++i) to[i] = static_cast<To>(from[i]);
    return;
  }
  if constexpr (std::is_same_v<To, float> && sizeof(From) <= 4) {
    const auto scale = static_cast<float>(c.scale), shift = static_cast<float>(c.shift);
    for (int64_t i = 0; i < count; ++i) to[i] = static_cast<float>(from[i]) * scale + shift;
  } else {
    for (int64_t i = 0; i < count; ++i)
      to[i] = static_cast<To>(static_cast<float>(static_cast<double>(from[i]) * c.scale + c.shift));
  }
}

}  // namespace

std::string to_string(const Conversions& conversions) {
  std::string text;
  for (size_t i = 0; i < conversions.size(); ++i) {
    const Conversion& c = conversions[i];
    if (c.nothing()) continue;
    text += fmt::format("{}{}: {}", text.empty() ? "" : ", ", i, c.dtype ? name_of(*c.dtype) : "");
    if (c.scale != 1) text += fmt::format(" * {:.6g}", c.scale);
    if (c.shift != 0) text += fmt::format(" + {:.6g}", c.shift);
  }
  return "cast " + text;
}

void convert(const std::byte* from, DType from_dtype, std::byte* to, const Conversion& conversion, int64_t count) {
  const DType target = conversion.result(from_dtype);
  if (target == from_dtype && conversion.scale == 1 && conversion.shift == 0) {
    std::memcpy(to, from, static_cast<size_t>(count) * size_of(target));
    return;
  }
  visit_dtype(from_dtype, [&]<class From>(Type<From>) {
    if (target == DType::float32) return convert_row<float, From>(from, to, conversion, count);
    visit_dtype(target, [&]<class To>(Type<To>) {
      const From* source = reinterpret_cast<const From*>(from);
      To* out = reinterpret_cast<To*>(to);
      if constexpr (std::is_integral_v<From> && std::is_integral_v<To>)
        if (conversion.scale == 1 && conversion.shift == 0) {  // by way of double, large numbers would be others
          for (int64_t i = 0; i < count; ++i) out[i] = static_cast<To>(source[i]);
          return;
        }
      for (int64_t i = 0; i < count; ++i)
        out[i] = from_real<To>(static_cast<double>(source[i]) * conversion.scale + conversion.shift);
    });
  });
}

void check_components(const Conversions& conversions, size_t components) {
  if (conversions.size() > components)
    fail<IndexError>("cast", "there is no component {}: elements have {}", conversions.size() - 1, components);
}

void check_no_text(const Conversions& conversions, size_t component) {
  if (component < conversions.size() && !conversions[component].nothing())
    fail<DTypeError>("cast", "component {} is text; map() it to numbers first", component);
}

Element converted(const Element& element, const Conversions& conversions) {
  check_components(conversions, element.size());
  Element out;
  out.set_names(element.names());
  for (size_t c = 0; c < element.size(); ++c) {
    if (c >= conversions.size() || conversions[c].nothing()) {
      out.add(element[c]);
      continue;
    }
    if (element[c].is_text()) check_no_text(conversions, c);
    const TensorSpec spec{conversions[c].result(element[c].dtype()), element[c].shape()};
    Storage bytes = Storage::allocate(static_cast<size_t>(spec.bytes()));
    convert(element[c].data(), element[c].dtype(), bytes.data(), conversions[c], spec.shape.elements());
    const std::byte* data = bytes.data();
    out.add(Component(spec, data, std::move(bytes)));
  }
  return out;
}

}  // namespace isochron::data
