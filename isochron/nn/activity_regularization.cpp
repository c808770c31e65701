#include "isochron/nn/activity_regularization.h"

namespace isochron {

ActivityRegularization::ActivityRegularization(ActivityRegularizationOptions options) : options_(std::move(options)) {
  set_name(options_.name);
}

Tensor ActivityRegularization::call(const Tensor& x, const CallContext&) {
  add_loss(l1_l2(options_.l1, options_.l2).penalty(wide(x, DType::float32)));
  return x;
}

}  // namespace isochron
