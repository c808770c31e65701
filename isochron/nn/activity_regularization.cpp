#include "isochron/nn/activity_regularization.h"

namespace isochron {

ActivityRegularization::ActivityRegularization(ActivityRegularizationOptions options) : options_(std::move(options)) {
  set_name(options_.name);
  set_activity_regularizer(l1_l2(options_.l1, options_.l2));
}

}  // namespace isochron
