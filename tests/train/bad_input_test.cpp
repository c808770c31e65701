// What a user can get wrong: each a clear error, and the model's weights as they were.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <limits>

#include "isochron/isochron.h"
#include "tests/base/captured_stderr.h"
#include "tests/tensor/error_matcher.h"

namespace isochron {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;

class BadInput : public ::testing::Test {
 protected:
  BadInput() { compile(NanPolicy::raise); }
  void compile(NanPolicy policy) {
    model.compile(
        {.optimizer = SGD(0.1), .loss = SparseCategoricalCrossentropy({.from_logits = true}), .nan_policy = policy});
  }
  // f throws E with all these texts, and the weights are bit for bit what they were.
  template <class E, class F>
  void refuses(F f, const std::vector<std::string>& texts) {
    const std::vector<Tensor> before = model.get_weights();
    try {
      f();
      FAIL() << "nothing was thrown";
    } catch (const E& error) {
      for (const std::string& text : texts) EXPECT_THAT(error.what(), HasSubstr(text));
    }
    expect_weights(before);
    EXPECT_TRUE(std::isfinite(model.fit(x, y, {.verbose = 0})["loss"][0])) << "the model goes on";
  }
  void expect_weights(const std::vector<Tensor>& expected) {
    const std::vector<Tensor> now = model.get_weights();
    for (size_t i = 0; i < now.size(); ++i) EXPECT_TRUE(same_elements(now[i], expected[i])) << "weight " << i;
  }

  Sequential model{Input({2}), Dense(3)};
  Tensor x = random_normal({6, 2}, 0, 1, {.seed = 3}).eval();
  Tensor y = tensor({0, 1, 2, 0, 1, 2});
};

TEST_F(BadInput, NoneInPlaceOfOptimizersAndLayers) {
  refuses<ValueError>([&] { model.compile({.optimizer = nullptr, .loss = "mse"}); }, {"needs an optimizer"});
  EXPECT_THAT([] { Sequential{std::shared_ptr<Layer>()}; }, error<ValueError>("a layer is null"));
}

TEST_F(BadInput, CompilingWhileACallIsAtWork) {
  class Compiles : public Callback {
   public:
    explicit Compiles(std::function<void()> compile) : compile_(std::move(compile)) {}
    void on_epoch_end(int, const Logs&) override { compile_(); }
    void on_test_batch_end(int64_t, const Logs&) override { compile_(); }

   private:
    std::function<void()> compile_;
  };
  const auto said = [](auto f) {
    try {
      f();
    } catch (const StateError& error) {
      return std::string(error.what());
    }
    return std::string();
  };
  const std::vector<std::shared_ptr<Callback>> callbacks{
      std::make_shared<Compiles>([&] { compile(NanPolicy::raise); })};
  EXPECT_THAT(said([&] { model.fit(x, y, {.verbose = 0, .callbacks = callbacks}); }),
              AllOf(HasSubstr("[compile]"), HasSubstr("set stop_training")));
  EXPECT_THAT(said([&] { model.evaluate(x, y, {.verbose = 0, .callbacks = callbacks}); }), HasSubstr("[compile]"));
  EXPECT_NO_THROW(compile(NanPolicy::raise));
  EXPECT_TRUE(std::isfinite(model.fit(x, y, {.verbose = 0})["loss"][0]));
}

// What a plan reads may be what it updates.
TEST_F(BadInput, AWeightAsDataIsReadBeforeItIsUpdated) {
  class Both : public Layer {
   public:
    ISO_LAYER(Both)
    void build(const Shape& input) override {
      rows_ = add_weight("rows", {64, input[0]}, "ones");
      kernel_ = add_weight("kernel", {input[0], 512}, "ones");
    }
    Tensor call(const Tensor& in, const CallContext&) override {
      return matmul(in, kernel_) + mean(square(rows_)) * 100.0;
    }

   private:
    Variable rows_, kernel_;
  };
  const Tensor start = random_normal({64, 256}, 0, 1, {.seed = 1}).eval(), target = zeros({64, 512});
  std::vector<Tensor> trained;
  for (const bool itself : {false, true}) {
    Sequential both{Both()};
    both.build({256});
    both.set_weights({start, random_normal({256, 512}, 0, 1, {.seed = 2})});
    both.compile({.optimizer = SGD(10.0), .loss = "mse"});
    both.train_on_batch(itself ? Tensor(both.weights()[0]) : start, target);
    trained.push_back(both.get_weights()[1]);
  }
  EXPECT_TRUE(same_elements(trained[0], trained[1]));
}

TEST_F(BadInput, NothingToTrainIsSaid) {
  Sequential frozen{Dense(3)};
  frozen.set_trainable(false);
  frozen.compile({.loss = SparseCategoricalCrossentropy({.from_logits = true})});
  testing::internal::CaptureStderr();
  frozen.fit(x, y, {.epochs = 2, .verbose = 0});
  const std::string said = captured_stderr();
  EXPECT_THAT(said, testing::HasSubstr("has no trainable weights"));
  EXPECT_EQ(said.find("has no trainable"), said.rfind("has no trainable"));
}

TEST_F(BadInput, WrongFeatureCount) {
  const Tensor wide = zeros({6, 5});
  refuses<ShapeError>([&] { model.fit(wide, y, {.verbose = 0}); }, {"(2,)", "(6, 5)"});
  refuses<ShapeError>([&] { model.predict(wide); }, {"(2,)", "(6, 5)"});
  refuses<ShapeError>([&] { model.evaluate(wide, y, {.verbose = 0}); }, {"(2,)", "(6, 5)"});
}

TEST_F(BadInput, LabelOutOfRangeNamesRowAndValue) {
  const Tensor bad = tensor({0, 1, 2, 0, 7, 2});
  // The row of the data, not of the batch; the batches before it have been learned.
  EXPECT_THAT([&] { model.fit(x, bad, {.batch_size = 2, .shuffle = false, .verbose = 0}); },
              error<Error>("7 at row 4; epoch 1, step 3: the weights are as before this step"));
  EXPECT_THAT([&] { model.fit(x, bad, {.batch_size = 2, .verbose = 0}); }, error<Error>("7 at row 4"));
  refuses<Error>([&] { model.fit(x, bad, {.verbose = 0}); }, {"7", "row 4"});
  refuses<Error>([&] { model.train_on_batch(x, bad); }, {"7", "row 4"});
  refuses<Error>([&] { model.evaluate(x, bad, {.batch_size = 2, .verbose = 0}); }, {"7", "row 4"});
}

TEST_F(BadInput, LabelOutOfRangeForProbabilities) {
  Sequential probable{Input({2}), Dense(3, {.activation = "softmax"})};
  probable.compile({.optimizer = "sgd", .loss = "sparse_categorical_crossentropy", .metrics = {"accuracy"}});
  const FitOptions by_two{.batch_size = 2, .verbose = 0};
  EXPECT_THAT([&] { probable.fit(x, tensor({0, 1, 2, 0, 3, 2}), by_two); }, error<Error>("got 3 at row 4"));
  EXPECT_THAT([&] { probable.fit(x, tensor({0, -1, 2, 0, 1, 2}), by_two); }, error<Error>("got -1 at row 1"));
  EXPECT_THAT(
      [&] {
        probable.fit(x, tensor({{0.f}, {1.f}, {2.f}, {9.f}, {1.f}, {2.f}}), by_two);
      },
      error<Error>("got 9 at row 3"));
}

TEST_F(BadInput, LabelsThatAreNoWholeNumbersNameRowAndValue) {
  const Tensor bad = tensor({0., 1., 2., 0., 1.5, 2.}), nan = tensor({0., 1., std::nan(""), 0., 1., 2.});
  refuses<Error>([&] { model.fit(x, bad, {.verbose = 0}); },
                 {"labels must be whole numbers in [0, 3), got 1.5 at row 4"});
  refuses<Error>([&] { model.train_on_batch(x, reshape(bad, {6, 1})); }, {"1.5", "row 4"});
  refuses<Error>([&] { model.evaluate(x, cast(bad, DType::float64), {.verbose = 0}); }, {"1.5", "row 4"});
  refuses<Error>([&] { model.train_on_batch(x, cast(bad, DType::bfloat16)); }, {"1.5", "row 4"});
  refuses<Error>([&] { model.train_on_batch(x, nan); }, {"got nan", "row 2"});
  refuses<Error>([&] { model.train_on_batch(x, tensor({0., 1., 2., -1., 1., 2.})); }, {"in [0, 3), got -1 at row 3"});
  refuses<Error>([&] { model.train_on_batch(x, tensor({0., 1e30, 2., 1., 1., 2.})); }, {"row 1"});
  model.compile(
      {.optimizer = SGD(0.1), .loss = SparseCategoricalCrossentropy({.from_logits = true, .ignore_class = -1})});
  refuses<Error>([&] { model.train_on_batch(x, bad); }, {"1.5", "row 4"});
  // Whole numbers are labels, whatever their dtype.
  const double loss = model.evaluate(x, y, {.verbose = 0})[0].second;
  for (const DType dtype : {DType::float32, DType::float64, DType::bfloat16, DType::uint8})
    EXPECT_EQ(model.evaluate(x, cast(y, dtype), {.verbose = 0})[0].second, loss);
}

TEST_F(BadInput, NoDataAndUnequalLengths) {
  refuses<ValueError>([&] { model.fit(zeros({0, 2}), zeros({0}), {.verbose = 0}); }, {"no data", "(0, 2)"});
  refuses<ValueError>([&] { model.predict(zeros({0, 2})); }, {"empty", "(0, 2)"});
  refuses<ValueError>([&] { model.fit(x, Tensor(), {.verbose = 0}); }, {"y is an undefined tensor"});
  refuses<ValueError>([&] { model.fit(Tensor(), y, {.verbose = 0}); }, {"x is an undefined tensor"});
  refuses<Error>([&] { model.predict(Tensor()); }, {"undefined"});
  refuses<ShapeError>([&] { model.fit(x, tensor({0, 1}), {.verbose = 0}); }, {"6 and 2"});
  refuses<ShapeError>([&] { model.fit(x, y, {.sample_weight = tensor({1.0}), .verbose = 0}); },
                      {"sample_weight", "6 and 1"});
  refuses<ShapeError>([&] { model.fit(scalar(1), scalar(1), {.verbose = 0}); }, {"scalar"});
}

TEST_F(BadInput, OptionsThatMakeNoSense) {
  refuses<ValueError>([&] { model.fit(x, y, {.batch_size = 0, .verbose = 0}); }, {"batch_size", "got 0"});
  refuses<ValueError>([&] { model.fit(x, y, {.epochs = -1, .verbose = 0}); }, {"epochs", "got -1"});
  refuses<ValueError>([&] { model.fit(x, y, {.validation_split = 1, .verbose = 0}); }, {"validation_split"});
  refuses<ValueError>([&] { model.fit(x, y, {.validation_split = 0.999, .verbose = 0}); }, {"0 for training"});
  refuses<ValueError>([&] { model.fit(x, y, {.class_weight = {{0, -1}}, .verbose = 0}); }, {"class 0", "got -1"});
  refuses<ShapeError>(
      [&] {
        model.fit(x, reshape(y, {6, 1, 1}), {.class_weight = {{0, 2}}, .verbose = 0});
      },
      {"class_weight", "(6, 1, 1)"});
  refuses<ValueError>([&] { model.fit(x, y, {.verbose = 0, .watchdog = {.first_step_limit = -1}}); },
                      {"first_step_limit", "got -1"});
  refuses<ValueError>([&] { model.fit(x, y, {.verbose = 0, .callbacks = {nullptr}}); }, {"callback"});
}

TEST_F(BadInput, NotANumberByPolicy) {
  std::vector<float> values = x.to_vector<float>();
  values[4] = std::numeric_limits<float>::infinity();  // row 2, in the second of three batches
  const Tensor bad = tensor(values, {6, 2});
  const FitOptions options{.batch_size = 2, .shuffle = false, .verbose = 0};
  const std::vector<Tensor> start = model.get_weights();
  const auto rows = [](const Tensor& t, int64_t first) { return slice(t, {first}, {first + 2}).eval(); };

  model.train_on_batch(rows(x, 0), rows(y, 0));
  const std::vector<Tensor> after_one = model.get_weights();
  model.train_on_batch(rows(x, 4), rows(y, 4));
  const std::vector<Tensor> after_two = model.get_weights();

  model.set_weights(start);
  EXPECT_THAT([&] { model.fit(bad, y, options); },
              testing::Throws<NumericError>(
                  testing::Property(&std::exception::what, AllOf(HasSubstr("epoch 1, step 2"), HasSubstr("loss")))));
  expect_weights(after_one);

  model.set_weights(start);
  compile(NanPolicy::skip);
  const History skipped = model.fit(bad, y, options);
  EXPECT_EQ(skipped.skipped_steps(), 1);
  EXPECT_TRUE(std::isfinite(skipped["loss"][0]));
  expect_weights(after_two);

  model.set_weights(start);
  compile(NanPolicy::warn);
  testing::internal::CaptureStdout();
  testing::internal::CaptureStderr();
  const History warned = model.fit(bad, y, options);
  EXPECT_THAT(testing::internal::GetCapturedStdout() + captured_stderr(), HasSubstr("warning"));
  EXPECT_FALSE(std::isfinite(warned["loss"][0]));
}

TEST_F(BadInput, UnknownNamesGetASuggestion) {
  refuses<ValueError>([&] { model.compile({.optimizer = "adm", .loss = "mse"}); }, {"adm", "did you mean", "\"adam\""});
  refuses<ValueError>([&] { model.compile({.loss = "mean_square_error"}); }, {"did you mean", "mean_squared_error"});
  refuses<ValueError>([&] { model.compile({.loss = "mse", .metrics = {"accurcy"}}); }, {"did you mean \"accuracy\""});
  refuses<ValueError>([&] { model.compile({.loss = "mse", .weighted_metrics = {"rocall"}}); },
                      {"did you mean \"recall\""});
  refuses<ValueError>([&] { Dense(1, {.activation = "rleu"}); }, {"rleu", "did you mean", "\"relu\""});
  refuses<ValueError>([&] { model.compile({.optimizer = "adam"}); }, {"loss"});
  const History history = model.fit(x, y, {.verbose = 0});
  refuses<ValueError>([&] { history["los"]; }, {"did you mean", "\"loss\""});
}

TEST_F(BadInput, SizesThatOverflow) {
  const int64_t huge = std::numeric_limits<int64_t>::max();
  refuses<Error>([&] { Sequential{Input({2}), Dense(huge)}; }, {});
  refuses<Error>([&] { zeros({huge, huge}); }, {});
  refuses<ValueError>([] { Dense(-1); }, {"got -1"});
}

TEST_F(BadInput, UnbuiltAndUncompiled) {
  Sequential unbuilt{Dense(3)};
  EXPECT_THAT([&] { unbuilt.fit(x, y, {.verbose = 0}); }, error<StateError>("compile("));
  EXPECT_THAT([&] { unbuilt.evaluate(x, y, {.verbose = 0}); }, error<StateError>("compile("));
  EXPECT_THAT([&] { unbuilt.optimizer(); }, error<StateError>("compile("));
  EXPECT_THAT([&] { unbuilt.set_weights({x}); }, error<StateError>("no weights yet"));
  refuses<ShapeError>([&] { model.set_weights({zeros({2, 3}), zeros({4})}); }, {"bias", "(3,)", "(4,)"});
}

}  // namespace
}  // namespace isochron
