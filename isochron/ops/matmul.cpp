#include "isochron/ops/matmul.h"

#include "isochron/ops/elementwise.h"
#include "isochron/ops/op.h"
#include "isochron/ops/shape_ops.h"

namespace isochron {
namespace {

using G = const GradientContext&;

struct Product {
  int64_t m, n, k;
  Shape batch;
};

Product product_of(const RuleContext& c) {
  const bool ta = c.attributes.get<bool>("transpose_a"), tb = c.attributes.get<bool>("transpose_b");
  const Shape &a = c.shape(0), &b = c.shape(1);
  if (a.rank() < 2 || b.rank() < 2) fail<ShapeError>(c.op, "needs matrices (or batches of them), got {} and {}", a, b);
  const int64_t ka = ta ? a[-2] : a[-1], kb = tb ? b[-1] : b[-2];
  if (ka != kb)
    fail<ShapeError>(c.op, "inner dimensions must agree, got {}{} and {}{}: {} and {}", a, ta ? " transposed" : "", b,
                     tb ? " transposed" : "", ka, kb);
  const Shape batch = broadcast(c.op, Shape(a.dims().first(static_cast<size_t>(a.rank() - 2))),
                                Shape(b.dims().first(static_cast<size_t>(b.rank() - 2))));
  return {ta ? a[-1] : a[-2], tb ? b[-2] : b[-1], ka, batch};
}

const Op& kMatmul = register_op(
    {.name = "matmul",
     .doc = "Matrix product, batched over leading axes.",
     .arity = 2,
     .rule = [](const RuleContext& c) -> Specs {
       if (c.dtype(0) != c.dtype(1))
         fail<DTypeError>(c.op, "needs equal dtypes, got {} and {}", c.dtype(0), c.dtype(1));
       if (c.dtype(0) == DType::boolean) fail<DTypeError>(c.op, "needs numbers, got bool");
       const Product p = product_of(c);
       std::vector<int64_t> dims = p.batch.to_vector();
       dims.insert(dims.end(), {p.m, p.n});
       return {{c.dtype(0), Shape(dims)}};
     },
     .gradient = [](G g) -> Gradients {
       const bool ta = g.attributes().get<bool>("transpose_a"), tb = g.attributes().get<bool>("transpose_b");
       const Tensor a = g.input(0), b = g.input(1), &d = g.grad();
       Gradients out(2);
       if (g.wanted(0))
         out[0] =
             sum_to(ta ? matmul(b, d, {.transpose_a = tb, .transpose_b = true}) : matmul(d, b, {.transpose_b = !tb}),
                    a.shape());
       if (g.wanted(1) && b.rank() == 2 && a.rank() > 2 && !ta) {
         // One matrix for the whole batch: its gradient is one product over all rows.
         const int64_t count = a.shape().elements(0, a.rank() - 1);
         const Tensor rows = reshape(a, {count, a.dim(-1)}), up = reshape(d, {count, d.dim(-1)});
         out[1] = tb ? matmul(up, rows, {.transpose_a = true}) : matmul(rows, up, {.transpose_a = true});
       } else if (g.wanted(1))
         out[1] =
             sum_to(tb ? matmul(d, a, {.transpose_a = true, .transpose_b = ta}) : matmul(a, d, {.transpose_a = !ta}),
                    b.shape());
       return out;
     },
     .cost = [](const RuleContext& c, std::span<const TensorSpec> outputs) -> Cost {
       const Product p = product_of(c);
       return {2.0 * static_cast<double>(outputs[0].shape.elements()) * static_cast<double>(p.k),
               static_cast<double>(c[0].bytes() + c[1].bytes() + outputs[0].bytes())};
     }});

}  // namespace

Tensor matmul(const Operand& a, const Operand& b, MatmulOptions options) {
  auto [x, y] = meet("matmul", a, b);
  if (x.rank() == 0 || y.rank() == 0)
    fail<ShapeError>("matmul", "needs at least one axis on both sides, got {} and {}", x.shape(), y.shape());
  const bool row = x.rank() == 1, column = y.rank() == 1;
  if (row) x = reshape(Operand(x, a.where()), {1, -1});
  if (column) y = reshape(Operand(y, a.where()), {-1, 1});
  Tensor product =
      apply(kMatmul, {x, y},
            {{"transpose_a", options.transpose_a && !row}, {"transpose_b", options.transpose_b && !column}}, a.where());
  if (!row && !column) return product;
  std::vector<int64_t> dims = product.shape().to_vector();
  if (column) dims.pop_back();
  if (row) dims.erase(dims.end() - (column ? 1 : 2));
  return reshape(product, dims);
}

}  // namespace isochron
