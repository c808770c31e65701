// GradientTape in the manner of TensorFlow. Ops are always recorded (they are pending nodes), so a tape only says what
// is watched and how long histories are kept.
//
//   GradientTape tape;
//   Tensor loss = mean(square(model(x) - y));
//   optimizer.apply_gradients(tape.gradient(loss, variables), variables);
//
// Trainable variables are watched by themselves. A tape gives its gradients once, a persistent one as often as asked.
#pragma once

#include <vector>

#include "isochron/tensor/tensor.h"

namespace isochron {

struct TapeOptions {
  bool persistent = false;
};

class GradientTape {
 public:
  explicit GradientTape(TapeOptions options = {});
  ~GradientTape();
  GradientTape(const GradientTape&) = delete;
  GradientTape& operator=(const GradientTape&) = delete;

  // Gradients flow to this tensor through ops applied to it from now on. DTypeError unless floating.
  void watch(const Tensor& tensor);

  // d(target)/d(source), zeros' place left undefined where there is no path. The target may have any shape (its
  // elements are summed). StateError on a second call of a tape that is not persistent.
  Tensor gradient(const Tensor& target, const Tensor& source);
  std::vector<Tensor> gradient(const Tensor& target, const std::vector<Tensor>& sources);
  template <class Variables>
  requires requires(const Variables& v) { v.begin(); }
  std::vector<Tensor> gradient(const Tensor& target, const Variables& sources) {
    return gradient(target, std::vector<Tensor>(sources.begin(), sources.end()));
  }
  // d(target)/d(source) for every element of the target: (target shape…, source shape…).
  Tensor jacobian(const Tensor& target, const Tensor& source);

  // True while a tape on this thread may still be asked for gradients.
  static bool recording();

 private:
  void finish();
  bool persistent_;
  bool recording_ = true;
};

}  // namespace isochron
