#include "isochron/nn/module_list.h"

#include <algorithm>

#include "isochron/base/names.h"

namespace isochron::nn {
namespace {

// Which of them it is; negative ones count from the end.
size_t place(const char* list, int64_t index, size_t size) {
  const auto count = static_cast<int64_t>(size);
  if (index < -count || index >= count) fail<IndexError>(list, "there are {} entries, got index {}", count, index);
  return static_cast<size_t>(index < 0 ? index + count : index);
}

}  // namespace

ModuleList::ModuleList(std::initializer_list<AnyModule> modules)
    : modules_(std::make_shared<std::vector<std::shared_ptr<Module>>>()) {
  for (const AnyModule& module : modules) append(module);
}
void ModuleList::append(const AnyModule& module) {
  register_module(std::to_string(size()), module.get());
  modules_->push_back(module.get());
}
Module& ModuleList::operator[](int64_t index) const { return *(*modules_)[place("ModuleList", index, size())]; }

ModuleDict::ModuleDict(std::initializer_list<std::pair<std::string, AnyModule>> modules)
    : modules_(std::make_shared<std::vector<std::pair<std::string, std::shared_ptr<Module>>>>()) {
  for (const auto& [name, module] : modules) insert(name, module);
}
void ModuleDict::insert(const std::string& name, const AnyModule& module) {
  register_module(name, module.get());
  modules_->emplace_back(name, module.get());
}
bool ModuleDict::contains(const std::string& name) const {
  return std::any_of(begin(), end(), [&](const auto& entry) { return entry.first == name; });
}
Module& ModuleDict::operator[](const std::string& name) const {
  for (const auto& [known, module] : *modules_)
    if (known == name) return *module;
  std::vector<std::string_view> names;
  for (const auto& [known, module] : *modules_) names.push_back(known);
  fail<ValueError>("ModuleDict", "there is no module \"{}\"{}", name, did_you_mean(name, names));
}

ParameterList::ParameterList(std::initializer_list<Tensor> values)
    : parameters_(std::make_shared<std::vector<Variable>>()) {
  for (const Tensor& value : values) append(value);
}
Variable ParameterList::append(const Tensor& value) {
  return parameters_->emplace_back(register_parameter(std::to_string(size()), value));
}
const Variable& ParameterList::operator[](int64_t index) const {
  return (*parameters_)[place("ParameterList", index, size())];
}

Sequential::Sequential(std::initializer_list<AnyModule> modules) {
  for (const AnyModule& module : modules) {
    register_module(std::to_string(modules_.size()), module.get());
    modules_.push_back(module.get());
  }
}
Tensor Sequential::forward(Tensor x) {
  for (const auto& module : modules_) x = (*module)(x);
  return x;
}

}  // namespace isochron::nn
