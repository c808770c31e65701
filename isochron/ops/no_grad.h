// NoGradGuard: what is computed while it lives has no history, as under PyTorch's no_grad().
//
//   {
//     NoGradGuard no_grad;
//     Tensor scores = net(x);                    // backward() can't be asked of it, and no activations are kept for it
//     for (Variable& w : net.parameters()) w -= 0.1 * w.grad();
//   }
//
// Of one thread; guards may be nested. Results are the same numbers. A tensor that requires gradients is updated in
// place by += and its kin meanwhile, as variables always are.
#pragma once

namespace isochron {

class NoGradGuard {
 public:
  NoGradGuard();
  ~NoGradGuard();
  NoGradGuard(const NoGradGuard&) = delete;
  NoGradGuard& operator=(const NoGradGuard&) = delete;
  // Whether one lives on this thread.
  static bool active();
};

}  // namespace isochron
