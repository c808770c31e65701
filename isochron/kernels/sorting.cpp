// Sorting rows: positions are sorted by what they point to, equal elements by position, so no memory is needed.
#include <algorithm>
#include <numeric>
#include <type_traits>

#include "isochron/kernels/kernel.h"

namespace isochron {
namespace {

class SortKernel final : public Kernel {
 public:
  explicit SortKernel(const KernelRequest& request)
      : dtype_(request.inputs[0].dtype),
        length_(request.inputs[0].shape[-1]),
        count_(request.attributes().get<int64_t>("count")),
        rows_(length_ ? request.inputs[0].shape.elements() / length_ : 0),
        descending_(request.attributes().get<bool>("descending")) {}

  size_t scratch_bytes(int) const override { return static_cast<size_t>(length_) * sizeof(int64_t); }
  void run(const KernelFrame& f) const override {
    visit_dtype(dtype_, [&]<class T>(Type<T>) {
      using Key = std::conditional_t<sizeof(T) == 2, float, T>;  // 16-bit floats compare as float
      const Share share = share_of(f, rows_);
      auto* order = static_cast<int64_t*>(f.scratch);
      for (int64_t r = share.begin; r < share.end; ++r) {
        const T* row = f.in<T>(0) + r * length_;
        const auto before = [&](int64_t i, int64_t j) {
          const Key a = static_cast<Key>(row[i]), b = static_cast<Key>(row[j]);
          if constexpr (std::is_floating_point_v<Key>) {
            if (a != a || b != b) return a == a || (b != b && i < j);
          }
          if (a == b) return i < j;
          return descending_ ? b < a : a < b;
        };
        std::iota(order, order + length_, int64_t{0});
        if (count_ == length_)
          std::sort(order, order + length_, before);
        else
          std::partial_sort(order, order + count_, order + length_, before);
        for (int64_t i = 0; i < count_; ++i) {
          f.out<T>(0)[r * count_ + i] = row[order[i]];
          f.out<int64_t>(1)[r * count_ + i] = order[i];
        }
      }
    });
  }

 private:
  DType dtype_;
  int64_t length_, count_, rows_;
  bool descending_;
};

[[maybe_unused]] const bool kRegistered =
    register_kernels({{"sort", "std", [](const KernelRequest& r, std::string&) -> KernelPtr {
                         return std::make_unique<SortKernel>(r);
                       }}});

}  // namespace
}  // namespace isochron
