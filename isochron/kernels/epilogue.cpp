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
  const bool residual = a.get_or("residual", false), gate = a.get_or("gate", false);
  return {.bias = request.inputs.size() > size_t{2} + residual + gate,
          .residual = residual,
          .gate = gate,
          .pre_activation = a.get<bool>("pre_activation"),
          .column_sums = a.get_or("column_sums", false),
          .activation = known.at(a.get<std::string>("activation")),
          .alpha = a.get<double>("alpha")};
}

}  // namespace isochron
