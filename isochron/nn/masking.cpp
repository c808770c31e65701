#include "isochron/nn/masking.h"

#include <mutex>
#include <unordered_map>

#include "isochron/ops/elementwise.h"
#include "isochron/ops/reduce.h"
#include "isochron/ops/shape_ops.h"

namespace isochron {
namespace {

// Masks by the handle they belong to. Few tensors have one, so they are kept beside the tensors; entries of handles
// that are gone are dropped as new ones come in.
class Masks {
 public:
  static Masks& global() {
    static Masks& masks = *new Masks;  // outlives every tensor
    return masks;
  }
  Tensor find(const std::shared_ptr<TensorState>& state) {
    std::lock_guard lock(mutex_);
    const auto found = entries_.find(state.get());
    return found != entries_.end() && found->second.owner.lock() == state ? Tensor(found->second.mask) : Tensor();
  }
  void set(const std::shared_ptr<TensorState>& state, const Tensor& mask) {
    std::vector<Value> dropped;  // freed after the lock is released
    std::lock_guard lock(mutex_);
    if (entries_.size() >= sweep_at_) {
      for (auto it = entries_.begin(); it != entries_.end();) {
        const bool gone = it->second.owner.expired();
        if (gone) dropped.push_back(std::move(it->second.mask));
        it = gone ? entries_.erase(it) : std::next(it);
      }
      sweep_at_ = 2 * entries_.size() + 64;
    }
    if (mask.defined())
      entries_[state.get()] = {state, mask.value()};
    else
      entries_.erase(state.get());
  }

 private:
  struct Entry {
    std::weak_ptr<TensorState> owner;
    Value mask;  // not a handle: a mask nobody asks for is not computed
  };
  std::mutex mutex_;
  std::unordered_map<const TensorState*, Entry> entries_;
  size_t sweep_at_ = 64;
};

}  // namespace

Tensor mask_of(const Tensor& x) { return x.defined() ? Masks::global().find(x.state()) : Tensor(); }

void set_mask(const Tensor& x, const Tensor& mask) {
  if (mask.defined() && mask.dtype() != DType::boolean)
    fail<DTypeError>("set_mask", "a mask must be bool, got {}; compare it with something, e.g. not_equal(tokens, 0)",
                     mask.dtype());
  Masks::global().set(x.state(), mask);
}

Tensor both_masks(const Tensor& a, const Tensor& b) { return !a.defined() ? b : !b.defined() ? a : logical_and(a, b); }

Tensor mask_of_rank(const Tensor& mask, int rank) {
  std::vector<int64_t> dims = mask.shape().to_vector();
  dims.resize(static_cast<size_t>(rank), 1);
  return reshape(mask, dims);
}

Masking::Masking(double mask_value, LayerOptions options) : mask_value_(mask_value) {
  set_name(std::move(options.name));
}

Tensor Masking::compute_mask(const Tensor& x, const Tensor&) { return any(not_equal(x, mask_value_), {-1}); }

Tensor Masking::call(const Tensor& x, const CallContext&) {
  if (x.rank() < 2) fail<ShapeError>("Masking", "needs (batch, time, …, features), got {}", x.shape());
  return where(expand_dims(compute_mask(x, {}), -1), x, 0);
}

}  // namespace isochron
