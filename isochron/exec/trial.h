// Trying code on arguments that have no values, to learn the shapes of what it gives:
//
//   const TrialScope trial;
//   const Tensor x(make_leaf({DType::float32, {2, 8}}, {}, LeafRole::argument));
//   const Shape shape = layer(x).shape();
//
// Nothing that depends on the arguments is computed; what the code itself asks to be computed (weights, say) is. What
// it assigns is taken back at the end. For the thread it is made on; scopes may nest.
#pragma once

#include <memory>

namespace isochron {

class TrialScope {
 public:
  TrialScope();
  ~TrialScope();
  TrialScope(const TrialScope&) = delete;
  TrialScope& operator=(const TrialScope&) = delete;
  static bool active();

 private:
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace isochron
