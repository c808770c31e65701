#pragma once
// The workloads of bench/peers/workloads.py with libtorch's own modules.
#include <torch/torch.h>

#include <algorithm>
#include <functional>
#include <memory>
#include <string>

struct Work {
  int64_t batch = 32;
  int default_epochs = 10;
  bool many_lengths = false;
  torch::Tensor x, y;
  std::shared_ptr<torch::nn::Module> model;
  std::function<torch::Tensor(const torch::Tensor& x, const torch::Tensor& y)> loss;
  std::unique_ptr<torch::optim::Optimizer> optimizer;

  int64_t rows() const { return x.size(0); }
  int64_t steps() const { return (rows() + batch - 1) / batch; }
  // The batch that starts at this row; of sequences as many steps as workloads.py says.
  torch::Tensor cut(const torch::Tensor& all, int64_t start) const {
    const torch::Tensor some = all.slice(0, start, std::min(start + batch, rows()));
    return many_lengths ? some.slice(1, 0, 33 + start / batch * 5 % 32) : some;
  }
};

// Throws std::invalid_argument for a name that is no workload.
Work make_work(const std::string& name);
