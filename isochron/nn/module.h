// nn::Module: layers in the manner of PyTorch. Members that hold parameters are registered by name; calling the module
// runs forward().
//
//   struct Net : nn::Module {
//     nn::Linear hidden{784, 128}, out{128, 10};
//     nn::Dropout dropout{0.5};
//     Net() {
//       register_module("hidden", hidden);
//       register_module("out", out);
//       register_module("dropout", dropout);
//     }
//     Tensor forward(Tensor x) override { return out(dropout(relu(hidden(x)))); }
//   };
//   Net net;
//   optim::SGD optimizer(net.parameters(), {.lr = 0.1});
//   net.train();  net(x);  net.eval();
//
// A module is a handle: copies share parameters, registered modules and the training flag. Registering keeps the
// shared part, so a module may outlive the one it was registered in, and the other way round.
//
//   net.apply([](nn::Module& m) {
//     if (auto* linear = dynamic_cast<nn::Linear*>(&m)) nn::init::xavier_uniform_(linear->weight);
//   });
//   const auto best = net.state_dict();                         // values as they are now
//   net.load_state_dict(best);  other.load_state_dict(best, {.strict = false});
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "isochron/nn/layer.h"
#include "isochron/nn/weight_match.h"

namespace isochron::nn {

struct LoadStateDictOptions {
  bool strict = true;  // every name must be in both
};
struct IncompatibleKeys {
  std::vector<std::string> missing_keys, unexpected_keys;
};

class Module {
 public:
  Module();
  virtual ~Module() = default;
  Module(const Module&) = default;
  Module& operator=(const Module&) = default;

  // What the module makes of x. Modules that take something else than one tensor define a forward of their own.
  virtual Tensor forward(Tensor x);
  Tensor operator()(const Tensor& x) { return forward(x); }

  // Of this module and those registered in it, each once, in the order of registration.
  std::vector<Variable> parameters() const;
  std::vector<std::pair<std::string, Variable>> named_parameters() const;  // "hidden.weight"
  std::vector<std::pair<std::string, Variable>> named_buffers() const;
  int64_t count_params() const;
  void zero_grad() const;
  // Whether gradients are taken of all parameters.
  void set_requires_grad(bool on = true);
  void requires_grad_(bool on = true) { set_requires_grad(on); }

  // The modules registered in this one; and all below it, by path ("body.linear"), each once. They are copies: handles
  // of the same parameters, of the class that was registered.
  std::vector<std::shared_ptr<Module>> children() const;
  std::vector<std::pair<std::string, std::shared_ptr<Module>>> named_children() const;
  std::vector<std::pair<std::string, std::shared_ptr<Module>>> named_modules() const;
  // f of all modules below this one, then of this one.
  void apply(const std::function<void(Module&)>& f);

  // Parameters and buffers by name, with the values they have now: training on does not change what was given.
  std::vector<std::pair<std::string, Tensor>> state_dict() const;
  // Takes values over by name. ValueError lists what is missing, unexpected (unless not strict) and of another shape;
  // nothing is changed then.
  IncompatibleKeys load_state_dict(const std::vector<std::pair<std::string, Tensor>>& state,
                                   LoadStateDictOptions options = {});

  // Parameters and buffers, other than integers, in another floating dtype from now on; state of optimizers follows at
  // their next step. DTypeError for a dtype that is not floating, StateError within a traced function.
  Module& to(DType dtype);

  // What modules such as Dropout do differently while training; a new module is training.
  void train(bool on = true);
  void eval() { train(false); }
  bool is_training() const;

  // Under PyTorch's names ("hidden.weight") and in its layouts, as .safetensors or .npz; as Model's otherwise.
  void save_weights(const std::string& path) const;
  void load_weights(const std::string& path, LoadWeightsOptions options = {});

  // The tree of modules, as PyTorch prints it, and the number of parameters.
  [[nodiscard]] std::string summary() const;

 protected:
  // Makes a module part of this one, and returns it. ValueError for a name that is empty, taken or has a dot, or for a
  // module that holds this one.
  template <class M>
  requires std::is_base_of_v<Module, std::remove_cvref_t<M>> M register_module(const std::string& name, M&& module) {
    add_module(name, module, std::make_shared<std::remove_cvref_t<M>>(module));
    return std::forward<M>(module);
  }
  void register_module(const std::string& name, const std::shared_ptr<Module>& module) {
    add_module(name, *module, module);
  }
  // A variable that is trained; one that is a variable already is taken as it is. DTypeError unless floating.
  Variable register_parameter(const std::string& name, const Tensor& value);
  // A variable that is not.
  Variable register_buffer(const std::string& name, const Tensor& value);
  // What summary() says of this module in brackets.
  void describe(std::string text);

 private:
  struct State;
  void add_module(const std::string& name, const Module& module, std::shared_ptr<Module> handle);
  std::vector<NamedWeight> named_weights() const;
  void add_variable(const char* what, const std::string& name, const Variable& variable, bool buffer);
  std::shared_ptr<State> state_;
};

}  // namespace isochron::nn
