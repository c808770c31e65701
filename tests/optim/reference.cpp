#include "reference.h"

#include <fstream>

#include "isochron/ops/create.h"
#include "isochron/ops/elementwise.h"
#include "isochron/ops/matmul.h"
#include "isochron/ops/reduce.h"
#include "tests/source_dir.h"

namespace isochron::reference {

nlohmann::json read_file(const std::string& name) {
  std::ifstream in(ISOCHRON_SOURCE_DIR "/tests/references/" + name);
  return nlohmann::json::parse(in);
}

const nlohmann::json& curves_file() {
  static const nlohmann::json file = read_file("curves.json");
  return file;
}

Tensor tensor_of(const nlohmann::json& value) {
  return tensor(value["data"].get<std::vector<float>>(), Shape(value["shape"].get<std::vector<int64_t>>()));
}

Problem::Problem() {
  const nlohmann::json& weights = curves_file()["weights"];
  const auto variable = [&](const char* name) { return Variable(tensor_of(weights[name]), {.name = name}); };
  kernel1 = variable("kernel1");
  bias1 = variable("bias1");
  kernel2 = variable("kernel2");
  bias2 = variable("bias2");
}

Tensor Problem::loss(const Tensor& x, const Tensor& one_hot) const {
  const Tensor logits = matmul(tanh(matmul(x, kernel1) + bias1), kernel2) + bias2;
  return mean(logsumexp(logits, {1}) - sum(logits * one_hot, {1}));
}

const std::vector<Batch>& batches() {
  static const std::vector<Batch> all = [] {
    std::vector<Batch> list;
    for (const nlohmann::json& batch : curves_file()["batches"])
      list.push_back({tensor_of(batch["x"]), tensor_of(batch["one_hot"])});
    return list;
  }();
  return all;
}

}  // namespace isochron::reference
