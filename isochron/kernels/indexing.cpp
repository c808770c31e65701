// gather and scatter_add: (outer, extent, inner) with slices of `inner` elements picked by index.
#include <cstring>
#include <type_traits>

#include "isochron/kernels/gemm/gemm.h"
#include "isochron/kernels/kernel.h"

namespace isochron {
namespace {

struct Layout {
  int64_t outer, extent, inner, count;
  DType dtype, index_dtype;

  explicit Layout(const KernelRequest& request) {
    const Shape& shape = request.inputs[0].shape;
    const int axis = static_cast<int>(request.attributes().get<int64_t>("axis"));
    outer = shape.elements(0, axis);
    extent = shape[axis];
    inner = shape.elements(axis + 1, shape.rank());
    count = request.inputs[1].shape.elements();
    dtype = request.inputs[0].dtype;
    index_dtype = request.inputs[1].dtype;
  }
  int64_t index(const void* indices, int64_t i) const {
    switch (index_dtype) {
      case DType::int64:
        return static_cast<const int64_t*>(indices)[i];
      case DType::int32:
        return static_cast<const int32_t*>(indices)[i];
      default:
        return static_cast<const uint8_t*>(indices)[i];
    }
  }
  bool valid(int64_t index_value) const { return index_value >= 0 && index_value < extent; }
};

class IndexKernel : public Kernel {
 public:
  IndexKernel(const char* op, const KernelRequest& request)
      : layout_(request),
        named_(request.attributes().get_or<std::string>("named", op)),
        indices_(request.inputs[1].shape) {}
  void raise(const KernelFrame& f, int64_t at) const override {
    fail<IndexError>(named_, "indices must be in [0, {}), got {} at position {}", layout_.extent,
                     static_cast<int64_t>(f.fault->value()), place(at));
  }

 protected:
  Layout layout_;

 private:
  // "(2, 5)" of an index with several axes.
  std::string place(int64_t at) const {
    if (indices_.rank() < 2) return std::to_string(at);
    std::vector<int64_t> along(static_cast<size_t>(indices_.rank()));
    for (int axis = indices_.rank() - 1; axis >= 0; at /= indices_[axis--])
      along[static_cast<size_t>(axis)] = at % indices_[axis];
    return to_string(Shape(along));
  }
  std::string named_;
  Shape indices_;
};

class GatherKernel final : public IndexKernel {
 public:
  explicit GatherKernel(const KernelRequest& request) : IndexKernel("gather", request) {}
  void run(const KernelFrame& f) const override {
    const auto size = static_cast<int64_t>(size_of(layout_.dtype));
    const int64_t rows = layout_.outer * layout_.count, row_bytes = layout_.inner * size;
    // Of few long rows each thread takes the columns that it multiplies with its part of the weights (gemm_part).
    const bool by_columns = layout_.inner >= kernels::kDeeperThanTall * rows;
    const Share mine = by_columns ? Share{0, rows} : share_of(f, rows);
    const Share bytes = by_columns ? share_of(f, row_bytes, 64) : Share{0, row_bytes};
    const auto width = static_cast<size_t>(bytes.end - bytes.begin);
    for (int64_t r = mine.begin; r < mine.end; ++r) {
      const int64_t at = r % layout_.count, index = layout_.index(f.inputs[1], at);
      std::byte* to = f.out<std::byte>() + r * row_bytes + bytes.begin;
      if (layout_.valid(index)) {
        const int64_t slice = r / layout_.count * layout_.extent + index;
        std::memcpy(to, f.in<std::byte>(0) + slice * row_bytes + bytes.begin, width);
      } else {
        std::memset(to, 0, width);
        f.report(at, static_cast<double>(index));
      }
    }
  }
};

template <class T>
void add_slice(T* to, const T* from, int64_t n) {
  for (int64_t i = 0; i < n; ++i) {
    if constexpr (std::is_same_v<T, bfloat16> || std::is_same_v<T, float16>)
      to[i] = T(static_cast<float>(to[i]) + static_cast<float>(from[i]));
    else
      to[i] = static_cast<T>(to[i] + from[i]);
  }
}

// Each thread owns some outer blocks, or some columns of all slices, so repeated indices add up in one order.
class ScatterAddKernel final : public IndexKernel {
 public:
  explicit ScatterAddKernel(const KernelRequest& request) : IndexKernel("scatter_add", request) {}
  void run(const KernelFrame& f) const override {
    visit_dtype(layout_.dtype, [&]<class T>(Type<T>) {
      if constexpr (!std::is_same_v<T, bool>) run_typed<T>(f);
    });
  }
  bool in_place(size_t input, size_t) const override { return input == 0; }

 private:
  template <class T>
  void run_typed(const KernelFrame& f) const {
    constexpr int64_t kLine = 64 / sizeof(T);
    const bool by_outer = layout_.outer >= f.threads;
    const Share blocks = by_outer ? share_of(f, layout_.outer) : Share{0, layout_.outer};
    const Share columns = by_outer ? Share{0, layout_.inner} : share_of(f, layout_.inner, kLine);
    const int64_t width = columns.end - columns.begin;
    if (width <= 0) return;
    for (int64_t o = blocks.begin; o < blocks.end; ++o) {
      const int64_t base = o * layout_.extent * layout_.inner + columns.begin;
      T* out = f.out<T>() + base;
      const T* in = f.in<T>(0) + base;
      if (out != in)
        for (int64_t e = 0; e < layout_.extent; ++e)
          std::memcpy(out + e * layout_.inner, in + e * layout_.inner, static_cast<size_t>(width) * sizeof(T));
      const T* updates = f.in<T>(2) + o * layout_.count * layout_.inner + columns.begin;
      for (int64_t i = 0; i < layout_.count; ++i) {
        const int64_t index = layout_.index(f.inputs[1], i);
        if (layout_.valid(index))
          add_slice(out + index * layout_.inner, updates + i * layout_.inner, width);
        else
          f.report(i, static_cast<double>(index));
      }
    }
  }
};

[[maybe_unused]] const bool kIndexingRegistered = register_kernels(
    {{"gather", "copy",
      [](const KernelRequest& r, std::string&) -> KernelPtr { return std::make_unique<GatherKernel>(r); }},
     {"scatter_add", "loop",
      [](const KernelRequest& r, std::string&) -> KernelPtr { return std::make_unique<ScatterAddKernel>(r); }}});

}  // namespace
}  // namespace isochron
