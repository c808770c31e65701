#include "isochron/kernels/epilogue.h"

#include <map>

namespace isochron {

Epilogue epilogue_of(const KernelRequest& request) {
  using kernels::GemmActivation;
  static const std::map<std::string_view, GemmActivation> known = {{"none", GemmActivation::none},
                                                                   {"relu", GemmActivation::relu},
                                                                   {"sigmoid", GemmActivation::sigmoid},
                                                                   {"tanh", GemmActivation::tanh},
                                                                   {"leaky_relu", GemmActivation::leaky_relu},
                                                                   {"elu", GemmActivation::elu},
                                                                   {"selu", GemmActivation::selu},
                                                                   {"gelu_erf", GemmActivation::gelu_erf},
                                                                   {"gelu_tanh", GemmActivation::gelu_tanh},
                                                                   {"silu", GemmActivation::silu},
                                                                   {"softplus", GemmActivation::softplus}};
  const Attributes& a = request.attributes();
  if (!a.find("activation")) return {};
  return {request.inputs.size() > 2, request.node.outputs.size() > 1, known.at(a.get<std::string>("activation")),
          a.get<double>("alpha")};
}

}  // namespace isochron
