// Ops that move elements: transposes, slices, padding, joining, counting. Each is a walk over the output (or input)
// with strides, copying runs of bytes; the element type does not matter.
#include <algorithm>
#include <cstring>
#include <type_traits>

#include "isochron/kernels/kernel.h"

namespace isochron {
namespace {

using Ints = std::vector<int64_t>;

// A strided walk: `dims` elements, source and destination strides in elements, merged where both are contiguous.
struct StridedCopy {
  Ints dims, from, to;
  int64_t from_offset = 0, to_offset = 0;
  size_t element = 1;

  void merge() {
    for (size_t i = dims.size(); i-- > 1;) {
      if (dims[i] == 1 || (from[i - 1] == from[i] * dims[i] && to[i - 1] == to[i] * dims[i])) {
        if (dims[i] != 1) {
          dims[i - 1] *= dims[i];
          from[i - 1] = from[i];
          to[i - 1] = to[i];
        }
        dims.erase(dims.begin() + static_cast<int64_t>(i));
        from.erase(from.begin() + static_cast<int64_t>(i));
        to.erase(to.begin() + static_cast<int64_t>(i));
      }
    }
  }

  // Where row `row` of the leading dimensions starts; dimension `without` is left out.
  struct Offsets {
    int64_t from, to;
  };
  Offsets offsets(int64_t row, size_t without) const {
    Offsets at{0, 0};
    for (size_t i = dims.size() - 1; i-- > 0;) {
      if (i == without) continue;
      const int64_t index = row % dims[i];
      row /= dims[i];
      at.from += index * from[i];
      at.to += index * to[i];
    }
    return at;
  }

  // The dimension along which the source is contiguous, if the destination is along the last; else the last.
  size_t contiguous_in_source() const {
    const size_t last = dims.size() - 1;
    if (from[last] == 1 || to[last] != 1) return last;
    for (size_t i = 0; i < last; ++i)
      if (from[i] == 1 && dims[i] > 1) return i;
    return last;
  }

  // Rows of the source become columns of the destination. Squares of one cache line a side go through a buffer, so that
  // every line of either side is touched once, whatever the strides.
  template <class T>
  void transpose(const T* in, T* out, size_t across, int thread, int threads) const {
    constexpr int64_t kSide = 64 / sizeof(T);
    const size_t last = dims.size() - 1;
    const int64_t columns = dims[last], rows = dims[across];
    int64_t planes = 1;
    for (size_t i = 0; i < last; ++i)
      if (i != across) planes *= dims[i];
    const int64_t squares_down = (rows + kSide - 1) / kSide, stripes = planes * squares_down;
    T square[kSide][kSide];
    for (int64_t stripe = stripes * thread / threads; stripe < stripes * (thread + 1) / threads; ++stripe) {
      const auto [f, t] = offsets(stripe / squares_down, across);
      const int64_t first = stripe % squares_down * kSide, height = std::min(kSide, rows - first);
      const T* a = in + f + first;
      T* b = out + t + first * to[across];
      for (int64_t column = 0; column < columns; column += kSide) {
        const int64_t width = std::min(kSide, columns - column);
        for (int64_t j = 0; j < width; ++j)
          std::memcpy(square[j], a + (column + j) * from[last], static_cast<size_t>(height) * sizeof(T));
        for (int64_t i = 0; i < height; ++i) {
          T* line = b + i * to[across] + column;
          for (int64_t j = 0; j < width; ++j) line[j] = square[j][i];
        }
      }
    }
  }

  template <class T>
  void run_typed(const void* source, void* destination, int thread, int threads) const {
    const T* in = static_cast<const T*>(source) + from_offset;
    T* out = static_cast<T*>(destination) + to_offset;
    const size_t rank = dims.size();
    if (rank == 0) {
      if (thread == 0) *out = *in;
      return;
    }
    if (const size_t across = contiguous_in_source(); across < rank - 1)
      return transpose<T>(in, out, across, thread, threads);
    const int64_t inner = dims[rank - 1], fi = from[rank - 1], ti = to[rank - 1];
    int64_t rows = 1;
    for (size_t i = 0; i + 1 < rank; ++i) rows *= dims[i];
    // Few rows: the threads share the row itself.
    const bool split_inner = rows < threads;
    const int64_t first_row = split_inner ? 0 : rows * thread / threads,
                  last_row = split_inner ? rows : rows * (thread + 1) / threads;
    const int64_t first = split_inner ? inner * thread / threads : 0,
                  last = split_inner ? inner * (thread + 1) / threads : inner;
    for (int64_t row = first_row; row < last_row; ++row) {
      const auto [f, t] = offsets(row, rank);
      const T* a = in + f;
      T* b = out + t;
      if (fi == 1 && ti == 1)
        std::memcpy(b + first, a + first, static_cast<size_t>(last - first) * sizeof(T));
      else
        for (int64_t j = first; j < last; ++j) b[j * ti] = a[j * fi];
    }
  }
  void run(const void* in, void* out, int thread, int threads) const {
    for (int64_t d : dims)
      if (d == 0) return;
    switch (element) {
      case 1:
        return run_typed<uint8_t>(in, out, thread, threads);
      case 2:
        return run_typed<uint16_t>(in, out, thread, threads);
      case 4:
        return run_typed<uint32_t>(in, out, thread, threads);
      default:
        return run_typed<uint64_t>(in, out, thread, threads);
    }
  }
};

Ints dense_strides(const Shape& shape) {
  Ints strides(static_cast<size_t>(shape.rank()), 1);
  for (int i = shape.rank() - 2; i >= 0; --i)
    strides[static_cast<size_t>(i)] = strides[static_cast<size_t>(i) + 1] * shape[i + 1];
  return strides;
}

KernelPtr copying(StridedCopy copy) {
  copy.merge();
  return make_kernel([copy](const KernelFrame& f) { copy.run(f.inputs[0], f.outputs[0], f.thread, f.threads); });
}

KernelPtr make_transpose(const KernelRequest& request, std::string&) {
  const Ints& order = request.attributes().get<Ints>("permutation");
  const Ints source = dense_strides(request.inputs[0].shape);
  StridedCopy copy{request.output().shape.to_vector(), {}, dense_strides(request.output().shape), 0, 0,
                   size_of(request.output().dtype)};
  for (int64_t axis : order) copy.from.push_back(source[static_cast<size_t>(axis)]);
  return copying(std::move(copy));
}

// Strides and offset of the elements a slice reads in the tensor it reads from.
void slice_strides(const Attributes& attributes, const Shape& whole, Ints& strides, int64_t& offset) {
  const Ints &begin = attributes.get<Ints>("begin"), &step = attributes.get<Ints>("step");
  const Ints dense = dense_strides(whole);
  for (size_t i = 0; i < begin.size(); ++i) {
    strides.push_back(dense[i] * step[i]);
    offset += dense[i] * begin[i];
  }
}

KernelPtr make_slice(const KernelRequest& request, std::string&) {
  StridedCopy copy{request.output().shape.to_vector(), {}, dense_strides(request.output().shape), 0, 0,
                   size_of(request.output().dtype)};
  slice_strides(request.attributes(), request.inputs[0].shape, copy.from, copy.from_offset);
  return copying(std::move(copy));
}

// First the whole output is filled, then, after a barrier, the input is written into its place.
class FillThenCopy final : public Kernel {
 public:
  FillThenCopy(StridedCopy copy, uint64_t fill, int64_t elements)
      : copy_(std::move(copy)), fill_(fill), elements_(elements) {
    copy_.merge();
  }
  int stages() const override { return 2; }
  void run(const KernelFrame& f) const override {
    if (f.stage == 1) return copy_.run(f.inputs[0], f.outputs[0], f.thread, f.threads);
    const int64_t begin = elements_ * f.thread / f.threads, end = elements_ * (f.thread + 1) / f.threads;
    switch (copy_.element) {
      case 1:
        std::fill(f.out<uint8_t>() + begin, f.out<uint8_t>() + end, static_cast<uint8_t>(fill_));
        break;
      case 2:
        std::fill(f.out<uint16_t>() + begin, f.out<uint16_t>() + end, static_cast<uint16_t>(fill_));
        break;
      case 4:
        std::fill(f.out<uint32_t>() + begin, f.out<uint32_t>() + end, static_cast<uint32_t>(fill_));
        break;
      default:
        std::fill(f.out<uint64_t>() + begin, f.out<uint64_t>() + end, fill_);
        break;
    }
  }

 private:
  StridedCopy copy_;
  uint64_t fill_;
  int64_t elements_;
};

KernelPtr make_slice_scatter(const KernelRequest& request, std::string&) {
  const Shape& part = request.inputs[0].shape;
  StridedCopy copy{part.to_vector(), dense_strides(part), {}, 0, 0, size_of(request.output().dtype)};
  slice_strides(request.attributes(), request.output().shape, copy.to, copy.to_offset);
  return std::make_unique<FillThenCopy>(std::move(copy), 0, request.output().shape.elements());
}

KernelPtr make_pad(const KernelRequest& request, std::string&) {
  const Shape& part = request.inputs[0].shape;
  const Ints dense = dense_strides(request.output().shape);
  StridedCopy copy{part.to_vector(), dense_strides(part), dense, 0, 0, size_of(request.output().dtype)};
  for (size_t i = 0; i < dense.size(); ++i) copy.to_offset += dense[i] * request.attributes().get<Ints>("before")[i];
  uint64_t fill = 0;
  visit_dtype(request.output().dtype, [&]<class T>(Type<T>) {
    const double value = request.attributes().get<double>("value");
    T stored{};
    if constexpr (std::is_same_v<T, bfloat16> || std::is_same_v<T, float16>)
      stored = T(static_cast<float>(value));
    else
      stored = static_cast<T>(value);
    std::memcpy(&fill, &stored, sizeof stored);
  });
  return std::make_unique<FillThenCopy>(std::move(copy), fill, request.output().shape.elements());
}

KernelPtr make_concat(const KernelRequest& request, std::string&) {
  const int axis = static_cast<int>(request.attributes().get<int64_t>("axis"));
  const Shape& whole = request.output().shape;
  std::vector<StridedCopy> copies;
  int64_t at = 0;
  for (const TensorSpec& part : request.inputs) {
    StridedCopy copy{part.shape.to_vector(), dense_strides(part.shape), dense_strides(whole), 0, at,
                     size_of(part.dtype)};
    at += part.shape[axis] * whole.elements(axis + 1, whole.rank());
    copy.merge();
    copies.push_back(std::move(copy));
  }
  return make_kernel([copies](const KernelFrame& f) {
    for (size_t i = 0; i < copies.size(); ++i) copies[i].run(f.inputs[i], f.outputs[0], f.thread, f.threads);
  });
}

KernelPtr make_iota(const KernelRequest& request, std::string&) {
  const TensorSpec spec = request.output();
  return make_kernel([spec](const KernelFrame& f) {
    visit_dtype(spec.dtype, [&]<class T>(Type<T>) {
      const int64_t n = spec.shape.elements();
      for (int64_t i = n * f.thread / f.threads; i < n * (f.thread + 1) / f.threads; ++i) {
        if constexpr (std::is_same_v<T, bfloat16> || std::is_same_v<T, float16>)
          f.out<T>()[i] = T(static_cast<float>(i));
        else
          f.out<T>()[i] = static_cast<T>(i);
      }
    });
  });
}

// Rows along the axis are independent; each is summed (or multiplied) from its start or its end.
template <class Combine>
KernelPtr scanning(const KernelRequest& request, int64_t axis, bool exclusive, bool reverse, double neutral,
                   Combine combine) {
  const TensorSpec spec = request.inputs[0];
  const int a = static_cast<int>(axis);
  const int64_t length = spec.shape[a], inner = spec.shape.elements(a + 1, spec.shape.rank()),
                outer = spec.shape.elements(0, a);
  return make_kernel([=](const KernelFrame& f) {
    visit_dtype(spec.dtype, [&]<class T>(Type<T>) {
      using Wide =
          std::conditional_t<std::is_same_v<T, float> || std::is_same_v<T, bfloat16> || std::is_same_v<T, float16>,
                             double, std::conditional_t<std::is_same_v<T, bool>, int, T>>;
      const int64_t rows = outer * inner;
      for (int64_t r = rows * f.thread / f.threads; r < rows * (f.thread + 1) / f.threads; ++r) {
        const int64_t base = r / inner * length * inner + r % inner;
        Wide total = static_cast<Wide>(neutral);
        for (int64_t j = 0; j < length; ++j) {
          const int64_t at = base + (reverse ? length - 1 - j : j) * inner;
          const Wide x = static_cast<Wide>(f.in<T>(0)[at]);
          const Wide next = combine(total, x);
          const Wide put = exclusive ? total : next;
          if constexpr (std::is_same_v<T, bfloat16> || std::is_same_v<T, float16>)
            f.out<T>()[at] = T(static_cast<float>(put));
          else
            f.out<T>()[at] = static_cast<T>(put);
          total = next;
        }
      }
    });
  });
}

KernelPtr make_cumsum(const KernelRequest& request, std::string&) {
  const Attributes& a = request.attributes();
  return scanning(request, a.get<int64_t>("axis"), a.get<bool>("exclusive"), a.get<bool>("reverse"), 0,
                  [](auto x, auto y) { return x + y; });
}

KernelPtr make_cumprod_exclusive(const KernelRequest& request, std::string&) {
  return scanning(request, 1, true, request.attributes().get<bool>("reverse"), 1, [](auto x, auto y) { return x * y; });
}

[[maybe_unused]] const bool kMovesRegistered =
    register_kernels({{"transpose", "strided", make_transpose},
                      {"slice", "strided", make_slice},
                      {"slice_scatter", "strided", make_slice_scatter},
                      {"pad", "strided", make_pad},
                      {"concat", "strided", make_concat},
                      {"iota", "loop", make_iota},
                      {"cumsum", "loop", make_cumsum},
                      {"cumprod_exclusive", "loop", make_cumprod_exclusive}});

}  // namespace
}  // namespace isochron
