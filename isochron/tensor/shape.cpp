#include "isochron/tensor/shape.h"

#include <fmt/core.h>

#include <algorithm>

#include "isochron/base/joined.h"

namespace isochron {

Shape::Shape(std::span<const int64_t> dims, bool may_be_partial) {
  if (dims.size() > kMaxRank)
    fail<ShapeError>("shape", "rank must be at most {}, got {} axes ({})", kMaxRank, dims.size(), joined(dims));
  rank_ = static_cast<int>(dims.size());
  bool overflow = false, empty = false, partial = false;
  for (int i = 0; i < rank_; ++i) {
    const bool unknown = may_be_partial && dims[i] == -1;
    if (dims[i] < 0 && !unknown) fail<ShapeError>("shape", "extents must not be negative, got ({})", joined(dims));
    dims_[i] = dims[i];
    partial |= unknown;
    empty |= dims[i] == 0;
    overflow |= __builtin_mul_overflow(elements_, std::max<int64_t>(dims[i], 1), &elements_);
  }
  // Sixteen bytes an element at most may ever be asked for, so sizes in bytes can't overflow either. Nor can the
  // product of some of the axes, such as a stride: as in NumPy, an axis of 0 is no excuse for the others.
  if (overflow || elements_ > INT64_MAX / 16)
    fail<ShapeError>("shape", "({}) has more elements than can be addressed", joined(dims));
  if (empty) elements_ = 0;
  if (partial) elements_ = -1;
}

Shape Shape::filled(int64_t extent) const {
  if (!is_partial()) return *this;
  std::array<int64_t, kMaxRank> dims = dims_;
  std::replace(dims.begin(), dims.begin() + rank_, int64_t{-1}, extent);
  return Shape(std::span<const int64_t>(dims.data(), static_cast<size_t>(rank_)));
}

void Shape::no_axis(int i) const {
  fail<IndexError>("shape", "axis must be in [{}, {}) for {}, got {}", -rank_, rank_, *this, i);
}

int64_t Shape::elements(int first, int last) const {
  int64_t product = 1;
  for (int i = first; i < last; ++i) product *= dims_[i];
  return product;
}

Shape Shape::with(int i, int64_t extent) const {
  std::array<int64_t, kMaxRank> dims = dims_;
  dims[static_cast<size_t>(i < 0 ? i + rank_ : i)] = extent;
  return Shape(std::span<const int64_t>(dims.data(), static_cast<size_t>(rank_)), is_partial());
}

Shape Shape::insert(int i, int64_t extent) const {
  std::array<int64_t, kMaxRank + 1> dims;
  std::copy(begin(), begin() + i, dims.begin());
  dims[static_cast<size_t>(i)] = extent;
  std::copy(begin() + i, end(), dims.begin() + i + 1);
  return Shape(std::span<const int64_t>(dims.data(), static_cast<size_t>(rank_) + 1), is_partial());
}

Shape Shape::erase(int i) const {
  Shape out;
  out.rank_ = rank_ - 1;
  const int axis = i < 0 ? i + rank_ : i;
  for (int a = 0; a < out.rank_; ++a) out.dims_[a] = dims_[a < axis ? a : a + 1];
  for (const int64_t extent : out.dims()) out.elements_ *= extent;
  return is_partial() ? partial(out.dims()) : out;
}

std::string to_string(const Shape& shape) {
  std::vector<std::string> extents;
  for (const int64_t extent : shape) extents.push_back(extent < 0 ? "None" : std::to_string(extent));
  return fmt::format("({}{})", joined(extents), shape.rank() == 1 ? "," : "");
}

bool broadcasts_to(const Shape& from, const Shape& to) {
  if (from.rank() > to.rank()) return false;
  for (int i = 1; i <= from.rank(); ++i)
    if (from[-i] != to[-i] && from[-i] != 1) return false;
  return true;
}

Shape broadcast(std::string_view op, const Shape& a, const Shape& b) {
  if (a == b) return a;
  const int rank = std::max(a.rank(), b.rank());
  std::array<int64_t, kMaxRank> dims{};
  for (int i = 1; i <= rank; ++i) {
    const int64_t x = i <= a.rank() ? a[-i] : 1;
    const int64_t y = i <= b.rank() ? b[-i] : 1;
    if (x != y && x != 1 && y != 1)
      fail<ShapeError>(op, "shapes must broadcast together (equal extents, or 1), got {} and {}: axis {} has {} and {}",
                       a, b, -i, x, y);
    dims[rank - i] = x == 1 ? y : x;
  }
  return Shape(std::span<const int64_t>(dims.data(), rank));
}

int normalize_axis(std::string_view op, int64_t axis, int rank) {
  if (axis < -rank || axis >= rank) fail<IndexError>(op, "axis must be in [{}, {}), got {}", -rank, rank, axis);
  return static_cast<int>(axis < 0 ? axis + rank : axis);
}

}  // namespace isochron
