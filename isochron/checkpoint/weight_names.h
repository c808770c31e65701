// Names of a model's weights in files. They follow from the structure, never from the numbers in automatic layer names
// ("dense_7"), so that the same model made twice gives the same names.
#pragma once

#include "isochron/nn/model.h"
#include "isochron/nn/weight_match.h"

namespace isochron {

// "dense/kernel", "dense_1/bias", "sequential/dense/kernel": layers by class, counted within their model.
std::vector<NamedWeight> weights_by_structure(const Model& model);
// "hidden/kernel": layers by their own names.
std::vector<NamedWeight> weights_by_layer_name(const Model& model);
// "layers/dense/vars/0": as Keras 3 writes them into .weights.h5.
std::vector<NamedWeight> weights_by_keras_path(const Model& model);

}  // namespace isochron
