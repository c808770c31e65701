// Matrix products through kernels/gemm, with bias and activation where a pass has put them there.
#include "isochron/kernels/epilogue.h"
#include "isochron/kernels/gemm/gemm.h"
#include "isochron/kernels/kernel.h"
#include "isochron/kernels/widened.h"

namespace isochron {
namespace {

using kernels::GemmArgs;
using kernels::GemmShape;

struct Product {
  GemmShape shape;
  int64_t lda, ldb;
  Shape batch, batch_a, batch_b;
};

Product product_of(const KernelRequest& request) {
  const Shape &a = request.inputs[0].shape, &b = request.inputs[1].shape, &c = request.output().shape;
  const bool ta = request.attributes().get<bool>("transpose_a"), tb = request.attributes().get<bool>("transpose_b");
  Product p;
  p.shape = {c[-2], c[-1], ta ? a[-2] : a[-1], ta, tb, request.inputs[0].dtype};
  p.lda = a[-1];
  p.ldb = b[-1];
  const auto leading = [](const Shape& s) { return Shape(s.dims().first(static_cast<size_t>(s.rank() - 2))); };
  p.batch = leading(c);
  p.batch_a = leading(a);
  p.batch_b = leading(b);
  return p;
}

// Where matrix `i` of the batch starts in an operand that broadcasts, in matrices.
int64_t matrix_of(int64_t i, const Shape& batch, const Shape& own) {
  int64_t at = 0, stride = 1;
  for (int axis = 1; axis <= batch.rank(); ++axis) {
    const int64_t index = i % batch[-axis];
    i /= batch[-axis];
    if (axis > own.rank()) continue;
    if (own[-axis] != 1) at += index * stride;
    stride *= own[-axis];
  }
  return at;
}

class GemmKernel final : public Kernel {
 public:
  GemmKernel(const Product& p, const Epilogue& epilogue)
      : p_(p),
        epilogue_(epilogue),
        element_(size_of(p.shape.dtype)),
        residual_(epilogue.bias ? 3 : 2),
        gate_(residual_ + (epilogue.residual ? 1 : 0)) {
    // One run of products at fixed distances, where broadcasting allows; else matrix by matrix.
    const int64_t count = p.batch.elements();
    regular_a_ = p.batch_a.elements() == 1 || p.batch_a == p.batch;
    regular_b_ = p.batch_b.elements() == 1 || p.batch_b == p.batch;
    strides_ = {p.batch_a.elements() == 1 ? 0 : p.shape.m * p.shape.k,
                p.batch_b.elements() == 1 ? 0 : p.shape.k * p.shape.n, p.shape.m * p.shape.n};
    count_ = count;
    // (batch, m, k) x (k, n): one taller product.
    if (count > 1 && strides_.b == 0 && !p.shape.trans_a && p.batch_a == p.batch) {
      p_.shape.m *= count;
      count_ = 1;
      regular_a_ = true;
    }
  }
  size_t scratch_bytes(int threads) const override {
    size_t bytes = 0;
    for (int variant = 0; variant < variants(); ++variant)
      bytes = std::max(bytes, kernels::gemm_scratch_bytes(shape_of(variant), threads));
    return bytes;
  }
  size_t shared_bytes(int threads) const override {
    return splits_depth(threads) ? kernels::gemm_parts_bytes(p_.shape, threads) : 0;
  }
  int stages() const override { return splits_depth(2) ? 2 : 1; }
  int variants() const override {
    constexpr int64_t kWorthATrial = 1'000'000;  // multiply-adds
    const GemmShape& s = p_.shape;
    const bool small = s.m * s.n * s.k * count_ < kWorthATrial || std::min({s.m, s.n, s.k}) < 8;
    // Columns are summed where B is packed, or else in a loop of their own.
    return small || epilogue_.column_sums ? 1 : kernels::kGemmBlockings;
  }
  void run(const KernelFrame& f) const override {
    GemmArgs args{.a = f.inputs[0],
                  .b = f.inputs[1],
                  .c = f.outputs[0],
                  .lda = p_.lda,
                  .ldb = p_.ldb,
                  .ldc = p_.shape.n,
                  .bias = epilogue_.bias ? f.inputs[2] : nullptr,
                  .activation = epilogue_.activation,
                  .activation_alpha = epilogue_.alpha,
                  .pre_activation = epilogue_.pre_activation ? f.outputs[1] : nullptr,
                  .residual = epilogue_.residual ? f.inputs[residual_] : nullptr,
                  .gate = epilogue_.gate ? f.inputs[gate_] : nullptr,
                  .column_sums = epilogue_.column_sums ? f.outputs[1] : nullptr};
    const GemmShape shape = shape_of(f.variant);
    if (splits_depth(f.threads)) {
      if (f.stage == 0) return kernels::gemm_part(shape, args, f.shared, f.scratch, f.thread, f.threads);
      return kernels::gemm_add_parts(shape, args, f.shared, f.thread, f.threads);
    }
    if (f.stage > 0) return;
    if (count_ == 1) return kernels::gemm(shape, args, f.scratch, f.thread, f.threads);
    if (regular_a_ && regular_b_)
      return kernels::batched_gemm(shape, args, count_, strides_, f.scratch, f.thread, f.threads);
    for (int64_t i = count_ * f.thread / f.threads; i < count_ * (f.thread + 1) / f.threads; ++i) {
      args.a = at(f.inputs[0], matrix_of(i, p_.batch, p_.batch_a) * p_.shape.m * p_.shape.k);
      args.b = at(f.inputs[1], matrix_of(i, p_.batch, p_.batch_b) * p_.shape.k * p_.shape.n);
      args.c = at(f.outputs[0], i * strides_.c);
      if (epilogue_.pre_activation) args.pre_activation = at(f.outputs[1], i * strides_.c);
      if (epilogue_.residual) args.residual = at(f.inputs[residual_], i * strides_.c);
      if (epilogue_.gate) args.gate = at(f.inputs[gate_], i * strides_.c);
      kernels::gemm(shape, args, f.scratch, 0, 1);
    }
  }

 private:
  bool splits_depth(int threads) const {
    return threads > 1 && count_ == 1 && !epilogue_.column_sums && kernels::gemm_splits_depth(p_.shape);
  }
  GemmShape shape_of(int variant) const {
    GemmShape shape = p_.shape;
    shape.blocking = static_cast<kernels::GemmBlocking>(variant);
    return shape;
  }
  const void* at(const void* base, int64_t elements) const {
    return static_cast<const std::byte*>(base) + static_cast<size_t>(elements) * element_;
  }
  void* at(void* base, int64_t elements) const {
    return static_cast<std::byte*>(base) + static_cast<size_t>(elements) * element_;
  }
  Product p_;
  Epilogue epilogue_;
  size_t element_, residual_, gate_;  // the latter two: which inputs they are
  int64_t count_ = 1;
  kernels::BatchStrides strides_;
  bool regular_a_ = false, regular_b_ = false;
};

KernelPtr make_gemm(const KernelRequest& request, std::string& why_not) {
  const DType dtype = request.inputs[0].dtype;
  if (dtype != DType::float32 && dtype != DType::float64) {
    why_not = "needs float32 or float64";
    return nullptr;
  }
  return std::make_unique<GemmKernel>(product_of(request), epilogue_of(request));
}

// Integers and 16-bit floats: sums in a wide type, rounded once.
template <class T, class Wide>
void reference_product(const Product& p, const KernelFrame& f) {
  const int64_t rows = p.batch.elements() * p.shape.m;
  for (int64_t r = rows * f.thread / f.threads; r < rows * (f.thread + 1) / f.threads; ++r) {
    const int64_t batch = r / p.shape.m, i = r % p.shape.m;
    const T* a = f.in<T>(0) + matrix_of(batch, p.batch, p.batch_a) * p.shape.m * p.shape.k;
    const T* b = f.in<T>(1) + matrix_of(batch, p.batch, p.batch_b) * p.shape.k * p.shape.n;
    for (int64_t j = 0; j < p.shape.n; ++j) {
      Wide sum = 0;
      for (int64_t k = 0; k < p.shape.k; ++k)
        sum += static_cast<Wide>(p.shape.trans_a ? a[k * p.lda + i] : a[i * p.lda + k]) *
               static_cast<Wide>(p.shape.trans_b ? b[j * p.ldb + k] : b[k * p.ldb + j]);
      f.out<T>()[r * p.shape.n + j] = T(sum);
    }
  }
}

KernelPtr make_reference(const KernelRequest& request, std::string&) {
  const Product p = product_of(request);
  switch (p.shape.dtype) {
    case DType::int32:
      return make_kernel([p](const KernelFrame& f) { reference_product<int32_t, int32_t>(p, f); });
    case DType::int64:
      return make_kernel([p](const KernelFrame& f) { reference_product<int64_t, int64_t>(p, f); });
    case DType::uint8:
      return make_kernel([p](const KernelFrame& f) { reference_product<uint8_t, uint32_t>(p, f); });
    case DType::bfloat16:
      return make_kernel([p](const KernelFrame& f) { reference_product<bfloat16, float>(p, f); });
    case DType::float16:
      return make_kernel([p](const KernelFrame& f) { reference_product<float16, float>(p, f); });
    case DType::float64:
      return make_kernel([p](const KernelFrame& f) { reference_product<double, double>(p, f); });
    default:
      return make_kernel([p](const KernelFrame& f) { reference_product<float, double>(p, f); });
  }
}

[[maybe_unused]] const bool kMatmulRegistered = register_kernels({{"matmul", "gemm", make_gemm},
                                                                  {"matmul", "widened", make_widened},
                                                                  {"matmul", "reference", make_reference},
                                                                  {"matmul_epilogue", "gemm", make_gemm}});

}  // namespace
}  // namespace isochron
