// The state of a run by name: tensors, numbers and text. Everything becomes a tensor of one safetensors file.
//
//   StateDict state;
//   state.put("epoch", 7);
//   state.put("best", 0.31);
//   state.put("model/kernel", kernel);                // shares the tensor; a variable is read when the state is
//   written state.integer("epoch");  state.tensor("model/kernel");
//
// Names are paths: put_all("callbacks/0", part) and part("callbacks/0") move whole groups. Reading a name that is not
// there, or is something else, is a FileError.
#pragma once

#include <concepts>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "isochron/checkpoint/safetensors.h"

namespace isochron {

class StateDict {
 public:
  void put(const std::string& name, const Tensor& value);
  template <std::integral T>
  void put(const std::string& name, T value) {
    put_integer(name, static_cast<int64_t>(value));
  }
  template <std::floating_point T>
  void put(const std::string& name, T value) {
    put_number(name, static_cast<double>(value));
  }
  void put(const std::string& name, std::string_view text);
  void put(const std::string& name, const std::vector<double>& values);
  void put(const std::string& name, const std::vector<int64_t>& values);
  void put_all(const std::string& prefix, const StateDict& part);

  bool has(const std::string& name) const { return index_.contains(name); }
  const Tensor& tensor(const std::string& name) const;
  int64_t integer(const std::string& name) const;
  double number(const std::string& name) const;
  std::string text(const std::string& name) const;
  std::vector<double> numbers(const std::string& name) const;
  std::vector<int64_t> integers(const std::string& name) const;
  // What lies under "prefix/", without it.
  StateDict part(const std::string& prefix) const;

  bool empty() const { return tensors_.empty(); }
  const NamedTensors& tensors() const { return tensors_; }  // in the order they were put

 private:
  void put_integer(const std::string& name, int64_t value);
  void put_number(const std::string& name, double value);
  const Tensor& typed(const std::string& name, DType dtype) const;

  NamedTensors tensors_;
  std::unordered_map<std::string, size_t> index_;
};

}  // namespace isochron
