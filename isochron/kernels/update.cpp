// Update ops run by the loops in optimizer/: numbers that depend on the step are worked out here, in double.
#include <algorithm>
#include <cmath>
#include <string_view>

#include "isochron/kernels/gemm/gemm.h"
#include "isochron/kernels/kernel.h"
#include "isochron/kernels/optimizer/update.h"
#include "isochron/ops/update.h"

namespace isochron {
namespace {

using kernels::BlockUpdate;
using kernels::GemmShape;
using kernels::TensorSlices;
using kernels::UpdateMethod;
using kernels::UpdateRule;

// The rule an op stands for, and which of the loops' states its slots are.
struct Binding {
  std::string_view op;
  UpdateRule rule;
  int state[3] = {0, 1, 2};
};
constexpr Binding kBindings[] = {
    {"sgd_update", {.method = UpdateMethod::sgd}},
    {"sgd_momentum_update", {.method = UpdateMethod::sgd, .momentum = true}},
    {"rmsprop_update", {.method = UpdateMethod::rmsprop}},
    {"rmsprop_momentum_update", {.method = UpdateMethod::rmsprop, .momentum = true}},
    {"rmsprop_centered_update", {.method = UpdateMethod::rmsprop, .centered = true}, {0, 2, 1}},
    {"rmsprop_centered_momentum_update", {.method = UpdateMethod::rmsprop, .momentum = true, .centered = true}},
    {"adam_update", {.method = UpdateMethod::adam}},
    {"amsgrad_update", {.method = UpdateMethod::adam, .amsgrad = true}},
    {"adamax_update", {.method = UpdateMethod::adamax}},
    {"nadam_update", {.method = UpdateMethod::nadam}},
    {"radam_update", {.method = UpdateMethod::radam}},
    {"adagrad_update", {.method = UpdateMethod::adagrad}},
    {"adadelta_update", {.method = UpdateMethod::adadelta}},
    {"lion_update", {.method = UpdateMethod::lion}},
};

// The numbers of a node that never change.
struct Fixed {
  explicit Fixed(const Attributes& a)
      : beta1(a.get_or("beta_1", 0.0)),
        beta2(a.get_or("beta_2", 0.0)),
        epsilon(a.get_or("epsilon", 0.0)),
        weight_decay(a.get_or("weight_decay", 0.0)),
        dampening(a.get_or("dampening", 0.0)),
        momentum_decay(a.get_or("momentum_decay", 1.0)) {}
  double beta1, beta2, epsilon, weight_decay, dampening, momentum_decay;
};

template <class T>
class UpdateKernel final : public Kernel {
 public:
  UpdateKernel(const KernelRequest& request, const Binding& binding)
      : binding_(binding),
        rule_(binding.rule),
        fixed_(request.attributes()),
        shared_(static_cast<size_t>(request.attributes().get<int64_t>("shared"))),
        slots_(request.node.op->updates.size() - 1),
        product_(request.attributes().get_or("product", false)),
        rows_(request.attributes().get_or("rows", false)),
        group_inputs_(2 + slots_ + (product_ || rows_ ? 1 : 0)) {
    rule_.nesterov = request.attributes().get_or("nesterov", false);
    rule_.pytorch = request.attributes().get_or("pytorch", false);
    rule_.coupled_decay = request.attributes().get_or("coupled_decay", false);
    for (size_t i = 0; i < shared_; ++i) double_[i] = request.inputs[i].dtype == DType::float64;
    for (size_t at = shared_; at < request.inputs.size(); at += group_inputs_) {
      sizes_.push_back(request.inputs[at].shape.elements());
      if (rows_) {
        const TensorSpec& indices = request.inputs[at + 1];
        const int64_t width = request.inputs[at].shape.elements(1, request.inputs[at].shape.rank());
        picked_.push_back({indices.shape.elements(), width, picked_total_, indices.dtype});
        picked_total_ += indices.shape.elements();
        widest_ = std::max(widest_, width);
      }
      if (!product_) continue;
      const Shape &x = request.inputs[at + 1].shape, &dy = request.inputs[at + group_inputs_ - 1].shape;
      products_.push_back({.m = x[1], .n = dy[1], .k = x[0], .trans_a = true});
    }
  }

  size_t scratch_bytes(int threads) const override {
    size_t bytes = sizes_.size() * sizeof(TensorSlices<T>);
    for (const GemmShape& shape : products_) bytes = std::max(bytes, gemm_tiles_scratch_bytes(shape, threads));
    return std::max(bytes, static_cast<size_t>(widest_) * sizeof(T));
  }
  size_t shared_bytes(int) const override { return static_cast<size_t>(picked_total_) * sizeof(uint64_t); }
  // Indices are sorted first, so that rows that repeat are added up before they are applied.
  int stages() const override { return rows_ ? 2 : 1; }

  void run(const KernelFrame& frame) const override {
    if (!*frame.in<bool>(kUpdateEnabled)) return;
    if (rows_ && frame.stage == 0) return sort_rows(frame);
    T scalars[kernels::kUpdateScalars];
    fill_scalars(frame, scalars);
    if constexpr (std::is_same_v<T, float>)
      if (product_) return update_from_products(frame, scalars);
    if (rows_) return update_rows(frame, scalars);
    auto* tensors = static_cast<TensorSlices<T>*>(frame.scratch);
    for (size_t group = 0; group < sizes_.size(); ++group) tensors[group] = slices(frame, group);
    update_tensors(rule_, tensors, static_cast<int64_t>(sizes_.size()), scalars, frame.thread, frame.threads);
  }

 private:
  TensorSlices<T> slices(const KernelFrame& frame, size_t group) const {
    T* states[3] = {};
    const size_t first = group * (1 + slots_);
    for (size_t slot = 0; slot < slots_; ++slot) states[binding_.state[slot]] = frame.out<T>(first + 1 + slot);
    return {.param = frame.out<T>(first),
            .grad = frame.in<T>(shared_ + group * group_inputs_ + 1),
            .s0 = states[0],
            .s1 = states[1],
            .s2 = states[2],
            .size = sizes_[group],
            .weight_decay = static_cast<T>(fixed_.weight_decay)};
  }

  // The gradient of parameter (m, n) is X^T dY, X (k, m), dY (k, n): each block is applied as soon as it is known.
  void update_from_products(const KernelFrame& frame, const float* scalars) const {
    for (size_t group = 0; group < sizes_.size(); ++group) {
      const GemmShape& shape = products_[group];
      const TensorSlices<float> tensor = slices(frame, group);
      const float* x = tensor.grad;
      const float* dy = frame.in<float>(shared_ + (group + 1) * group_inputs_ - 1);
      if (shape.k == 1) {
        update_outer_product(rule_, tensor, scalars, shape.m, shape.n, x, dy, frame.thread, frame.threads);
        continue;
      }
      struct Context {
        BlockUpdate<float> update;
        int64_t columns;
      } context{{rule_, tensor, scalars}, shape.n};
      const kernels::GemmArgs args{.a = x, .b = dy, .lda = shape.m, .ldb = shape.n};
      gemm_tiles(shape, args, frame.scratch, frame.thread, frame.threads, &context,
                 [](void* to, int64_t row, int64_t col, int64_t rows, int64_t cols, const float* tile, int64_t ld) {
                   const auto& c = *static_cast<const Context*>(to);
                   c.update.apply(row * c.columns + col, c.columns, rows, cols, tile, ld);
                 });
    }
  }

  // The rows of one table that a batch picked.
  struct Picked {
    int64_t count, width, first;  // first: where its sorted list starts in the memory of all threads
    DType dtype;
  };
  uint64_t* sorted(const KernelFrame& frame, const Picked& p) const {
    return static_cast<uint64_t*>(frame.shared) + p.first;
  }
  // (row << 32 | position), ascending: a thread sorts every `threads`-th table.
  void sort_rows(const KernelFrame& frame) const {
    for (size_t group = static_cast<size_t>(frame.thread); group < picked_.size();
         group += static_cast<size_t>(frame.threads)) {
      const Picked& p = picked_[group];
      uint64_t* keys = sorted(frame, p);
      const void* indices = frame.inputs[shared_ + group * group_inputs_ + 1];
      for (int64_t i = 0; i < p.count; ++i) {
        const auto row = p.dtype == DType::int64   ? static_cast<uint64_t>(static_cast<const int64_t*>(indices)[i])
                         : p.dtype == DType::int32 ? static_cast<uint64_t>(static_cast<const int32_t*>(indices)[i])
                                                   : static_cast<const uint8_t*>(indices)[i];
        keys[i] = row << 32 | static_cast<uint64_t>(i);
      }
      std::sort(keys, keys + p.count);
    }
  }
  void update_rows(const KernelFrame& frame, const T* scalars) const {
    T* total = static_cast<T*>(frame.scratch);
    for (size_t group = 0; group < picked_.size(); ++group) {
      const Picked& p = picked_[group];
      const uint64_t* keys = sorted(frame, p);
      const BlockUpdate<T> update(rule_, slices(frame, group), scalars);
      const T* dy = frame.in<T>(shared_ + (group + 1) * group_inputs_ - 1);
      const auto row_of = [&](int64_t i) { return static_cast<int64_t>(keys[i] >> 32); };
      const auto gradient = [&](int64_t i) { return dy + static_cast<int64_t>(keys[i] & 0xffffffff) * p.width; };
      // A share begins with the first key of a row that no earlier share holds.
      const auto boundary = [&](int64_t i) {
        while (i > 0 && i < p.count && row_of(i) == row_of(i - 1)) ++i;
        return i;
      };
      const int64_t end = boundary(p.count * (frame.thread + 1) / frame.threads);
      for (int64_t i = boundary(p.count * frame.thread / frame.threads); i < end;) {
        const int64_t row = row_of(i), first = i;
        const T* grad = gradient(i);
        while (++i < p.count && row_of(i) == row) {
          if (i == first + 1) std::copy_n(grad, p.width, total);
          const T* more = gradient(i);
          for (int64_t k = 0; k < p.width; ++k) total[k] += more[k];
          grad = total;
        }
        update.apply(row * p.width, p.width, 1, p.width, grad, p.width);
      }
    }
  }

  double number(const KernelFrame& frame, size_t input) const {
    return double_[input] ? *frame.in<double>(input) : static_cast<double>(*frame.in<float>(input));
  }

  void fill_scalars(const KernelFrame& frame, T* scalars) const {
    const auto set = [&](kernels::UpdateScalar which, double value) { scalars[which] = static_cast<T>(value); };
    const auto step = static_cast<double>(*frame.in<int64_t>(kUpdateStep) + 1);
    const double correction2 = 1 - std::pow(fixed_.beta2, step);
    set(kernels::kLr, number(frame, kUpdateLearningRate));
    set(kernels::kGradScale, number(frame, kUpdateGradientScale));
    set(kernels::kBeta1, fixed_.beta1);
    // PyTorch's momentum starts as the first gradient, undamped.
    const bool torch_momentum = rule_.pytorch && rule_.method == UpdateMethod::sgd;
    set(kernels::kOneMinusBeta1, !torch_momentum ? 1 - fixed_.beta1 : step == 1 ? 1 : 1 - fixed_.dampening);
    set(kernels::kBeta2, fixed_.beta2);
    set(kernels::kOneMinusBeta2, 1 - fixed_.beta2);
    set(kernels::kEpsilon, fixed_.epsilon);
    set(kernels::kCorrection1, 1 - std::pow(fixed_.beta1, step));
    set(kernels::kCorrection2, correction2);
    if (rule_.method == UpdateMethod::radam) {
      // How long a plain mean would have to be to vary as little as the second moment does, now and in the end.
      const double end = 2 / (1 - fixed_.beta2) - 1, now = end - 2 * step * (1 - correction2) / correction2;
      const double ratio = (now - 4) * (now - 2) * end / ((end - 4) * (end - 2) * now);
      set(kernels::kRectifier, now > 5 ? std::sqrt(ratio) : 0);
    }
    if (rule_.method != UpdateMethod::nadam) return;
    const auto momentum_at = [&](double t) {
      return fixed_.beta1 * (1 - 0.5 * std::pow(0.96, t * fixed_.momentum_decay));
    };
    const double product = number(frame, kUpdateMomentumProduct), next = momentum_at(step + 1);
    set(kernels::kNadamMoment, next / (1 - product * next));
    set(kernels::kNadamGradient, (1 - momentum_at(step)) / (1 - product));
  }

  const Binding& binding_;
  UpdateRule rule_;
  Fixed fixed_;
  size_t shared_, slots_;
  bool product_, rows_;
  size_t group_inputs_;
  std::vector<Picked> picked_;
  int64_t picked_total_ = 0, widest_ = 0;
  std::vector<GemmShape> products_;
  bool double_[kUpdateMomentumProduct + 1] = {};
  std::vector<int64_t> sizes_;
};

KernelPtr make_update(const KernelRequest& request, std::string&) {
  for (const Binding& binding : kBindings) {
    if (binding.op != request.node.op->name) continue;
    if (request.output().dtype == DType::float64) return std::make_unique<UpdateKernel<double>>(request, binding);
    return std::make_unique<UpdateKernel<float>>(request, binding);
  }
  throw InternalError("a binding for every update op", __FILE__, __LINE__, request.node.op->name);
}

[[maybe_unused]] const bool kUpdateRegistered = [] {
  for (const Binding& binding : kBindings) register_kernels({{binding.op.data(), "update_tensors", make_update}});
  return true;
}();

}  // namespace
}  // namespace isochron
