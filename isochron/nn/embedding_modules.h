// nn::Embedding and nn::EmbeddingBag, in the manner of PyTorch.
//
//   nn::Embedding words{10000, 64, {.padding_idx = 0}};                  // token 0 is zeros and stays so
//   nn::EmbeddingBag bag{10000, 64, {.mode = "sum"}};                    // (batch, tokens) -> (batch, 64)
#pragma once

#include <optional>

#include "isochron/nn/module.h"

namespace isochron::nn {

struct EmbeddingOptions {
  std::optional<int64_t> padding_idx = {};  // a row of zeros that is not trained; negative: from the end
  bool sparse = false;                      // optimizers leave rows that a step does not use alone, state and all
  DType dtype = DType::float32;
};

class Embedding : public Module {
 public:
  // Rows start normal(0, 1). ValueError unless both counts are positive and padding_idx is a row.
  Embedding(int64_t num_embeddings, int64_t embedding_dim, EmbeddingOptions options = {});
  // IndexError names a token outside the rows.
  Tensor forward(Tensor tokens) override;

  Variable weight;

 private:
  EmbeddingOptions options_;
};

struct EmbeddingBagOptions {
  std::string mode = "mean";                // or "sum", "max"
  std::optional<int64_t> padding_idx = {};  // does not count
  bool sparse = false;
  DType dtype = DType::float32;
};

// The mean, sum or maximum of the vectors of a row of tokens; zeros for a row that is all padding.
class EmbeddingBag : public Module {
 public:
  EmbeddingBag(int64_t num_embeddings, int64_t embedding_dim, EmbeddingBagOptions options = {});
  Tensor forward(Tensor tokens) override { return run(tokens); }
  // Weights of the tokens, of their shape; with "sum" only.
  Tensor run(const Tensor& tokens, const Tensor& per_sample_weights = {});

  Variable weight;

 private:
  EmbeddingBagOptions options_;
};

}  // namespace isochron::nn
