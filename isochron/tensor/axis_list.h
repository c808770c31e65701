// The axes an op works along: one, several, or none given, which the op takes for all.
//
//   sum(x);  sum(x, 0);  sum(x, {0, -1});  sum(x, axes);
#pragma once

#include <concepts>
#include <cstdint>
#include <initializer_list>
#include <utility>
#include <vector>

namespace isochron {

class AxisList {
 public:
  AxisList() = default;
  // No bool: `sum(x, true)` forgets the axes.
  template <std::integral T>
  requires(!std::same_as<T, bool>) AxisList(T axis) : axes_{static_cast<int64_t>(axis)} {}
  AxisList(std::initializer_list<int64_t> axes) : axes_(axes) {}
  AxisList(std::vector<int64_t> axes) : axes_(std::move(axes)) {}

  bool empty() const { return axes_.empty(); }
  auto begin() const { return axes_.begin(); }
  auto end() const { return axes_.end(); }

 private:
  std::vector<int64_t> axes_;
};

}  // namespace isochron
