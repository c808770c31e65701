#include "isochron/optim/optimizer.h"

#include <gtest/gtest.h>

#include "isochron/exec/evaluate.h"
#include "isochron/exec/function.h"
#include "isochron/graph/tape.h"
#include "isochron/ops/create.h"
#include "isochron/ops/elementwise.h"
#include "isochron/ops/reduce.h"
#include "isochron/optim/any_optimizer.h"
#include "isochron/optim/optimizers.h"
#include "isochron/optim/torch_optimizers.h"
#include "reference.h"

namespace isochron {
namespace {

using reference::batches;
using reference::Problem;

template <class Kind = ValueError, class Make>
std::string message_of(const Make& make) {
  try {
    make();
  } catch (const Kind& error) {
    return error.what();
  }
  return "no error";
}

TEST(Optimizer, AStepOfPlainDescent) {
  Variable w(tensor({1.0, 2.0}, DType::float64));
  SGD optimizer(0.5);
  optimizer.apply_gradients({tensor({2.0, -4.0}, DType::float64)}, {w});
  EXPECT_EQ(w.to_vector<double>(), (std::vector<double>{0, 4}));
  EXPECT_EQ(optimizer.iterations().item<int64_t>(), 1);
  optimizer.set_learning_rate(0.25);
  EXPECT_EQ(optimizer.learning_rate(), 0.25);
  optimizer.apply_gradients({tensor({4.0, 4.0}, DType::float64)}, {w});
  EXPECT_EQ(w.to_vector<double>(), (std::vector<double>{-1, 3}));
}

}  // namespace
}  // namespace isochron
