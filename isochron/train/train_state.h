// The state of a model in training, by name, for checkpoints:
//
//   weights/dense/kernel           all weights, trainable or not, named after the structure of the model
//   optimizer/2/dense/kernel/m     iterations, learning rates and slots, in the optimizer's order
//   metrics/0/total                what metrics have counted in the epoch under way
//   other/0/seed                   whatever else a training step assigns: keys of noise, variables of one's own layers
//
// and the random numbers to come (random/seed, random/counter). Epoch, step, place in the data, history and callbacks
// are added by fit().
#pragma once

#include "isochron/checkpoint/store.h"
#include "isochron/train/training.h"

namespace isochron {

using NamedVariables = std::vector<std::pair<std::string, Variable>>;

// In a fixed order; complete once a training step has been traced.
NamedVariables state_variables(const Model& model, const TrainingState& state);
// The weights alone, under the same names.
NamedVariables weight_variables(const Model& model);

void put_random_state(StateDict& state);
void restore_random_state(const StateDict& state);

// Gives every variable its saved value. FileError naming what is missing, extra or of another shape, before anything is
// changed.
void restore_variables(const Checkpoint& checkpoint, const NamedVariables& variables);

}  // namespace isochron
