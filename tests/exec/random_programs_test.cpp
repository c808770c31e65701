// Programs of random ops, assignments, traced functions, gradients and optimizer steps, in which values are read now
// and then: whatever is pending, whichever plans run and whoever holds a handle, a value is what computing everything
// at once gives.
#include <gtest/gtest.h>

#include <array>
#include <cmath>
#include <random>

#include "isochron/base/threads.h"
#include "isochron/exec/evaluate.h"
#include "isochron/exec/function.h"
#include "isochron/graph/tape.h"
#include "isochron/ops/ops.h"
#include "isochron/optim/torch_optimizers.h"

namespace isochron {
namespace {

constexpr int64_t kRows = 2, kColumns = 3, kElements = kRows * kColumns;
using Numbers = std::array<double, kElements>;

template <class F>
Numbers map(F f, const Numbers& a, const Numbers& b = {}) {
  Numbers out;
  for (size_t i = 0; i < out.size(); ++i) out[i] = f(a[i], b[i]);
  return out;
}

struct Held {
  Tensor tensor;
  Numbers numbers;
};

class Program {
 public:
  explicit Program(uint64_t seed) : random_(seed) {
    for (int i = 0; i < 3; ++i) variables_.push_back(make_variable());
    for (int i = 0; i < 2; ++i) held_.push_back(fresh());
    optimizer_.emplace(std::vector<Tensor>{variables_[0].tensor, variables_[1].tensor}, optim::SGDOptions{.lr = kRate});
    make_functions();
  }

  // What was done so far, for a message.
  const std::string& trace() const { return trace_; }

  void act() {
    static constexpr std::array<void (Program::*)(), 19> kActions{&Program::combine,
                                                                  &Program::combine,
                                                                  &Program::combine,
                                                                  &Program::assign,
                                                                  &Program::assign,
                                                                  &Program::read_variable,
                                                                  &Program::look,
                                                                  &Program::look,
                                                                  &Program::drop,
                                                                  &Program::call_reader,
                                                                  &Program::backward,
                                                                  &Program::call_writer,
                                                                  &Program::tape,
                                                                  &Program::finish_step,
                                                                  &Program::across_a_call,
                                                                  &Program::capture,
                                                                  &Program::call_capture,
                                                                  &Program::call_nested,
                                                                  &Program::replace_variable};
    (this->*kActions[random_() % kActions.size()])();
    if (held_.size() > 12) held_.erase(held_.begin());
  }
  void look_at_everything() {
    for (size_t i = 0; i < held_.size(); ++i) expect(held_[i], "held");
    for (size_t i = 0; i < variables_.size(); ++i) expect(variables_[i], "variable");
  }

 private:
  static constexpr double kRate = 0.125;

  void note(std::string what) { trace_ += what + "\n"; }

  void expect(const Held& held, const char* what) {
    const std::vector<double> got = held.tensor.to_vector<double>();
    ASSERT_EQ(got.size(), held.numbers.size());
    for (size_t i = 0; i < got.size(); ++i)
      ASSERT_NEAR(got[i], held.numbers[i], 1e-11 * std::max(1., std::abs(held.numbers[i])))
          << what << ", element " << i << " after\n"
          << trace_;
  }

  Numbers random_numbers() {
    Numbers out;
    for (double& number : out) number = std::uniform_real_distribution<double>(-1, 1)(random_);
    return out;
  }
  static Tensor tensor_of(const Numbers& numbers) {
    return Tensor::from_buffer(std::vector<double>(numbers.begin(), numbers.end()), {kRows, kColumns});
  }
  Held fresh() {
    const Numbers numbers = random_numbers();
    return {tensor_of(numbers), numbers};
  }
  Held make_variable() {
    const Held initial = fresh();
    return {Variable(initial.tensor), initial.numbers};
  }
  size_t any(size_t count) { return static_cast<size_t>(random_() % count); }
  Held& any_variable() { return variables_[any(variables_.size())]; }
  // A value of any kind; a variable stands for what it is now.
  Held any_value() {
    const size_t at = any(held_.size() + variables_.size() + 1);
    if (at == held_.size() + variables_.size()) return fresh();
    return at < held_.size() ? held_[at] : variables_[at - held_.size()];
  }

  void combine() {
    const Held a = any_value(), b = any_value();
    switch (any(6)) {
      case 0:
        note("a + b");
        return hold(a.tensor + b.tensor, map([](double x, double y) { return x + y; }, a.numbers, b.numbers));
      case 1:
        note("a * b");
        return hold(a.tensor * b.tensor, map([](double x, double y) { return x * y; }, a.numbers, b.numbers));
      case 2:
        note("tanh(a - b)");
        return hold(isochron::tanh(a.tensor - b.tensor),
                    map([](double x, double y) { return std::tanh(x - y); }, a.numbers, b.numbers));
      case 3:
        note("maximum(a, b)");
        return hold(maximum(a.tensor, b.tensor),
                    map([](double x, double y) { return std::max(x, y); }, a.numbers, b.numbers));
      case 4:
        note("a reshaped and back, by copy");
        return hold(a.tensor.reshape({kColumns, kRows}).reshape({kRows, kColumns}), a.numbers);
      default: {
        note("sum of the rows of a, under b");
        Numbers sums;
        for (size_t i = 0; i < sums.size(); ++i) sums[i] = a.numbers[i % kColumns] + a.numbers[i % kColumns + kColumns];
        return hold(a.tensor.sum({0}, true) + b.tensor * 0.,
                    map([](double x, double y) { return x + y * 0; }, sums, b.numbers));
      }
    }
  }
  void hold(const Tensor& tensor, const Numbers& numbers) { held_.push_back({tensor, numbers}); }

  void assign() {
    Held& variable = any_variable();
    const Held value = any_value();
    switch (any(3)) {
      case 0:
        note("variable = value");
        Variable::of(variable.tensor).assign(value.tensor);
        variable.numbers = value.numbers;
        return;
      case 1:
        note("variable += value");
        Variable::of(variable.tensor).assign_add(value.tensor);
        variable.numbers = map([](double x, double y) { return x + y; }, variable.numbers, value.numbers);
        return;
      default:
        note("variable = tanh(variable * value)");
        Variable::of(variable.tensor).assign(isochron::tanh(variable.tensor * value.tensor));
        variable.numbers = map([](double x, double y) { return std::tanh(x * y); }, variable.numbers, value.numbers);
    }
  }
  void read_variable() {
    note("read() of a variable");
    const Held& variable = any_variable();
    hold(Variable::of(variable.tensor).read(), variable.numbers);
  }
  void look() {
    if (random_() % 2) {
      const size_t at = any(held_.size());
      note(fmt::format("look at held value {} of {}", at, held_.size()));
      expect(held_[at], "held value");
    } else {
      const size_t at = any(variables_.size());
      note(fmt::format("look at variable {}", at));
      expect(variables_[at], "variable");
    }
  }
  void drop() {
    note("drop");
    if (held_.size() > 2) held_.erase(held_.begin() + static_cast<std::ptrdiff_t>(any(held_.size())));
  }
  void finish_step() {
    note("end_step");
    end_step();
  }

  Numbers read_numbers(const Numbers& x) {
    return map([](double a, double b) { return std::tanh(a * b) + 1; }, x, variables_[0].numbers);
  }
  void call_reader() {
    note("function that reads variable 0");
    const Held x = any_value();
    hold(reader_(x.tensor), read_numbers(x.numbers));
  }
  void call_writer() {
    note("function that changes variable 1 by variable 2");
    const Held x = any_value();
    const Numbers before = variables_[1].numbers;
    const Tensor result = writer_(x.tensor);
    variables_[1].numbers = map([](double w, double u) { return 0.5 * w + u; }, before, variables_[2].numbers);
    hold(result, map([](double w, double a) { return w * a; }, variables_[1].numbers, x.numbers));
  }

  // d sum(w w x + w u) / dw = 2 w x + u, d / du = w
  void backward() {
    note("backward and a step of SGD");
    const Held x = any_value();
    const Tensor w = variables_[0].tensor, u = variables_[1].tensor;
    optimizer_->zero_grad();
    const Tensor loss = sum(w * w * x.tensor.detach() + w * u);
    if (random_() % 2) call_reader();
    loss.backward();
    if (random_() % 2) look();
    optimizer_->step();
    const Numbers dw = gradient_of_w(x.numbers), du = variables_[0].numbers;
    const auto stepped = [](double value, double slope) { return value - kRate * slope; };
    variables_[0].numbers = map(stepped, variables_[0].numbers, dw);
    variables_[1].numbers = map(stepped, variables_[1].numbers, du);
  }
  Numbers gradient_of_w(const Numbers& x) {
    return map([](double wx, double u) { return 2 * wx + u; },
               map([](double w, double a) { return w * a; }, variables_[0].numbers, x), variables_[1].numbers);
  }
  void tape() {
    note("gradient of a tape");
    const Held x = any_value();
    const Tensor w = variables_[0].tensor;
    GradientTape tape;
    const Tensor target = w * w * x.tensor.detach() + w * variables_[1].tensor.detach();
    hold(tape.gradient(target, w), gradient_of_w(x.numbers));
  }
  // A function sees a value that was read before it was traced as a constant, and a variable as it is at the call.
  void capture() {
    note("function that captures a read() value, a held one and variable 2");
    const Held& variable = any_variable();
    const Held held = held_[any(held_.size())];
    captures_.push_back({Function<std::function<Tensor(Tensor)>>(
                             [this, old = Variable::of(variable.tensor).read(), other = held.tensor](Tensor x) {
                               return old * x + other * 0.5 + variables_[2].tensor;
                             }),
                         variable.numbers, held.numbers});
    if (captures_.size() > 3) captures_.erase(captures_.begin());
    if (random_() % 2) call_capture();
  }
  void call_capture() {
    if (captures_.empty()) return;
    note("call of a capturing function");
    const Capture& capture = captures_[any(captures_.size())];
    const Held x = any_value();
    const Numbers product = map([](double old, double a) { return old * a; }, capture.old, x.numbers);
    const Numbers both = map([](double a, double other) { return a + other * 0.5; }, product, capture.other);
    hold(capture.function(x.tensor), map([](double a, double u) { return a + u; }, both, variables_[2].numbers));
  }
  // Assigns twice, calls a function that assigns, and gives what was read in between.
  void call_nested() {
    note("function that assigns variable 1 twice, around another function");
    const Held x = any_value();
    const std::vector<Tensor> results = nested_(x.tensor);
    const Numbers first = map([](double w, double a) { return w + a; }, variables_[1].numbers, x.numbers);
    const Numbers inner = map([](double w, double u) { return 0.5 * w + u; }, first, variables_[2].numbers);
    hold(results[0], first);
    hold(results[1], map([](double w, double a) { return w * a; }, inner, x.numbers));
    variables_[1].numbers = map([](double w, double r) { return w - 0.25 * r; }, inner, first);
  }
  void replace_variable() {
    note("a new variable in the place of variable 2, functions traced anew");
    variables_[2] = make_variable();
    make_functions();
    captures_.clear();
  }
  // What was pending before a plan that updates variables in place still sees the old values.
  void across_a_call() {
    note("pending values across a call that updates");
    const Held& variable = variables_[1];
    const Held before{variable.tensor * 3., map([](double w, double) { return 3 * w; }, variable.numbers)};
    call_writer();
    held_.push_back(before);
  }

  std::mt19937_64 random_;
  std::vector<Held> held_, variables_;
  std::optional<optim::SGD> optimizer_;
  std::string trace_;
  struct Capture {
    Function<std::function<Tensor(Tensor)>> function;
    Numbers old, other;
  };
  std::vector<Capture> captures_;
  Function<std::function<Tensor(Tensor)>> reader_{{}}, writer_{{}};
  Function<std::function<std::vector<Tensor>(Tensor)>> nested_{{}};
  void make_functions() {
    reader_ = Function<std::function<Tensor(Tensor)>>(
        [this](Tensor x) { return isochron::tanh(x * variables_[0].tensor) + 1.; });
    writer_ = Function<std::function<Tensor(Tensor)>>([this](Tensor x) {
      Variable::of(variables_[1].tensor).assign(variables_[1].tensor * 0.5 + variables_[2].tensor);
      return variables_[1].tensor * x;
    });
    nested_ = Function<std::function<std::vector<Tensor>(Tensor)>>([this](Tensor x) {
      const Variable w = Variable::of(variables_[1].tensor);
      w.assign_add(x);
      const Tensor first = w.read();
      const Tensor second = writer_(x);
      w.assign_sub(first * 0.25);
      return std::vector<Tensor>{first, second};
    });
  }
};

TEST(RandomPrograms, GiveWhatComputingAtOnceGives) {
  for (uint64_t seed = 0; seed < 400; ++seed) {
    Program program(seed);
    for (int i = 0; i < 60; ++i) {
      try {
        program.act();
      } catch (const std::exception& error) {
        FAIL() << "seed " << seed << ": " << error.what() << " after\n" << program.trace();
      }
      if (::testing::Test::HasFatalFailure()) FAIL() << "seed " << seed;
    }
    program.look_at_everything();
    if (::testing::Test::HasFatalFailure()) FAIL() << "seed " << seed;
  }
}

}  // namespace
}  // namespace isochron
