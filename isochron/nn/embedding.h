// Embedding: a vector for each of input_dim tokens.
//
//   Sequential model{Embedding(10000, 64, {.mask_zero = true}), LSTM(32), Dense(1)};   // token 0 is padding
//
// Rows that a batch does not use have no gradient. SGD without momentum or decay and Adagrad change nothing for them,
// so their steps touch only the rows in use, and cost the same for any vocabulary, with the results of Keras.
// Optimizers whose state moves without a gradient (Adam, momentum, …) update the whole table by default, as Keras does.
// With lazy_updates they leave unused rows and their state alone until they are used again: Adam becomes what PyTorch
// calls SparseAdam, a step costs the same for any vocabulary, and results differ slightly from Keras.
#pragma once

#include "isochron/nn/layer.h"

namespace isochron {

struct EmbeddingOptions {
  Initializer embeddings_initializer = initializers::random_uniform();
  Regularizer embeddings_regularizer = {};
  Regularizer activity_regularizer = {};  // of what the layer gives
  Constraint embeddings_constraint = {};
  bool mask_zero = false;  // token 0 is padding: masked for the layers behind
  bool lazy_updates = false;
  DType dtype = DType::float32;
  std::string dtype_policy = {};  // see Layer::set_dtype_policy(); empty: as the model says
  std::string name = {};
};
ISO_OPTIONS(EmbeddingOptions, embeddings_initializer, embeddings_regularizer, activity_regularizer,
            embeddings_constraint, mask_zero, lazy_updates, dtype, dtype_policy, name)

class Embedding : public Layer {
 public:
  // ValueError unless both are positive.
  Embedding(int64_t input_dim, int64_t output_dim, EmbeddingOptions options = {});
  ISO_LAYER(Embedding)
  ISO_ARGUMENTS(input_dim_, output_dim_, options_)
  void build(const Shape& input) override;
  // x holds whole numbers of any dtype, fractions are dropped as in Keras. One outside [0, input_dim) is an IndexError
  // when the result is computed, which names it and its position.
  Tensor call(const Tensor& x, const CallContext& context) override;
  Tensor compute_mask(const Tensor& x, const Tensor& mask) override;
  Shape output_shape(const Shape& input) const override { return input.insert(input.rank(), output_dim_); }
  Variable embeddings() const { return embeddings_; }

 private:
  int64_t input_dim_, output_dim_;
  EmbeddingOptions options_;
  Variable embeddings_;
};

}  // namespace isochron
