#include "isochron/optim/optimizers.h"

#include <regex>

#include "isochron/optim/checks.h"

namespace isochron {
namespace {

using namespace optim;

template <class Options>
OptimizerOptions common(const Options& o, const char* name) {
  return {.learning_rate = o.learning_rate,
          .weight_decay = o.weight_decay,
          .clipnorm = o.clipnorm,
          .clipvalue = o.clipvalue,
          .global_clipnorm = o.global_clipnorm,
          .use_ema = o.use_ema,
          .ema_momentum = o.ema_momentum,
          .ema_overwrite_frequency = o.ema_overwrite_frequency,
          .loss_scale_factor = o.loss_scale_factor,
          .gradient_accumulation_steps = o.gradient_accumulation_steps,
          .name = o.name.empty() ? name : o.name};
}

// The numbers of the methods that keep two moments, checked.
template <class Options>
Attributes moments(const char* owner, const Options& o) {
  require_decay(owner, "beta_1", o.beta_1);
  require_decay(owner, "beta_2", o.beta_2);
  Attributes attributes{{"beta_1", o.beta_1}, {"beta_2", o.beta_2}};
  if constexpr (requires { o.epsilon; }) {
    require_not_negative(owner, "epsilon", o.epsilon);
    attributes.set("epsilon", o.epsilon);
  }
  return attributes;
}

Attributes averages(const char* owner, double rho, double epsilon, double momentum = 0) {
  require_decay(owner, "rho", rho);
  require_not_negative(owner, "epsilon", epsilon);
  require_share(owner, "momentum", momentum);
  return {{"beta_1", momentum}, {"beta_2", rho}, {"epsilon", epsilon}};
}

template <class Slots>
Slots rmsprop_slots(const RMSpropOptions& o) {
  Slots slots = {{"velocity"}};
  if (o.momentum > 0) slots.push_back({"momentum"});
  if (o.centered) slots.push_back({"average_gradient"});
  return slots;
}

template <class Slots>
Slots adam_slots(bool amsgrad) {
  Slots slots = {{"momentum"}, {"velocity"}};
  if (amsgrad) slots.push_back({"velocity_hat"});
  return slots;
}

}  // namespace

SGD::SGD(SGDOptions o)
    : FusedOptimizer(common(o, "SGD"), {o.momentum > 0 ? "sgd_momentum_update" : "sgd_update",
                                        o.momentum > 0 ? std::vector<Slot>{{"momentum"}} : std::vector<Slot>{},
                                        {{"beta_1", o.momentum}, {"nesterov", o.nesterov && o.momentum > 0}}}),
      options_(o) {
  require_share(name(), "momentum", o.momentum);
}

RMSprop::RMSprop(RMSpropOptions o)
    : FusedOptimizer(common(o, "RMSprop"), {rmsprop_op(o.centered, o.momentum > 0), rmsprop_slots<std::vector<Slot>>(o),
                                            averages("RMSprop", o.rho, o.epsilon, o.momentum)}),
      options_(o) {}

Adam::Adam(AdamOptions o)
    : FusedOptimizer(common(o, "Adam"), {o.amsgrad ? "amsgrad_update" : "adam_update",
                                         adam_slots<std::vector<Slot>>(o.amsgrad), moments("Adam", o)}),
      options_(o) {}

AdamW::AdamW(AdamWOptions o)
    : FusedOptimizer(common(o, "AdamW"), {o.amsgrad ? "amsgrad_update" : "adam_update",
                                          adam_slots<std::vector<Slot>>(o.amsgrad), moments("AdamW", o)}),
      options_(o) {}

Adamax::Adamax(AdamaxOptions o)
    : FusedOptimizer(common(o, "Adamax"), {"adamax_update", {{"momentum"}, {"norm"}}, moments("Adamax", o)}),
      options_(o) {}

Nadam::Nadam(NadamOptions o)
    : FusedOptimizer(common(o, "Nadam"), {"nadam_update", adam_slots<std::vector<Slot>>(false),
                                          [&] {
                                            Attributes attributes = moments("Nadam", o);
                                            attributes.set("momentum_decay", 1.0);
                                            return attributes;
                                          }()}),
      options_(o) {}

Adagrad::Adagrad(AdagradOptions o)
    : FusedOptimizer(common(o, "Adagrad"),
                     {"adagrad_update", {{"accumulator", o.initial_accumulator_value}}, {{"epsilon", o.epsilon}}}),
      options_(o) {
  require_not_negative(name(), "initial_accumulator_value", o.initial_accumulator_value);
  require_not_negative(name(), "epsilon", o.epsilon);
}

Adadelta::Adadelta(AdadeltaOptions o)
    : FusedOptimizer(common(o, "Adadelta"), {"adadelta_update",
                                             {{"accumulated_gradient"}, {"accumulated_delta"}},
                                             averages("Adadelta", o.rho, o.epsilon)}),
      options_(o) {}

Lion::Lion(LionOptions o)
    : FusedOptimizer(common(o, "Lion"), {"lion_update", {{"momentum"}}, moments("Lion", o)}), options_(o) {}

Ftrl::Ftrl(FtrlOptions o) : Optimizer(common(o, "Ftrl")), options_(o) {
  require_not_negative(name(), "initial_accumulator_value", o.initial_accumulator_value);
  require_not_positive(name(), "learning_rate_power", o.learning_rate_power);
  require_not_negative(name(), "l1_regularization_strength", o.l1_regularization_strength);
  require_not_negative(name(), "l2_regularization_strength", o.l2_regularization_strength);
  require_not_negative(name(), "l2_shrinkage_regularization_strength", o.l2_shrinkage_regularization_strength);
}

Lamb::Lamb(LambOptions o) : Optimizer(common(o, "Lamb")), options_(o) { moments("Lamb", o); }

Adafactor::Adafactor(AdafactorOptions o) : Optimizer(common(o, "Adafactor")), options_(o) {
  require_not_positive(name(), "beta_2_decay", o.beta_2_decay);
  require_not_negative(name(), "epsilon_1", o.epsilon_1);
  require_not_negative(name(), "epsilon_2", o.epsilon_2);
  require_positive(name(), "clip_threshold", o.clip_threshold);
}

Muon::Muon(MuonOptions o)
    : FusedOptimizer(
          common(o, "Muon"),
          {"adam_update", adam_slots<std::vector<Slot>>(false),
           moments("Muon", AdamOptions{.beta_1 = o.adam_beta_1, .beta_2 = o.adam_beta_2, .epsilon = o.epsilon})}),
      options_(o) {
  require_decay(name(), "momentum", o.momentum);
  require_count(name(), "ns_steps", o.ns_steps);
  require_positive(name(), "adam_lr_ratio", o.adam_lr_ratio);
  if (o.adam_weight_decay) require_not_negative(name(), "adam_weight_decay", *o.adam_weight_decay);
  for (const std::string& pattern : o.exclude_layers) try {
      std::regex{pattern};
    } catch (const std::regex_error& error) {
      fail<ValueError>(name(), "exclude_layers has \"{}\", which is no regular expression: {}", pattern, error.what());
    }
}

}  // namespace isochron
