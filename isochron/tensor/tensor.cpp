#include "isochron/tensor/tensor.h"

#include <atomic>
#include <cmath>
#include <mutex>
#include <unordered_map>

#include "isochron/tensor/deferred.h"
#include "isochron/tensor/engine.h"

namespace isochron {

// The pending tensors of one thread. The list outlives its thread while tensors in it do.
struct ThreadList {
  std::mutex mutex;  // tensors may be dropped by another thread than the one that made them
  TensorState* head = nullptr;
  std::atomic<int64_t> users{1};
  void drop() {
    if (users.fetch_sub(1, std::memory_order_acq_rel) == 1) delete this;
  }
};

namespace {

struct ThreadListOwner {
  ThreadList* list = new ThreadList;
  ~ThreadListOwner() { list->drop(); }
};

ThreadList& list_of_this_thread() {
  thread_local ThreadListOwner owner;
  return *owner.list;
}

// Variables by id. Never destroyed: variables in static storage leave it at any time.
struct VariableTable {
  std::mutex mutex;
  std::unordered_map<uint64_t, std::weak_ptr<TensorState>> by_id;
  uint64_t last = 0;
  static VariableTable& global() {
    static VariableTable* table = new VariableTable;
    return *table;
  }
};

void register_variable(const std::shared_ptr<TensorState>& state) {
  VariableTable& table = VariableTable::global();
  std::lock_guard lock(table.mutex);
  state->variable = ++table.last;
  table.by_id[state->variable] = state;
}

}  // namespace

EngineHooks& engine_hooks() {
  static EngineHooks hooks;
  return hooks;
}

int64_t& nodes_since_evaluation() {
  thread_local int64_t count = 0;
  return count;
}

TensorState::TensorState(Value v) : value(std::move(v)) {
  value.node->handles.fetch_add(1, std::memory_order_relaxed);
  if (!value.node->computed()) link();
}

std::shared_ptr<TensorState> find_variable(uint64_t id) {
  VariableTable& table = VariableTable::global();
  std::lock_guard lock(table.mutex);
  const auto found = table.by_id.find(id);
  return found == table.by_id.end() ? nullptr : found->second.lock();
}

std::atomic<int64_t>& pending_limit() {
  static std::atomic<int64_t> limit{100'000};
  return limit;
}

TensorState::~TensorState() {
  if (variable) {
    VariableTable& table = VariableTable::global();
    std::lock_guard lock(table.mutex);
    table.by_id.erase(variable);
  }
  value.node->handles.fetch_sub(1, std::memory_order_relaxed);
  unlink();
}

void TensorState::set(Value v) {
  v.node->handles.fetch_add(1, std::memory_order_relaxed);
  value.node->handles.fetch_sub(1, std::memory_order_relaxed);
  value = std::move(v);
  value.node->computed() ? unlink() : link();
}

void TensorState::link() {
  if (list) return;
  list = &list_of_this_thread();
  std::lock_guard lock(list->mutex);
  list->users.fetch_add(1, std::memory_order_relaxed);
  previous = nullptr;
  next = list->head;
  if (next) next->previous = this;
  list->head = this;
}

void TensorState::unlink() {
  if (!list) return;
  {
    std::lock_guard lock(list->mutex);
    if (previous) previous->next = next;
    if (next) next->previous = previous;
    if (list->head == this) list->head = next;
  }
  std::exchange(list, nullptr)->drop();
}

std::vector<std::shared_ptr<TensorState>> pending_tensors_of_this_thread() {
  ThreadList& list = list_of_this_thread();
  std::vector<std::shared_ptr<TensorState>> pending;
  std::lock_guard lock(list.mutex);
  for (TensorState* state = list.head; state; state = state->next)
    if (std::shared_ptr<TensorState> held = state->weak_from_this().lock()) pending.push_back(std::move(held));
  return pending;
}

Tensor::Tensor(Value value)
    : state_(std::allocate_shared<TensorState>(PoolAllocator<TensorState>(), std::move(value))) {}

Tensor Tensor::from_storage(Storage bytes, TensorSpec spec) {
  ISO_CHECK(static_cast<int64_t>(bytes.bytes()) >= spec.bytes());
  return Tensor(make_leaf(spec, std::move(bytes)));
}

const Value& Tensor::value() const {
  if (!defined())
    fail<StateError>(
        "tensor",
        "the tensor is undefined: it was default-constructed and never assigned, or is a grad() before backward()");
  return state_->value;
}

const TensorSpec& Tensor::spec() const { return value().spec(); }

int64_t Tensor::dim(int axis) const { return shape()[normalize_axis("dim", axis, rank())]; }

const Tensor& Tensor::eval() const {
  if (!value().node->computed()) {
    engine_hooks().evaluate(std::span<const Value>(&value(), 1));
  }
  return *this;
}

const void* Tensor::raw_data() const {
  eval();
  const Storage& bytes = value().node->results[static_cast<size_t>(value().index)];
  fill_deferred(bytes);
  return bytes.data();
}

Tensor& Tensor::set_requires_grad(bool on) {
  if (!is_floating(dtype())) fail<DTypeError>("requires_grad", "only floating tensors have gradients, got {}", dtype());
  if (state_->variable == 0) {
    eval();
    state_->set(make_leaf(spec(), value().node->results[static_cast<size_t>(value().index)], LeafRole::variable));
    register_variable(state_);
    state_->value.node->variable = state_->variable;
  }
  state_->trainable = on;
  state_->value.node->differentiable = on;
  return *this;
}

void Tensor::backward() const {
  if (elements() != 1) fail<ShapeError>("backward", "needs a scalar (sum or mean it first), got shape {}", shape());
  engine_hooks().backward(value(), nullptr);
}

void Tensor::backward(const Tensor& gradient) const {
  if (gradient.spec() != spec())
    fail<ShapeError>("backward", "the gradient must be {} like the tensor, got {}", to_string(spec()),
                     to_string(gradient.spec()));
  const Value seed = gradient.value();
  engine_hooks().backward(value(), &seed);
}

void Tensor::zero_grad() const {
  if (defined()) state_->gradient = nullptr;
}

const std::string& Tensor::name() const {
  (void)value();
  return state_->name;
}

Variable::Variable(const Tensor& initial, VariableOptions options) : Tensor() {
  initial.eval();
  const Value& from = initial.value();
  Storage bytes = from.node->results[static_cast<size_t>(from.index)];
  // Take the bytes over when nobody else can see them, copy them otherwise.
  Storage own = bytes;
  if (from.node->handles.load() > 1 || from.node->variable != 0 || initial.state().use_count() > 1) {
    own = Storage::allocate(bytes.bytes());
    fill_deferred(bytes);
    std::memcpy(own.data(), bytes.data(), static_cast<size_t>(initial.spec().bytes()));
  }
  state_ = Tensor(make_leaf(initial.spec(), std::move(own), LeafRole::variable)).state();
  register_variable(state_);
  state_->trainable = options.trainable && is_floating(dtype());
  state_->name = std::move(options.name);
  state_->value.node->variable = state_->variable;
  state_->value.node->differentiable = state_->trainable;
}

Variable::Variable(double initial, VariableOptions options)
    : Variable(Tensor::from_buffer(std::vector<float>{static_cast<float>(initial)}, {}), std::move(options)) {}

Variable Variable::of(const Tensor& tensor) {
  if (!tensor.defined() || tensor.state()->variable == 0)
    fail<StateError>("Variable", "the tensor is no variable: make it one with Variable(tensor) or set_requires_grad()");
  Variable variable;
  variable.state_ = tensor.state();
  return variable;
}

void Variable::assign(const Tensor& value) const {
  if (value.dtype() != dtype())
    fail<DTypeError>("assign", "variable \"{}\" is {} and keeps that for life, got {}", name(), to_string(spec()),
                     to_string(value.spec()));
  if (value.spec() != spec())
    fail<ShapeError>("assign", "variable \"{}\" is {} and keeps that for life, got {}", name(), to_string(spec()),
                     to_string(value.spec()));
  state_->set(engine_hooks().assigned_value(state_, value.value()));
}

}  // namespace isochron
