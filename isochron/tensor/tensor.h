// Tensor: a handle on an n-dimensional array whose value may still be pending.
//
//   Tensor x = tensor({{1.f, 2.f}, {3.f, 4.f}});
//   Tensor y = matmul(x, x) + 1;                 // nothing has run yet
//   fmt::print("{}\n", to_string(y));            // now it has, as one compiled plan
//   y.item<float>({1, 0});  y.to_vector<float>();
//
// Copying a Tensor copies the handle. Reading a value (item, data, to_vector, printing, eval) computes
// everything pending on this thread at once. Handles may be passed between threads; one handle must not
// be changed from two threads at the same time.
#pragma once

#include <cstdint>
#include <functional>
#include <initializer_list>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "isochron/tensor/axis_list.h"
#include "isochron/tensor/node.h"

namespace isochron {

class Tensor;

// What all handles of one tensor share.
struct TensorState : std::enable_shared_from_this<TensorState> {
  explicit TensorState(Value v);
  ~TensorState();
  TensorState(const TensorState&) = delete;
  void set(Value v);
  // In and out of the list of its thread's pending tensors.
  void link();
  void unlink();

  Value value;
  Value settled;  // of a variable with a pending value: the last computed one, to go back to when a step fails
  std::shared_ptr<TensorState> gradient;  // accumulated by backward()
  std::string name;
  uint64_t variable = 0;  // not 0: a variable with this id, whose value may be assigned
  bool trainable = false;
  // Links of the list of one thread's pending tensors, by which a step finds what is still to be computed.
  TensorState* previous = nullptr;
  TensorState* next = nullptr;
  struct ThreadList* list = nullptr;
};

class Tensor {
 public:
  Tensor() = default;  // undefined: holds nothing
  explicit Tensor(Value value);
  explicit Tensor(std::shared_ptr<TensorState> state) : state_(std::move(state)) {}

  // From memory: copies `data`, or takes over an owned buffer without copying.
  template <ElementType T>
  static Tensor from_span(std::span<const T> data, const Shape& shape);
  template <ElementType T>
  static Tensor from_span(std::span<T> data, const Shape& shape) {
    return from_span(std::span<const T>(data), shape);
  }
  template <ElementType T>
  static Tensor from_buffer(std::vector<T> data, const Shape& shape);
  static Tensor from_storage(Storage bytes, TensorSpec spec);

  bool defined() const { return state_ != nullptr; }
  const TensorSpec& spec() const;
  const Shape& shape() const { return spec().shape; }
  DType dtype() const { return spec().dtype; }
  int rank() const { return shape().rank(); }
  int64_t dim(int axis) const;
  int64_t elements() const { return shape().elements(); }

  // Computes the value now. Throws what the computation throws; the tensor then stays pending.
  const Tensor& eval() const;
  bool pending() const { return defined() && !state_->value.node->computed(); }
  // The only element, or the one at `index`, converted to T.
  template <class T = double>
  T item() const;
  template <class T = double>
  T item(std::initializer_list<int64_t> index) const;
  // The elements in row-major order; DTypeError when T is not the dtype. Valid while this value lives.
  template <ElementType T>
  const T* data() const;
  const void* raw_data() const;
  // A copy of the elements, converted to T.
  template <class T>
  std::vector<T> to_vector() const;

  // Autograd in the manner of PyTorch.
  bool requires_grad() const { return defined() && state_->trainable && state_->variable != 0; }
  Tensor& set_requires_grad(bool on = true);
  void backward() const;
  void backward(const Tensor& gradient) const;
  Tensor grad() const { return Tensor(defined() ? state_->gradient : nullptr); }
  void zero_grad() const;
  // The same value, with no history.
  Tensor detach() const;

  const std::string& name() const;
  const std::shared_ptr<TensorState>& state() const { return state_; }
  const Value& value() const;

  // Frequently used ops as methods; all ops are free functions (ops/ops.h).
  Tensor to(DType dtype) const;
  Tensor reshape(std::vector<int64_t> shape) const;
  Tensor transpose(std::vector<int64_t> permutation = {}) const;
  Tensor sum(const AxisList& axes = {}, bool keepdims = false) const;
  Tensor mean(const AxisList& axes = {}, bool keepdims = false) const;
  Tensor operator[](int64_t index) const;

 protected:
  std::shared_ptr<TensorState> state_;
};

struct VariableOptions {
  std::string name;
  bool trainable = true;
};

// A tensor whose value can be assigned: weights, optimizer state, counters. Inside a plan it is updated
// in place. Assignments are pending like any op.
class Variable : public Tensor {
 public:
  Variable() = default;
  explicit Variable(const Tensor& initial, VariableOptions options = {});
  explicit Variable(double initial, VariableOptions options = {});  // a float32 scalar
  // View of a tensor that is a variable; StateError otherwise.
  static Variable of(const Tensor& tensor);

  // ShapeError/DTypeError when the spec differs: a variable keeps its shape and dtype (see nn::Module::to()).
  void assign(const Tensor& value) const;
  void assign_add(const Tensor& value) const;
  void assign_sub(const Tensor& value) const;
  bool trainable() const { return state_->trainable; }
  void set_trainable(bool on) const { state_->trainable = on; }
  // The value as of now, for good: later assignments do not change it, and a traced function that captures it sees it
  // as a constant. Within a traced function it is the value at this point of every call. Gradients flow through it to
  // the variable; detach() gives a constant.
  Tensor read() const;
};

// NumPy's way of printing; large tensors are summarised.
std::string to_string(const Tensor& tensor);

// For tests and debugging: same shape and dtype, and every element within atol + rtol * |expected|.
bool allclose(const Tensor& actual, const Tensor& expected, double rtol = 1e-5, double atol = 1e-8);
bool same_elements(const Tensor& a, const Tensor& b);  // bit for bit, NaN equal to NaN

}  // namespace isochron

template <class T>
requires std::is_base_of_v<isochron::Tensor, T>
struct fmt::formatter<T> {
  constexpr auto parse(fmt::format_parse_context& context) { return context.begin(); }
  template <class Context>
  auto format(const isochron::Tensor& value, Context& context) const {
    return fmt::format_to(context.out(), "{}", isochron::to_string(value));
  }
};

#include "isochron/tensor/tensor_inl.h"
