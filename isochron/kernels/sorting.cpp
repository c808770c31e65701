// Sorting rows. Elements become unsigned integers that are ordered as they are, next to their positions: comparing is
// then one instruction or two, equal elements keep their order, and no memory but the scratch is needed.
#include <algorithm>
#include <bit>
#include <compare>
#include <limits>
#include <type_traits>

#include "isochron/kernels/kernel.h"

namespace isochron {
namespace {

// An unsigned integer that is smaller the earlier x comes. NaN comes last either way, zeros are equal.
template <class Bits, class T>
Bits rank_of(T x, bool descending) {
  constexpr Bits kSign = Bits{1} << (sizeof(Bits) * 8 - 1);
  Bits bits;
  if constexpr (std::is_floating_point_v<T>) {
    if (x != x) return std::numeric_limits<Bits>::max();
    bits = std::bit_cast<Bits>(x == 0 ? T(0) : x);
    bits = bits & kSign ? ~bits : bits | kSign;
  } else {
    bits = static_cast<Bits>(x) ^ kSign;
  }
  return descending ? ~bits : bits;
}

// 32 bits of rank and 32 of position.
class Narrow {
 public:
  template <class T>
  Narrow(T x, int64_t at, bool descending)
      : packed_(uint64_t{rank_of<uint32_t>(x, descending)} << 32 | static_cast<uint64_t>(at)) {}
  int64_t position() const { return static_cast<int64_t>(packed_ & 0xffffffffu); }
  auto operator<=>(const Narrow&) const = default;

 private:
  uint64_t packed_;
};

class Wide {
 public:
  template <class T>
  Wide(T x, int64_t at, bool descending) : rank_(rank_of<uint64_t>(x, descending)), at_(at) {}
  int64_t position() const { return at_; }
  auto operator<=>(const Wide&) const = default;

 private:
  uint64_t rank_;
  int64_t at_;
};

class SortKernel final : public Kernel {
 public:
  explicit SortKernel(const KernelRequest& request)
      : dtype_(request.inputs[0].dtype),
        length_(request.inputs[0].shape[-1]),
        count_(request.attributes().get<int64_t>("count")),
        rows_(length_ ? request.inputs[0].shape.elements() / length_ : 0),
        descending_(request.attributes().get<bool>("descending")),
        wide_(size_of(dtype_) == 8 || length_ > std::numeric_limits<uint32_t>::max()) {}

  size_t scratch_bytes(int) const override {
    return static_cast<size_t>(length_) * (wide_ ? sizeof(Wide) : sizeof(Narrow));
  }
  void run(const KernelFrame& f) const override {
    visit_dtype(dtype_, [&]<class T>(Type<T>) {
      if constexpr (sizeof(T) == 2) {  // 16-bit floats compare as float
        wide_ ? sort<T, double, Wide>(f) : sort<T, float, Narrow>(f);
      } else if constexpr (std::is_floating_point_v<T>) {
        if constexpr (sizeof(T) == 4) {
          wide_ ? sort<T, double, Wide>(f) : sort<T, float, Narrow>(f);
        } else {
          sort<T, T, Wide>(f);
        }
      } else if constexpr (sizeof(T) == 8) {
        sort<T, int64_t, Wide>(f);
      } else {
        wide_ ? sort<T, int64_t, Wide>(f) : sort<T, int32_t, Narrow>(f);
      }
    });
  }

 private:
  template <class T, class Key, class Entry>
  void sort(const KernelFrame& f) const {
    const Share share = share_of(f, rows_);
    auto* entries = static_cast<Entry*>(f.scratch);
    for (int64_t r = share.begin; r < share.end; ++r) {
      const T* row = f.in<T>(0) + r * length_;
      for (int64_t i = 0; i < length_; ++i) entries[i] = Entry(static_cast<Key>(row[i]), i, descending_);
      if (count_ == length_)
        std::sort(entries, entries + length_);
      else
        std::partial_sort(entries, entries + count_, entries + length_);
      for (int64_t i = 0; i < count_; ++i) {
        f.out<T>(0)[r * count_ + i] = row[entries[i].position()];
        f.out<int64_t>(1)[r * count_ + i] = entries[i].position();
      }
    }
  }

  DType dtype_;
  int64_t length_, count_, rows_;
  bool descending_, wide_;
};

[[maybe_unused]] const bool kSortingRegistered =
    register_kernels({{"sort", "ranks", [](const KernelRequest& r, std::string&) -> KernelPtr {
                         return std::make_unique<SortKernel>(r);
                       }}});

}  // namespace
}  // namespace isochron
