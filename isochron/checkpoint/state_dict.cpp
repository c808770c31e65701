#include "isochron/checkpoint/state_dict.h"

#include <cstring>

namespace isochron {
namespace {

template <class T>
Tensor vector_of(std::span<const T> values) {
  return Tensor::from_span(values, {static_cast<int64_t>(values.size())});
}

}  // namespace

void StateDict::put(const std::string& name, const Tensor& value) {
  const auto [found, fresh] = index_.emplace(name, tensors_.size());
  if (fresh)
    tensors_.emplace_back(name, value);
  else
    tensors_[found->second].second = value;
}

void StateDict::put_integer(const std::string& name, int64_t value) {
  put(name, Tensor::from_span(std::span<const int64_t>(&value, 1), {}));
}
void StateDict::put_number(const std::string& name, double value) {
  put(name, Tensor::from_span(std::span<const double>(&value, 1), {}));
}
void StateDict::put(const std::string& name, std::string_view text) {
  put(name, vector_of(std::span(reinterpret_cast<const uint8_t*>(text.data()), text.size())));
}
void StateDict::put(const std::string& name, const std::vector<double>& values) {
  put(name, vector_of(std::span(values)));
}
void StateDict::put(const std::string& name, const std::vector<int64_t>& values) {
  put(name, vector_of(std::span(values)));
}

void StateDict::put_all(const std::string& prefix, const StateDict& part) {
  for (const auto& [name, tensor] : part.tensors_) put(prefix + "/" + name, tensor);
}

const Tensor& StateDict::tensor(const std::string& name) const {
  const auto found = index_.find(name);
  if (found == index_.end()) fail<FileError>("checkpoint", "the state holds no \"{}\"", name);
  return tensors_[found->second].second;
}

const Tensor& StateDict::typed(const std::string& name, DType dtype) const {
  const Tensor& value = tensor(name);
  if (value.dtype() != dtype)
    fail<FileError>("checkpoint", "\"{}\" should be {}, it is {}", name, dtype, value.dtype());
  return value;
}

int64_t StateDict::integer(const std::string& name) const { return typed(name, DType::int64).item<int64_t>(); }
double StateDict::number(const std::string& name) const { return typed(name, DType::float64).item<double>(); }
std::vector<double> StateDict::numbers(const std::string& name) const {
  return typed(name, DType::float64).to_vector<double>();
}
std::vector<int64_t> StateDict::integers(const std::string& name) const {
  return typed(name, DType::int64).to_vector<int64_t>();
}
std::string StateDict::text(const std::string& name) const {
  const Tensor& bytes = typed(name, DType::uint8);
  return {static_cast<const char*>(bytes.raw_data()), static_cast<size_t>(bytes.elements())};
}

StateDict StateDict::part(const std::string& prefix) const {
  StateDict out;
  for (const auto& [name, tensor] : tensors_)
    if (name.starts_with(prefix + "/")) out.put(name.substr(prefix.size() + 1), tensor);
  return out;
}

}  // namespace isochron
