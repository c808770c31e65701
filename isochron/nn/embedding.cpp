#include "isochron/nn/embedding.h"

#include "isochron/ops/elementwise.h"
#include "isochron/ops/indexing.h"

namespace isochron {

Embedding::Embedding(int64_t input_dim, int64_t output_dim, EmbeddingOptions options)
    : input_dim_(input_dim), output_dim_(output_dim), options_(std::move(options)) {
  if (input_dim < 1 || output_dim < 1)
    fail<ValueError>("Embedding", "needs at least one token and one feature, got {} and {}", input_dim, output_dim);
  take_common(options_);
}

void Embedding::build(const Shape&) {
  if (built()) return;
  embeddings_ = add_weight("embeddings", {input_dim_, output_dim_}, options_.embeddings_initializer,
                           {.regularizer = options_.embeddings_regularizer,
                            .constraint = options_.embeddings_constraint,
                            .dtype = options_.dtype});
}

Tensor Embedding::call(const Tensor& x, const CallContext&) {
  const Tensor tokens = is_integral(x.dtype()) ? x : cast(x, DType::int64);
  return computed(embedding(embeddings_, tokens, options_.lazy_updates, "Embedding"), options_.dtype);
}

Tensor Embedding::compute_mask(const Tensor& x, const Tensor&) {
  return options_.mask_zero ? not_equal(x, 0) : Tensor();
}

}  // namespace isochron
