// Optimizers whose update is one op for all parameters (ops/update.h).
#pragma once

#include "isochron/optim/optimizer.h"
#include "isochron/tensor/attributes.h"

namespace isochron {

class FusedOptimizer : public Optimizer {
 protected:
  struct Method {
    const char* op;
    std::vector<Slot> slots;
    Attributes attributes;
  };
  FusedOptimizer(OptimizerOptions options, Method method);
  static const char* rmsprop_op(bool centered, bool momentum);

  void update_all(const std::vector<Update>& updates, const Shared& shared) override;
  void begin_update(const Shared& shared) override;
  std::vector<Slot> slots(const Variable&) const override { return method_.slots; }

 private:
  Method method_;
  bool nadam_;
};

}  // namespace isochron
