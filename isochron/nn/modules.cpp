#include "isochron/nn/modules.h"

#include "isochron/nn/dropout.h"
#include "isochron/ops/shape_ops.h"

namespace isochron::nn {

Dropout::Dropout(double p) : p_(p) {
  if (!(p >= 0 && p <= 1)) fail<ValueError>("Dropout", "p must be in [0, 1], got {}", p);
  describe(fmt::format("p={}", p));
}
Tensor Dropout::forward(Tensor x) { return isochron::Dropout(p_).call(x, {.training = is_training()}); }

Flatten::Flatten(int64_t start_dim, int64_t end_dim) : start_dim_(start_dim), end_dim_(end_dim) {
  describe(fmt::format("start_dim={}, end_dim={}", start_dim, end_dim));
}
Tensor Flatten::forward(Tensor x) {
  const int first = normalize_axis("Flatten", start_dim_, x.rank()),
            last = normalize_axis("Flatten", end_dim_, x.rank());
  if (first > last)
    fail<ValueError>("Flatten", "start_dim {} must not come after end_dim {} in a tensor of shape {}", start_dim_,
                     end_dim_, x.shape());
  std::vector<int64_t> shape = x.shape().to_vector();
  shape[static_cast<size_t>(first)] = x.shape().elements(first, last + 1);
  shape.erase(shape.begin() + first + 1, shape.begin() + last + 1);
  return reshape(x, shape);
}

ModuleList::ModuleList(std::initializer_list<AnyModule> modules)
    : modules_(std::make_shared<std::vector<std::shared_ptr<Module>>>()) {
  for (const AnyModule& module : modules) append(module);
}
void ModuleList::append(const AnyModule& module) {
  register_module(std::to_string(size()), *module.get());
  modules_->push_back(module.get());
}
Module& ModuleList::operator[](int64_t index) const {
  const auto count = static_cast<int64_t>(size());
  if (index < -count || index >= count)
    fail<IndexError>("ModuleList", "there are {} modules, got index {}", count, index);
  return *(*modules_)[static_cast<size_t>(index < 0 ? index + count : index)];
}

Sequential::Sequential(std::initializer_list<AnyModule> modules) {
  for (const AnyModule& module : modules) {
    register_module(std::to_string(modules_.size()), *module.get());
    modules_.push_back(module.get());
  }
}
Tensor Sequential::forward(Tensor x) {
  for (const auto& module : modules_) x = (*module)(x);
  return x;
}

}  // namespace isochron::nn
