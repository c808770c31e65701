// iso::function: user code traced once per signature of its arguments, then run as one plan.
//
//   auto step = iso::function([&](Tensor x, Tensor y) {
//     GradientTape tape;
//     Tensor loss = mean(square(model(x) - y));
//     optimizer.apply_gradients(tape.gradient(loss, model.trainable_variables()), model.trainable_variables());
//     return loss;
//   });
//   Tensor loss = step(x, y);
//
// The callable takes Tensors and returns void, a Tensor, a std::vector, std::pair or std::tuple of them. Its C++ side
// effects happen while tracing only; variables it assigns are updated in place by every call, and random ops draw
// new numbers in every call. Reading a value that depends on an argument while tracing is a StateError.
#pragma once

#include <functional>
#include <list>
#include <memory>
#include <optional>
#include <string>
#include <tuple>
#include <unordered_map>
#include <vector>

#include "isochron/exec/executable.h"
#include "isochron/tensor/tensor.h"

namespace isochron {

using TensorList = SmallVector<Tensor, 3>;
using TracedBody = std::function<TensorList(std::span<const Tensor>)>;

// Where a number that is not finite came from: an argument of the traced code, or else what `text` says.
struct NumberOrigin {
  int32_t argument = -1;
  std::string text;
};

// Copies of variables, made when a plan first updates them, for runs that leave the variables as they are.
class ScratchVariables {
 public:
  void* bytes_of(const TensorState& settled);

 private:
  std::unordered_map<uint64_t, Storage> copies_;  // by number of the variable
};

// How a plan's inputs and outputs are tied to tensors. Shared by functions and by fit.
class TracedPlan {
 public:
  // Runs `body` once on placeholders of these specs and compiles what it did.
  static std::unique_ptr<TracedPlan> trace(std::span<const TensorSpec> arguments, const TracedBody& body);

  // arguments[i]: bytes of argument i, held meanwhile by whoever has them from a tensor (held_bytes). results[i]: where
  // result i goes (pointers of enough room). Without `check_numbers`, check_finite lets everything pass. With
  // `scratch`, copies are updated in place of the variables.
  void run(std::span<const void* const> arguments, std::span<void* const> results, bool check_numbers = true,
           ScratchVariables* scratch = nullptr);
  // After a run that check_finite stopped: what made its value NaN or infinite. `body` is what was traced; it is traced
  // once more and computed op by op (first_bad_op.h), on the same arguments and random numbers.
  std::optional<NumberOrigin> explain(std::span<const void* const> arguments, const TracedBody& body);

  const std::vector<TensorSpec>& arguments() const { return arguments_; }
  const std::vector<TensorSpec>& results() const { return results_; }
  // What every run assigns.
  std::vector<Variable> updated_variables() const;
  Executable& executable() { return *plan_; }
  double trace_seconds() const { return trace_seconds_; }
  // A variable that has another dtype than when this was traced; null while all are as they were.
  const TensorState* converted_variable();

 private:
  struct Input {
    enum Kind : uint8_t { argument, variable, captured, random_key } kind;
    int32_t index = 0;  // of the argument
    std::shared_ptr<TensorState> variable_state;
    bool updated = false;
    Value value;                   // captured: kept alive here
    DType dtype = DType::float32;  // of a variable
  };
  struct Recording;
  static Recording record(std::span<const TensorSpec> arguments, const TracedBody& body);
  // Bytes of an input that is not updated.
  void* bytes_of_input(const Input& input, std::span<const void* const> arguments);
  void bind(std::vector<Input>& inputs, std::span<const void* const> arguments, std::vector<void*>& pointers,
            ScratchVariables* scratch);

  std::shared_ptr<Executable> plan_;
  std::vector<TensorSpec> arguments_, results_;
  std::vector<Input> inputs_;
  int64_t conversions_ = 0;  // of variables, when all were last seen to be as they were
  int64_t random_keys_ = 0;
  int64_t random_key_[2] = {0, 0};
  double trace_seconds_ = 0;
  std::vector<void*> input_pointers_, output_pointers_;
};

// The bytes of an evaluated tensor. While they are held, a plan that updates the variable they are of writes elsewhere.
Storage held_bytes(const Tensor& argument);

// What one function has compiled.
struct FunctionReport {
  int64_t calls = 0;
  int64_t traces = 0;
  double trace_seconds = 0, compile_seconds = 0;
  std::vector<std::string> signatures;
};

class TracedFunction {
 public:
  explicit TracedFunction(TracedBody body) : body_(std::move(body)) {}
  TensorList call(std::span<const Tensor> arguments);
  FunctionReport report() const;

 private:
  static constexpr size_t kKept = 64;
  TracedPlan& plan_for(std::span<const Tensor> arguments);
  TracedBody body_;
  std::list<std::unique_ptr<TracedPlan>> plans_;  // most recently used first
  FunctionReport report_;
};

// Called for every assignment; notes it when a function is being traced on this thread.
void note_assignment(const std::shared_ptr<TensorState>& variable);

namespace detail {

template <class T>
TensorList to_list(T&& value) {
  using V = std::remove_cvref_t<T>;
  if constexpr (std::is_base_of_v<Tensor, V>) {
    return {value};
  } else if constexpr (requires { value.begin(); }) {
    return TensorList(value.begin(), value.end());
  } else {
    return std::apply([](auto&&... items) { return TensorList{static_cast<Tensor>(items)...}; }, value);
  }
}

template <class T, size_t... I>
T from_list_indexed(const TensorList& list, std::index_sequence<I...>) {
  return T{list[I]...};
}

template <class T>
T from_list(const TensorList& list) {
  if constexpr (std::is_base_of_v<Tensor, T>) {
    return list[0];
  } else if constexpr (requires(T t) { t.begin(); }) {
    return T(list.begin(), list.end());
  } else {
    return from_list_indexed<T>(list, std::make_index_sequence<std::tuple_size_v<T>>());
  }
}

template <class F, size_t... I>
decltype(auto) call_indexed(F& f, std::span<const Tensor> arguments, std::index_sequence<I...>) {
  return f(arguments[I]...);
}

template <class Signature>
struct CallTraits;
template <class C, class R, class... A>
struct CallTraits<R (C::*)(A...) const> {
  using Result = R;
  static constexpr size_t arity = sizeof...(A);
};
template <class C, class R, class... A>
struct CallTraits<R (C::*)(A...)> : CallTraits<R (C::*)(A...) const> {};

}  // namespace detail

template <class F>
class Function {
  using Traits = detail::CallTraits<decltype(&F::operator())>;
  using Result = std::remove_cvref_t<typename Traits::Result>;

 public:
  explicit Function(F f)
      : traced_(std::make_shared<TracedFunction>([f = std::move(f)](std::span<const Tensor> arguments) mutable {
          constexpr auto kIndices = std::make_index_sequence<Traits::arity>();
          if constexpr (std::is_void_v<Result>) {
            detail::call_indexed(f, arguments, kIndices);
            return TensorList{};
          } else {
            return detail::to_list(detail::call_indexed(f, arguments, kIndices));
          }
        })) {}

  template <class... Args>
  Result operator()(const Args&... args) const {
    static_assert(sizeof...(Args) == Traits::arity, "as many arguments as the function takes");
    const std::array<Tensor, sizeof...(Args)> arguments{args...};
    TensorList results = traced_->call(arguments);
    if constexpr (!std::is_void_v<Result>) return detail::from_list<Result>(results);
  }
  FunctionReport report() const { return traced_->report(); }

 private:
  std::shared_ptr<TracedFunction> traced_;
};

template <class F>
Function<F> function(F f) {
  return Function<F>(std::move(f));
}

}  // namespace isochron
