// A whole model in one file: architecture, weights, optimizer and what compile() was told.
//
//   model.save("m.iso");
//   auto model = iso::load_model("m.iso");                  // std::shared_ptr<Model>, of the class that was saved
//   model->predict(x);                                      // the same bits
//   model->fit(x, y, {.initial_epoch = 5, .epochs = 10});   // goes on as if nothing had happened
//
// The file is a safetensors file, readable by anything that reads those: weights are called "weights/dense/kernel", and
// the rest is JSON in its metadata. Written whole or not at all. Classes of one's own must be registered first
// (register_for_saving in nn/config.h). FileError, naming the file and what is wrong, for damaged and foreign files and
// those of a later version; sizes are checked against the file before anything is allocated.
#pragma once

#include <map>
#include <memory>
#include <string>

#include "isochron/checkpoint/safetensors.h"
#include "isochron/nn/model.h"

namespace isochron {

struct LoadModelOptions {
  bool compile = true;  // false: the weights alone, to predict or to compile anew
  // Also take over the global seed and the place in its sequence, which shuffling, initialisation and dropout without a
  // seed of its own follow: to go on with the very numbers the saved run would have drawn.
  bool random_state = false;
};

std::shared_ptr<Model> load_model(const std::string& path, LoadModelOptions options = {});

// What save() writes, for those who write it themselves; values are not copied.
struct ModelFile {
  NamedTensors tensors;
  std::map<std::string, std::string> metadata;
};
ModelFile model_file(const Model& model);
// Whether a path ends in ".iso".
bool names_model_file(const std::string& path);

}  // namespace isochron
