// Recurrent cells: one call runs the loop over time, a stage and a barrier for each step. Every thread owns some blocks
// of units: it computes their share of the product with the state before, then their gates. The weights are packed once
// a call into panels that stay in L1 for all rows of a batch.
#include "isochron/kernels/gemm/gemm.h"
#include "isochron/kernels/gemm/product.h"
#include "isochron/kernels/kernel.h"
#include "isochron/kernels/recurrent/cells.h"

namespace isochron {
namespace {

using kernels::CellBlock;
using kernels::CellKind;
using kernels::Product;
using kernels::recurrent_cells;

struct Layout {
  CellKind kind;
  int64_t gates, steps, batch, units;
  bool masked;

  int64_t state() const { return batch * units; }
  int64_t sums() const { return batch * gates * units; }
};

Layout layout_of(const KernelRequest& request, size_t first) {
  const std::string_view op = request.node.op->name;
  const Shape &z = request.inputs[first].shape, &u = request.inputs[first + 1].shape;
  const Attributes& a = request.attributes();
  const CellKind kind = op.starts_with("lstm")          ? CellKind::lstm
                        : op.starts_with("gru")         ? CellKind::gru
                        : a.get_or<bool>("relu", false) ? CellKind::rnn_relu
                                                        : CellKind::rnn_tanh;
  return {kind, u[1] / std::max<int64_t>(u[0], 1), z[0], z[1], u[0], a.get<bool>("masked")};
}

// What both directions share: blocks of units, and panels of the weights in the memory of all threads.
template <class T>
class RecurrentKernel : public Kernel {
 public:
  RecurrentKernel(const Layout& layout, int64_t depth)
      : l_(layout), panel_(recurrent_cells<T>().panel), blocks_((layout.units + panel_ - 1) / panel_), depth_(depth) {}
  size_t shared_bytes(int) const override { return static_cast<size_t>(l_.units * l_.gates * l_.units) * sizeof(T); }

 protected:
  struct Range {
    int64_t begin, width;
  };
  Range block(int64_t i) const { return {i * panel_, std::min(panel_, l_.units - i * panel_)}; }
  Share blocks_of(const KernelFrame& f) const { return share_of(f, blocks_); }

  // Brings a block of units of all examples into the cache, before the product that comes first: its rows are too far
  // apart for the hardware to guess, and would be waited for one by one. By loads, for processors drop prefetches while
  // all buffers for misses are in use, which is most of so many at once.
  void bring(const T* block, int64_t width, int64_t step, int64_t gates = 1) const {
    for (int64_t r = 0; r < l_.batch; ++r)
      for (int64_t g = 0; g < gates; ++g)
        for (int64_t i = 0; i < width; i += static_cast<int64_t>(64 / sizeof(T)))
          static_cast<void>(*static_cast<const volatile T*>(block + r * step + g * l_.units + i));
  }

  // C (batch, n) (+)= A (batch, k) times a panel (k, n).
  Product<T> panel_product(const T* a, int64_t lda, const T* panel, int64_t k, int64_t n, T* c, int64_t ldc,
                           bool accumulate) const {
    return {.m = l_.batch,
            .n = n,
            .k = k,
            .a = a,
            .lda = lda,
            .trans_a = false,
            .b = panel,
            .ldb = n,
            .trans_b = false,
            .c = c,
            .ldc = ldc,
            .bias = nullptr,
            .pre_activation = nullptr,
            .activation = nullptr,
            .immediates = {0, 0},
            .accumulate = accumulate};
  }
  size_t product_scratch() const {
    size_t bytes = 0;
    for (const int64_t width : {std::min(panel_, l_.units), block(blocks_ - 1).width})
      for (const bool on_top : {false, true})
        bytes = std::max(bytes, kernels::product_scratch_bytes(
                                    panel_product(nullptr, 0, nullptr, depth_, width, nullptr, 0, on_top)));
    return bytes;
  }

  Layout l_;
  int64_t panel_, blocks_, depth_;
};

// Inputs: z, u, h0, then c0 or the bias, then the mask. Outputs: see ops/recurrent.cpp.
template <class T>
class ForwardKernel final : public RecurrentKernel<T> {
  using Base = RecurrentKernel<T>;
  using Base::l_, Base::panel_, Base::blocks_, Base::block, Base::blocks_of;

 public:
  explicit ForwardKernel(const Layout& layout) : Base(layout, layout.units) {}
  int stages() const override { return static_cast<int>(l_.steps) + 1; }
  size_t scratch_bytes(int) const override { return sums_bytes() + this->product_scratch(); }
  // Gates over the sums they are made of.
  bool in_place(size_t input, size_t output) const override {
    return input == 0 && ((l_.kind == CellKind::lstm && output == 2) || (l_.kind == CellKind::gru && output == 1));
  }
  void run(const KernelFrame& f) const override {
    const Share mine = blocks_of(f);
    for (int64_t b = mine.begin; b < mine.end; ++b) f.stage == 0 ? pack(f, b) : step(f, b, f.stage - 1);
  }

 private:
  size_t sums_bytes() const { return (static_cast<size_t>(l_.batch * l_.gates * panel_) * sizeof(T) + 63) / 64 * 64; }
  // Block b of gate g: (units, width).
  T* panel(const KernelFrame& f, int64_t b, int64_t gate) const {
    const auto range = block(b);
    return static_cast<T*>(f.shared) + l_.units * (l_.gates * range.begin + gate * range.width);
  }
  void pack(const KernelFrame& f, int64_t b) const {
    const auto range = block(b);
    for (int64_t g = 0; g < l_.gates; ++g) {
      T* to = panel(f, b, g);
      const T* from = f.in<T>(1) + g * l_.units + range.begin;
      for (int64_t k = 0; k < l_.units; ++k, to += range.width)
        std::copy_n(from + k * l_.gates * l_.units, range.width, to);
    }
  }
  void step(const KernelFrame& f, int64_t b, int64_t t) const {
    const auto [first, width] = block(b);
    const bool lstm = l_.kind == CellKind::lstm, gru = l_.kind == CellKind::gru;
    T* sums = static_cast<T*>(f.scratch);
    void* inner = static_cast<std::byte*>(f.scratch) + sums_bytes();
    T* h = f.out<T>(0);
    const T* h_prev = t ? h + (t - 1) * l_.state() : f.in<T>(2);
    this->bring(f.in<T>(0) + t * l_.sums() + first, width, l_.gates * l_.units, l_.gates);
    for (int64_t g = 0; g < l_.gates; ++g)
      run_product(this->panel_product(h_prev, l_.units, panel(f, b, g), l_.units, width, sums + g * width,
                                      l_.gates * width, false),
                  inner);
    CellBlock<T> cell{};
    cell.rows = l_.batch;
    cell.width = width;
    cell.units = l_.units;
    cell.mask = l_.masked ? f.in<bool>(l_.kind == CellKind::lstm || gru ? 4 : 3) + t * l_.batch : nullptr;
    cell.sums = sums;
    cell.z = f.in<T>(0) + t * l_.sums() + first;
    cell.h_prev = h_prev + first;
    cell.h = h + t * l_.state() + first;
    if (lstm) {
      T* c = f.out<T>(1);
      cell.c_prev = (t ? c + (t - 1) * l_.state() : f.in<T>(3)) + first;
      cell.c = c + t * l_.state() + first;
      cell.gates = f.out<T>(2) + t * l_.sums() + first;
    } else if (gru) {
      cell.bias = f.in<T>(3) + first;
      cell.gates = f.out<T>(1) + t * l_.sums() + first;
      cell.recurrent = f.out<T>(2) + t * l_.state() + first;
    }
    recurrent_cells<T>().forward[static_cast<size_t>(l_.kind)](cell);
  }
};

// Inputs: dh, dc (lstm), the forward op's inputs and outputs. Outputs: dz, du, dh0, then dc0, or the gradients of the
// recurrent sums and of the bias. dh0 and dc0 carry the gradients of the states from step to step.
template <class T>
class BackwardKernel final : public RecurrentKernel<T> {
  using Base = RecurrentKernel<T>;
  using Base::l_, Base::panel_, Base::blocks_, Base::block, Base::blocks_of;

 public:
  explicit BackwardKernel(const Layout& layout) : Base(layout, layout.gates * layout.units) {
    first_ = lstm() ? 2 : 1;
    saved_ = first_ + (l_.kind == CellKind::lstm || gru() ? 4 : 3) + (l_.masked ? 1 : 0);
  }
  // Packing, a step each (which begins with the product of the step after it), and what needs all steps.
  int stages() const override { return static_cast<int>(l_.steps) + 2; }
  size_t scratch_bytes(int threads) const override {
    size_t bytes = this->product_scratch();
    for (const bool only_first : {false, true})
      bytes = std::max(bytes, kernels::gemm_scratch_bytes(weight_shape(only_first), threads));
    return bytes;
  }
  // Gradients of the sums over the gates, which stand in z's place too.
  bool in_place(size_t input, size_t output) const override {
    return output == 0 && (lstm() || gru()) && (input == first_ || input == gates());
  }
  void run(const KernelFrame& f) const override {
    const Share mine = blocks_of(f);
    const int64_t t = l_.steps - f.stage;
    for (int64_t b = mine.begin; b < mine.end; ++b) {
      const auto [first, width] = block(b);
      if (f.stage == 0) {
        pack(f, b);
        for (int64_t r = 0; r < l_.batch; ++r) {
          std::fill_n(f.out<T>(2) + r * l_.units + first, width, T(0));
          if (lstm()) std::fill_n(f.out<T>(3) + r * l_.units + first, width, T(0));
        }
        continue;
      }
      if (t >= 0) bring_step(f, b, t);
      if (t + 1 < l_.steps) to_step_before(f, b, t + 1);
      if (t >= 0) step(f, b, t);
    }
    if (f.stage == l_.steps + 1) finish(f);
  }

 private:
  bool lstm() const { return l_.kind == CellKind::lstm; }
  bool gru() const { return l_.kind == CellKind::gru; }
  size_t gates() const { return saved_ + (lstm() ? 2 : 1); }
  T* recurrent_gradients(const KernelFrame& f) const { return f.out<T>(gru() ? 3 : 0); }

  // Columns first .. first + width of u^T, gate by gate: (gates * units, width).
  T* panel(const KernelFrame& f, int64_t b) const {
    return static_cast<T*>(f.shared) + l_.gates * l_.units * block(b).begin;
  }
  void pack(const KernelFrame& f, int64_t b) const {
    const auto [first, width] = block(b);
    const int64_t depth = l_.gates * l_.units;
    T* to = panel(f, b);
    for (int64_t j = 0; j < width; ++j) {
      const T* from = f.in<T>(first_ + 1) + (first + j) * depth;
      for (int64_t k = 0; k < depth; ++k) to[k * width + j] = from[k];
    }
  }
  // dh_{t-1} += drecurrent_t u^T for the units of block b.
  void to_step_before(const KernelFrame& f, int64_t b, int64_t t) const {
    const auto [first, width] = block(b);
    run_product(this->panel_product(recurrent_gradients(f) + t * l_.sums(), l_.gates * l_.units, panel(f, b),
                                    l_.gates * l_.units, width, f.out<T>(2) + first, l_.units, true),
                f.scratch);
  }
  // What step t reads.
  void bring_step(const KernelFrame& f, int64_t b, int64_t t) const {
    const auto [first, width] = block(b);
    const int64_t at = t * l_.state() + first, gates_at = t * l_.sums() + first, step = l_.gates * l_.units;
    if (lstm() || gru()) this->bring(f.in<T>(gates()) + gates_at, width, step, l_.gates);
    this->bring(f.in<T>(0) + at, width, l_.units);
    if (lstm()) this->bring(f.in<T>(1) + at, width, l_.units);
    if (t > 0) this->bring(f.in<T>(saved_ + (lstm() ? 1 : 0)) + at - l_.state(), width, l_.units);
  }
  void step(const KernelFrame& f, int64_t b, int64_t t) const {
    const auto [first, width] = block(b);
    const int64_t at = t * l_.state() + first, gates_at = t * l_.sums() + first;
    CellBlock<T> cell{};
    cell.rows = l_.batch;
    cell.width = width;
    cell.units = l_.units;
    cell.mask = l_.masked ? f.in<bool>(saved_ - 1) + t * l_.batch : nullptr;
    cell.dh_out = f.in<T>(0) + at;
    cell.dh = f.out<T>(2) + first;
    cell.dz = f.out<T>(0) + gates_at;
    T* h = const_cast<T*>(f.in<T>(saved_));
    cell.h = h + at;
    cell.h_prev = t ? h + at - l_.state() : f.in<T>(first_ + 2) + first;
    if (lstm()) {
      T* c = const_cast<T*>(f.in<T>(saved_ + 1));
      cell.dc_out = f.in<T>(1) + at;
      cell.dc = f.out<T>(3) + first;
      cell.c = c + at;
      cell.c_prev = t ? c + at - l_.state() : f.in<T>(first_ + 3) + first;
      cell.gates = const_cast<T*>(f.in<T>(gates())) + gates_at;
    } else if (gru()) {
      cell.gates = const_cast<T*>(f.in<T>(gates())) + gates_at;
      cell.recurrent = const_cast<T*>(f.in<T>(saved_ + 2)) + at;
      cell.drecurrent = f.out<T>(3) + gates_at;
    }
    recurrent_cells<T>().backward[static_cast<size_t>(l_.kind)](cell);
  }

  // du = h_prev^T drecurrent: step 0 has the first state before it, the others the outputs.
  kernels::GemmShape weight_shape(bool only_first) const {
    return {.m = l_.units,
            .n = l_.gates * l_.units,
            .k = only_first ? l_.batch : (l_.steps - 1) * l_.batch,
            .trans_a = true,
            .dtype = std::is_same_v<T, double> ? DType::float64 : DType::float32};
  }
  void finish(const KernelFrame& f) const {
    const T* sums = recurrent_gradients(f);
    kernels::GemmArgs args{.a = f.in<T>(first_ + 2),
                           .b = sums,
                           .c = f.out<T>(1),
                           .lda = l_.units,
                           .ldb = l_.gates * l_.units,
                           .ldc = l_.gates * l_.units};
    gemm(weight_shape(true), args, f.scratch, f.thread, f.threads);
    if (l_.steps > 1) {
      args.a = f.in<T>(saved_);
      args.b = sums + l_.sums();
      args.accumulate = true;
      gemm(weight_shape(false), args, f.scratch, f.thread, f.threads);
    }
    if (!gru()) return;
    const int64_t columns = l_.gates * l_.units;
    const Share mine = share_of(f, columns, 64 / static_cast<int64_t>(sizeof(T)));
    T* bias = f.out<T>(4);
    std::fill(bias + mine.begin, bias + mine.end, T(0));
    for (int64_t r = 0; r < l_.steps * l_.batch; ++r)
      for (int64_t i = mine.begin; i < mine.end; ++i) bias[i] += sums[r * columns + i];
  }

  size_t first_, saved_;
};

template <template <class> class K, bool backward>
KernelPtr make_recurrent(const KernelRequest& request, std::string&) {
  const bool lstm = std::string_view(request.node.op->name).starts_with("lstm");
  const Layout layout = layout_of(request, backward ? (lstm ? 2 : 1) : 0);
  if (request.output().dtype == DType::float64) return std::make_unique<K<double>>(layout);
  return std::make_unique<K<float>>(layout);
}

[[maybe_unused]] const bool kRecurrentRegistered =
    register_kernels({{"lstm", "panels", make_recurrent<ForwardKernel, false>},
                      {"gru", "panels", make_recurrent<ForwardKernel, false>},
                      {"simple_rnn", "panels", make_recurrent<ForwardKernel, false>},
                      {"lstm_backward", "panels", make_recurrent<BackwardKernel, true>},
                      {"gru_backward", "panels", make_recurrent<BackwardKernel, true>},
                      {"simple_rnn_backward", "panels", make_recurrent<BackwardKernel, true>}});

}  // namespace
}  // namespace isochron
