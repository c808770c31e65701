#include "isochron/nn/embedding_modules.h"

#include "isochron/base/names.h"
#include "isochron/nn/initializers.h"
#include "isochron/ops/create.h"
#include "isochron/ops/elementwise.h"
#include "isochron/ops/indexing.h"
#include "isochron/ops/reduce.h"
#include "isochron/ops/shape_ops.h"

namespace isochron::nn {
namespace {

// A table of normal(0, 1) with a row of zeros for padding, whose number is made positive.
Tensor first_rows(const char* module, int64_t rows, int64_t columns, std::optional<int64_t>& padding, DType dtype) {
  if (rows < 1 || columns < 1)
    fail<ValueError>(module, "needs at least one row and column, got {} and {}", rows, columns);
  const Tensor table = initializers::random_normal({.mean = 0, .stddev = 1})({rows, columns}, dtype);
  if (!padding) return table;
  if (*padding < -rows || *padding >= rows)
    fail<ValueError>(module, "padding_idx must be one of {} rows, got {}", rows, *padding);
  if (*padding < 0) *padding += rows;
  return where(equal(expand_dims(arange(rows), 1), *padding), 0, table).eval();
}

void check_tokens(const char* module, const Tensor& tokens) {
  if (is_floating(tokens.dtype()) || tokens.dtype() == DType::boolean)
    fail<DTypeError>(module, "takes tokens as integers, got {}; convert with x.to(iso::DType::int64)", tokens.dtype());
}

// Vectors of tokens; those of padding send no gradient to the table.
Tensor vectors_of(const char* module, const Variable& table, const Tensor& tokens,
                  const std::optional<int64_t>& padding, bool sparse) {
  const Tensor all = embedding(table, tokens, sparse, module);
  return padding ? where(expand_dims(equal(tokens, *padding), -1), stop_gradient(all), all) : all;
}

}  // namespace

Embedding::Embedding(int64_t num_embeddings, int64_t embedding_dim, EmbeddingOptions options) : options_(options) {
  weight = register_parameter(
      "weight", first_rows("Embedding", num_embeddings, embedding_dim, options_.padding_idx, options.dtype));
  describe(fmt::format("{}, {}", num_embeddings, embedding_dim));
}
Tensor Embedding::forward(Tensor tokens) {
  check_tokens("Embedding", tokens);
  return vectors_of("Embedding", weight, tokens, options_.padding_idx, options_.sparse);
}

EmbeddingBag::EmbeddingBag(int64_t num_embeddings, int64_t embedding_dim, EmbeddingBagOptions options)
    : options_(std::move(options)) {
  if (options_.mode != "mean" && options_.mode != "sum" && options_.mode != "max")
    fail<ValueError>("EmbeddingBag", "unknown mode \"{}\"{}", options_.mode,
                     did_you_mean(options_.mode, {"mean", "sum", "max"}));
  weight = register_parameter(
      "weight", first_rows("EmbeddingBag", num_embeddings, embedding_dim, options_.padding_idx, options_.dtype));
  describe(fmt::format("{}, {}, mode={}", num_embeddings, embedding_dim, options_.mode));
}

Tensor EmbeddingBag::run(const Tensor& tokens, const Tensor& per_sample_weights) {
  check_tokens("EmbeddingBag", tokens);
  if (tokens.rank() != 2) fail<ShapeError>("EmbeddingBag", "takes tokens (batch, length), got {}", tokens.shape());
  Tensor vectors = vectors_of("EmbeddingBag", weight, tokens, options_.padding_idx, options_.sparse);
  if (per_sample_weights.defined()) {
    if (options_.mode != "sum")
      fail<ValueError>("EmbeddingBag", "weights of tokens go with mode \"sum\", not \"{}\"", options_.mode);
    if (per_sample_weights.shape() != tokens.shape())
      fail<ShapeError>("EmbeddingBag", "weights must be {} as the tokens are, got {}", tokens.shape(),
                       per_sample_weights.shape());
    vectors = vectors * expand_dims(per_sample_weights, -1);
  }
  if (!options_.padding_idx)
    return options_.mode == "sum"    ? sum(vectors, {1})
           : options_.mode == "mean" ? mean(vectors, {1})
                                     : max(vectors, {1});
  const Tensor counts = expand_dims(not_equal(tokens, *options_.padding_idx), -1);
  if (options_.mode == "max") {
    const Tensor most = max(where(counts, vectors, -1e30), {1});
    return where(any(counts, {1}), most, 0);
  }
  const Tensor total = sum(where(counts, vectors, 0), {1});
  return options_.mode == "sum" ? total : total / maximum(sum(cast(counts, vectors.dtype()), {1}), 1);
}

}  // namespace isochron::nn
