// Reductions by a plain loop in (outer, reduce, inner) form: the reference that takes every dtype.
#include <algorithm>
#include <cmath>
#include <limits>

#include "isochron/kernels/kernel.h"

namespace isochron {
namespace {

// The axes of a reduction, transposed away by strides: kept axes and reduced axes with their distances in the input.
struct Layout {
  std::vector<int64_t> kept_dims, kept_strides, reduced_dims, reduced_strides;
  int64_t outputs = 1, count = 1;

  explicit Layout(const KernelRequest& request) {
    const auto& axes = request.attributes().get<std::vector<int64_t>>("axes");
    const Shape& shape = request.inputs[0].shape;
    for (int i = 0; i < shape.rank(); ++i) {
      const bool reduced = std::binary_search(axes.begin(), axes.end(), i);
      (reduced ? reduced_dims : kept_dims).push_back(shape[i]);
      (reduced ? reduced_strides : kept_strides).push_back(shape.elements(i + 1, shape.rank()));
      (reduced ? count : outputs) *= shape[i];
    }
  }
  static int64_t offset(int64_t index, const std::vector<int64_t>& dims, const std::vector<int64_t>& strides) {
    int64_t at = 0;
    for (size_t i = dims.size(); i-- > 0;) {
      at += index % dims[i] * strides[i];
      index /= dims[i];
    }
    return at;
  }
  // Calls f(element position, ordinal) for every element that goes into output o.
  template <class F>
  void each(int64_t o, F&& f) const {
    const int64_t base = offset(o, kept_dims, kept_strides);
    for (int64_t r = 0; r < count; ++r) f(base + offset(r, reduced_dims, reduced_strides), r);
  }
};

enum class Reduction { sum, mean, prod, max, min, any, all, argmax, argmin };

template <class T, class Wide>
void reduce(Reduction how, const Layout& layout, const KernelFrame& f) {
  const T* in = f.in<T>(0);
  for (int64_t o = layout.outputs * f.thread / f.threads; o < layout.outputs * (f.thread + 1) / f.threads; ++o) {
    if (how == Reduction::argmax || how == Reduction::argmin) {
      Wide best{};
      int64_t where = -1;
      bool nan = false;
      layout.each(o, [&](int64_t at, int64_t r) {
        const Wide x = static_cast<Wide>(in[at]);
        const bool x_nan = x != x;
        if (where < 0 || (!nan && (x_nan || (how == Reduction::argmax ? x > best : x < best)))) {
          best = x;
          where = r;
          nan = x_nan;
        }
      });
      f.out<int64_t>()[o] = where;
      continue;
    }
    Wide total = how == Reduction::prod || how == Reduction::all ? Wide(1) : Wide(0);
    bool first = true;
    layout.each(o, [&](int64_t at, int64_t) {
      const Wide x = static_cast<Wide>(in[at]);
      switch (how) {
        case Reduction::prod:
          total = total * x;
          break;
        case Reduction::max:
          total = first || x > total || x != x ? (total != total && !first ? total : x) : total;
          break;
        case Reduction::min:
          total = first || x < total || x != x ? (total != total && !first ? total : x) : total;
          break;
        case Reduction::any:
          total = total != Wide(0) || x != Wide(0) ? Wide(1) : Wide(0);
          break;
        case Reduction::all:
          total = total != Wide(0) && x != Wide(0) ? Wide(1) : Wide(0);
          break;
        default:
          total = total + x;
          break;
      }
      first = false;
    });
    if (how == Reduction::mean)
      total = static_cast<Wide>(static_cast<double>(total) / static_cast<double>(layout.count));
    if constexpr (std::is_same_v<T, bfloat16> || std::is_same_v<T, float16>)
      f.out<T>()[o] = T(static_cast<float>(total));
    else
      f.out<T>()[o] = static_cast<T>(total);
  }
}

template <Reduction how>
KernelPtr make_reduction(const KernelRequest& request, std::string&) {
  const Layout layout(request);
  const DType dtype = request.inputs[0].dtype;
  return make_kernel([layout, dtype](const KernelFrame& f) {
    visit_dtype(dtype, [&]<class T>(Type<T>) {
      if constexpr (std::is_same_v<T, float> || std::is_same_v<T, double> || std::is_same_v<T, bfloat16> ||
                    std::is_same_v<T, float16>)
        reduce<T, double>(how, layout, f);
      else
        reduce<T, int64_t>(how, layout, f);
    });
  });
}

[[maybe_unused]] const bool kRegistered =
    register_kernels({{"sum", "reference", make_reduction<Reduction::sum>},
                      {"mean", "reference", make_reduction<Reduction::mean>},
                      {"prod", "reference", make_reduction<Reduction::prod>},
                      {"max", "reference", make_reduction<Reduction::max>},
                      {"min", "reference", make_reduction<Reduction::min>},
                      {"any", "reference", make_reduction<Reduction::any>},
                      {"all", "reference", make_reduction<Reduction::all>},
                      {"argmax", "reference", make_reduction<Reduction::argmax>},
                      {"argmin", "reference", make_reduction<Reduction::argmin>}});

}  // namespace
}  // namespace isochron
