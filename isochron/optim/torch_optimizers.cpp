#include "isochron/optim/torch_optimizers.h"

#include "isochron/optim/checks.h"

namespace isochron::optim {
namespace {

OptimizerOptions common(const char* name, const LearningRate& rate, double weight_decay) {
  OptimizerOptions options{.learning_rate = rate, .name = name};
  if (weight_decay != 0) options.weight_decay = weight_decay;
  return options;
}

Attributes numbers(const char* owner, double eps, Attributes attributes) {
  require_not_negative(owner, "eps", eps);
  attributes.set("epsilon", eps);
  attributes.set("pytorch", true);
  attributes.set("coupled_decay", true);
  return attributes;
}

Attributes moments(const char* owner, const std::pair<double, double>& betas, double eps) {
  require_decay(owner, "betas.first", betas.first);
  require_decay(owner, "betas.second", betas.second);
  return numbers(owner, eps, {{"beta_1", betas.first}, {"beta_2", betas.second}});
}

Attributes with(Attributes attributes, AttributeName name, AttributeValue value) {
  attributes.set(name, std::move(value));
  return attributes;
}

template <class Slots>
Slots rmsprop_slots(const RMSpropOptions& o) {
  Slots slots = {{"square_avg"}};
  if (o.momentum > 0) slots.push_back({"momentum_buffer"});
  if (o.centered) slots.push_back({"grad_avg"});
  return slots;
}

template <class Slots>
Slots adam_slots(bool amsgrad) {
  Slots slots = {{"exp_avg"}, {"exp_avg_sq"}};
  if (amsgrad) slots.push_back({"max_exp_avg_sq"});
  return slots;
}

}  // namespace

SGD::SGD(const Parameters& parameters, SGDOptions o)
    : FusedOptimizer(
          common("SGD", o.lr, o.weight_decay),
          {o.momentum > 0 ? "sgd_momentum_update" : "sgd_update",
           o.momentum > 0 ? std::vector<Slot>{{"momentum_buffer"}} : std::vector<Slot>{},
           numbers("SGD", 0, {{"beta_1", o.momentum}, {"dampening", o.dampening}, {"nesterov", o.nesterov}})}),
      options_(o) {
  require_not_negative("SGD", "momentum", o.momentum);
  if (o.nesterov && (o.momentum <= 0 || o.dampening != 0))
    fail<ValueError>("SGD", "nesterov needs a momentum and no dampening, got momentum {} and dampening {}", o.momentum,
                     o.dampening);
  build(parameters);
}

Adam::Adam(const Parameters& parameters, AdamOptions o)
    : FusedOptimizer(common("Adam", o.lr, o.weight_decay),
                     {o.amsgrad ? "amsgrad_update" : "adam_update", adam_slots<std::vector<Slot>>(o.amsgrad),
                      moments("Adam", o.betas, o.eps)}),
      options_(o) {
  build(parameters);
}

AdamW::AdamW(const Parameters& parameters, AdamWOptions o)
    : FusedOptimizer(common("AdamW", o.lr, o.weight_decay),
                     {o.amsgrad ? "amsgrad_update" : "adam_update", adam_slots<std::vector<Slot>>(o.amsgrad),
                      with(moments("AdamW", o.betas, o.eps), "coupled_decay", false)}),
      options_(o) {
  build(parameters);
}

RMSprop::RMSprop(const Parameters& parameters, RMSpropOptions o)
    : FusedOptimizer(common("RMSprop", o.lr, o.weight_decay),
                     {rmsprop_op(o.centered, o.momentum > 0), rmsprop_slots<std::vector<Slot>>(o),
                      numbers("RMSprop", o.eps, {{"beta_1", o.momentum}, {"beta_2", o.alpha}})}),
      options_(o) {
  require_decay("RMSprop", "alpha", o.alpha);
  require_not_negative("RMSprop", "momentum", o.momentum);
  build(parameters);
}

Adamax::Adamax(const Parameters& parameters, AdamaxOptions o)
    : FusedOptimizer(common("Adamax", o.lr, o.weight_decay),
                     {"adamax_update", {{"exp_avg"}, {"exp_inf"}}, moments("Adamax", o.betas, o.eps)}),
      options_(o) {
  build(parameters);
}

NAdam::NAdam(const Parameters& parameters, NAdamOptions o)
    : FusedOptimizer(common("NAdam", o.lr, o.weight_decay),
                     {"nadam_update", adam_slots<std::vector<Slot>>(false),
                      with(moments("NAdam", o.betas, o.eps), "momentum_decay", o.momentum_decay)}),
      options_(o) {
  require_not_negative("NAdam", "momentum_decay", o.momentum_decay);
  build(parameters);
}

RAdam::RAdam(const Parameters& parameters, RAdamOptions o)
    : FusedOptimizer(common("RAdam", o.lr, o.weight_decay),
                     {"radam_update", adam_slots<std::vector<Slot>>(false),
                      with(moments("RAdam", o.betas, o.eps), "coupled_decay", !o.decoupled_weight_decay)}),
      options_(o) {
  build(parameters);
}

Adagrad::Adagrad(const Parameters& parameters, AdagradOptions o)
    : FusedOptimizer(common("Adagrad", o.lr, o.weight_decay),
                     {"adagrad_update", {{"sum", o.initial_accumulator_value}}, numbers("Adagrad", o.eps, {})}),
      options_(o) {
  require_not_negative("Adagrad", "initial_accumulator_value", o.initial_accumulator_value);
  build(parameters);
}

Adadelta::Adadelta(const Parameters& parameters, AdadeltaOptions o)
    : FusedOptimizer(
          common("Adadelta", o.lr, o.weight_decay),
          {"adadelta_update", {{"square_avg"}, {"acc_delta"}}, numbers("Adadelta", o.eps, {{"beta_2", o.rho}})}),
      options_(o) {
  require_decay("Adadelta", "rho", o.rho);
  build(parameters);
}

}  // namespace isochron::optim
