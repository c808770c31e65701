// Losses of sequences without places for their labels, against PyTorch and Keras (tests/references/ctc.json).
#include "isochron/nn/ctc.h"

#include <gtest/gtest.h>

#include "isochron/graph/tape.h"
#include "isochron/nn/dense.h"
#include "isochron/nn/model.h"
#include "isochron/ops/ops.h"
#include "isochron/optim/torch_optimizers.h"
#include "isochron/train/history.h"
#include "reference.h"

namespace isochron {
namespace {

using nlohmann::json;
using reference::tensor_of;

const json& references() { return reference::read_file("ctc.json"); }

TEST(CTC, ValuesAndGradientsAreThoseOfPyTorch) {
  for (const json& one : references()["torch"]) {
    const json& o = one["options"];
    SCOPED_TRACE(o.dump());
    const std::string how = o["reduction"];
    const nn::CTCLoss loss({.blank = o["blank"],
                            .reduction = how == "mean"  ? LossReduction::mean
                                         : how == "sum" ? LossReduction::sum
                                                        : LossReduction::none,
                            .zero_infinity = o["zero_infinity"]});
    const Variable logits(tensor_of(references()["logits"]));
    GradientTape tape;
    const Tensor value = loss(log_softmax(logits), tensor_of(one["targets"]), tensor_of(one["input_lengths"]),
                              tensor_of(references()["target_lengths"]));
    EXPECT_CLOSE(value, tensor_of(one["value"]), 1e-9, 1e-10);
    EXPECT_CLOSE(tape.gradient(sum(value), logits), tensor_of(one["gradient"]), 1e-8, 1e-9);
  }
}

TEST(CTC, KerasLossTakesLogitsAndPaddedLabels) {
  const Variable logits(transpose(tensor_of(references()["logits"]), {1, 0, 2}).eval());
  GradientTape tape;
  const Tensor value = CTC()(tensor_of(references()["labels"]), logits);
  const Tensor gradient = tape.gradient(value, logits);
  // Keras computes it in float32, whatever comes in.
  EXPECT_NEAR(value.item(), references()["keras"]["value"].get<double>(), 1e-6);
  EXPECT_CLOSE(gradient, tensor_of(references()["keras"]["gradient"]), 1e-5, 1e-6);
}

TEST(CTC, TrainsAlongPyTorchsCurve) {
  const json& curve = references()["curve"];
  const Variable w(tensor_of(curve["w"]));
  const Tensor x = tensor_of(curve["x"]), labels = tensor_of(references()["labels"]),
               steps = tensor_of(references()["torch"][0]["input_lengths"]),
               counts = tensor_of(references()["target_lengths"]);
  optim::Adam optimizer({w}, {.lr = 0.1});
  for (const double expected : curve["losses"]) {
    optimizer.zero_grad();
    const Tensor loss = ctc_loss(log_softmax(matmul(x, w)), labels, steps, counts);
    EXPECT_NEAR(loss.item(), expected, 1e-7 * expected);
    loss.backward();
    optimizer.step();
  }
}

TEST(CTC, FitsByName) {
  Sequential model{Input({6, 3}), Dense(4)};
  model.compile({.optimizer = "adam", .loss = "ctc"});
  const Tensor x = random_normal({8, 6, 3}, 0, 1, {.seed = 2}).eval();
  const Tensor y = concat({ones({8, 1}, DType::int64), full({8, 1}, 3, DType::int64), zeros({8, 1}, DType::int64)}, 1);
  const History history = model.fit(x, y, {.epochs = 30, .batch_size = 4, .verbose = 0});
  EXPECT_LT(history["loss"].back(), history["loss"].front());
}

TEST(CTC, SaysWhatDoesNotFit) {
  const Tensor p = zeros({5, 2, 4}), lengths = full({2}, 5, DType::int64), counts = tensor({2, 1});
  const auto loss = [&](const Tensor& labels) { return ctc_loss(p, labels, lengths, counts).eval(); };
  EXPECT_ERROR(loss(tensor({{1, 2}, {4, 0}})), ValueError,
               "labels must be in [0, 4) and not the blank 0, got 4 at row 1");
  EXPECT_ERROR(loss(tensor({{0, 2}, {1, 0}})), ValueError, "not the blank 0, got 0 at row 0");
  EXPECT_ERROR(loss(tensor({{1}, {2}})), ValueError, "target_lengths must be in [0, 1], got 2 at row 0");
  EXPECT_ERROR(ctc_loss(p, tensor({{1, 2}, {1, 2}}), lengths + 1, counts).eval(), ValueError,
               "input_lengths must be in [0, 5], got 6 at row 0");
  EXPECT_ERROR(ctc_loss(p, tensor({1, 2}), lengths, counts), ShapeError, "padded to one length, got (2,)");
  EXPECT_ERROR(ctc_loss(p, tensor({{1, 2}, {1, 2}}), lengths, counts, {.blank = 4}), ValueError,
               "blank must be one of 4 classes, got 4");
  EXPECT_ERROR(losses::ctc(ones({2, 2}), ones({2, 4})), ShapeError,
               "logits (batch, steps, classes), got float32(2, 4)");
  EXPECT_ERROR(losses::ctc(ones({3, 2}), ones({2, 5, 4})), ShapeError, "got (3, 2)");
}

}  // namespace
}  // namespace isochron
