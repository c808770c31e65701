// Starting values of parameters in place, with the names, arguments and distributions of torch.nn.init.
//
//   nn::init::kaiming_normal_(conv.weight, {.mode = "fan_out", .nonlinearity = "relu"});
//   nn::init::xavier_uniform_(linear.weight, nn::init::calculate_gain("tanh"));
//   nn::init::zeros_(linear.bias);
//
// Fans are read from weights (out, in, window…). Random numbers follow set_seed(), the same for any number of threads.
#pragma once

#include <optional>
#include <string>

#include "isochron/tensor/tensor.h"

namespace isochron::nn::init {

// What keeps the variance behind a nonlinearity; ValueError, with a suggestion, for one that is not known.
double calculate_gain(const std::string& nonlinearity, std::optional<double> param = {});

void constant_(const Variable& weight, double value);
inline void zeros_(const Variable& weight) { constant_(weight, 0); }
inline void ones_(const Variable& weight) { constant_(weight, 1); }
void eye_(const Variable& weight);  // (n, m)
void uniform_(const Variable& weight, double a = 0, double b = 1);
void normal_(const Variable& weight, double mean = 0, double std = 1);
// normal(mean, std) within [a, b].
void trunc_normal_(const Variable& weight, double mean = 0, double std = 1, double a = -2, double b = 2);
void xavier_uniform_(const Variable& weight, double gain = 1);
void xavier_normal_(const Variable& weight, double gain = 1);

struct KaimingOptions {
  double a = 0;                             // slope of leaky_relu below 0
  std::string mode = "fan_in";              // or "fan_out"
  std::string nonlinearity = "leaky_relu";  // see calculate_gain()
};
void kaiming_uniform_(const Variable& weight, const KaimingOptions& options = {});
void kaiming_normal_(const Variable& weight, const KaimingOptions& options = {});
// Rows (or columns, if there are fewer) at right angles; axes behind the first are taken together.
void orthogonal_(const Variable& weight, double gain = 1);

}  // namespace isochron::nn::init
