#include "isochron/nn/weight_rules.h"

#include "isochron/base/names.h"
#include "isochron/nn/config.h"
#include "isochron/ops/elementwise.h"
#include "isochron/ops/reduce.h"
#include "isochron/optim/checks.h"

namespace isochron {
namespace {
constexpr double kEpsilon = 1e-7;
Tensor norms(const Tensor& w, int64_t axis) { return norm(w, 2, {axis}, true); }
}  // namespace

Regularizer l1(double factor) {
  optim::require_not_negative("l1", "factor", factor);
  return {[=](const Tensor& w) { return factor * sum(abs(w)); }, named_recipe("l1", PenaltyOptions{.l1 = factor})};
}
Regularizer l2(double factor) {
  optim::require_not_negative("l2", "factor", factor);
  return {[=](const Tensor& w) { return factor * sum(square(w)); }, named_recipe("l2", PenaltyOptions{.l2 = factor})};
}
Regularizer l1_l2(double l1_factor, double l2_factor) {
  optim::require_not_negative("l1_l2", "l1", l1_factor);
  optim::require_not_negative("l1_l2", "l2", l2_factor);
  return {[=](const Tensor& w) { return l1_factor * sum(abs(w)) + l2_factor * sum(square(w)); },
          named_recipe("l1_l2", PenaltyOptions{l1_factor, l2_factor})};
}

Regularizer::Regularizer(const char* name) {
  if (!name) return;
  const std::string_view n = name;
  if (n == "l1")
    *this = l1();
  else if (n == "l2")
    *this = l2();
  else if (n == "l1_l2")
    *this = l1_l2();
  else
    fail<ValueError>("regularizer", "unknown regularizer \"{}\"{}", n, did_you_mean(n, {"l1", "l2", "l1_l2"}));
}

Constraint max_norm(double most, int64_t axis) {
  optim::require_not_negative("max_norm", "the largest norm", most);
  return {[=](const Tensor& w) {
            const Tensor n = norms(w, axis);
            return w * (clip(n, 0, most) / (n + kEpsilon));
          },
          named_recipe("max_norm", NormOptions{.most = most, .axis = axis})};
}
Constraint non_neg() {
  return {[](const Tensor& w) { return relu(w); }, named_recipe("non_neg", NormOptions{})};
}
Constraint unit_norm(int64_t axis) {
  return {[=](const Tensor& w) { return w / (norms(w, axis) + kEpsilon); },
          named_recipe("unit_norm", NormOptions{.axis = axis})};
}
Constraint min_max_norm(double least, double most, double rate, int64_t axis) {
  optim::require_not_negative("min_max_norm", "the least norm", least);
  optim::require_not_negative("min_max_norm", "the largest norm", most);
  if (most < least) fail<ValueError>("min_max_norm", "the largest norm, {}, is below the least one, {}", most, least);
  return {[=](const Tensor& w) {
            const Tensor n = norms(w, axis);
            return w * ((rate * clip(n, least, most) + (1 - rate) * n) / (n + kEpsilon));
          },
          named_recipe("min_max_norm", NormOptions{least, most, rate, axis})};
}

Constraint::Constraint(const char* name) {
  if (!name) return;
  const std::string_view n = name;
  if (n == "max_norm")
    *this = max_norm();
  else if (n == "non_neg")
    *this = non_neg();
  else if (n == "unit_norm")
    *this = unit_norm();
  else if (n == "min_max_norm")
    *this = min_max_norm();
  else
    fail<ValueError>("constraint", "unknown constraint \"{}\"{}", n,
                     did_you_mean(n, {"max_norm", "non_neg", "unit_norm", "min_max_norm"}));
}

}  // namespace isochron
