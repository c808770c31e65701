// Components converted while they are copied: cast, scaled and shifted.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "isochron/data/element.h"

namespace isochron::data {

// A component on its way into a batch: cast, then times `scale` plus `shift`.
struct Conversion {
  std::optional<DType> dtype = {};
  double scale = 1, shift = 0;
  bool nothing() const { return !dtype && scale == 1 && shift == 0; }
  DType result(DType from) const { return dtype.value_or(from); }
};
// By component; shorter than the element: the rest stays as it is.
using Conversions = std::vector<Conversion>;
std::string to_string(const Conversions& conversions);
void convert(const std::byte* from, DType from_dtype, std::byte* to, const Conversion& conversion, int64_t count);
// IndexError where elements have fewer components than are converted.
void check_components(const Conversions& conversions, size_t components);
// DTypeError where a component of text is to be converted.
void check_no_text(const Conversions& conversions, size_t component);
Element converted(const Element& element, const Conversions& conversions);

}  // namespace isochron::data
