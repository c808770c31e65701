// Model::save_weights, load_weights and those of nn::Module: a file's tensors by name, checked before any is taken.
#include <algorithm>
#include <filesystem>
#include <set>

#include "isochron/checkpoint/hdf5.h"
#include "isochron/checkpoint/safetensors.h"
#include "isochron/checkpoint/store.h"
#include "isochron/checkpoint/weight_names.h"
#include "isochron/checkpoint/weights_file.h"
#include "isochron/nn/module.h"
#include "isochron/tensor/npy.h"

namespace isochron {

using Format = WeightsFormat;

WeightsFormat weights_format(const char* what, const std::string& path, bool hdf5) {
  if (path.ends_with(".safetensors")) return Format::safetensors;
  if (path.ends_with(".npz")) return Format::npz;
  if (path.ends_with(".h5") && hdf5) return Format::hdf5;
  fail<ValueError>(what, "\"{}\": the end of the name tells the format, .safetensors, .npz{}", path,
                   hdf5 ? " or .weights.h5" : "");
}

void write_weights_file(const std::string& path, const NamedTensors& weights) {
  const Format format = weights_format("save_weights", path);
  if (format == Format::safetensors) write_safetensors(path, weights);
  if (format == Format::npz) write_npz(path, weights);
  if (format == Format::hdf5) write_hdf5(path, weights);
}

bool names_weights_file(const std::string& path) {
  return path.ends_with(".safetensors") || path.ends_with(".npz") || path.ends_with(".h5");
}

NamedTensors read_weights_file(const std::string& path) {
  switch (weights_format("read weights", path)) {
    case Format::safetensors:
      return read_safetensors(path).tensors;
    case Format::hdf5:
      return read_hdf5(path);
    case Format::npz: {
      const NpzArrays arrays = read_npz(path);
      return {arrays.begin(), arrays.end()};
    }
  }
  return {};
}

namespace {

NamedTensors tensors_of(const std::vector<NamedWeight>& weights) {
  NamedTensors tensors;
  for (const NamedWeight& weight : weights) tensors.emplace_back(weight.name, weight.variable);
  return tensors;
}

void load(const std::string& path, const std::vector<NamedWeight>& weights, const NamedTensors& tensors,
          const LoadWeightsOptions& options) {
  const WeightMatch match = match_weights(weights, tensors, "the file has");
  if (const std::string report = match.report(); !report.empty() && !options.skip_mismatch)
    fail<FileError>("load_weights", "{} does not fit; nothing was loaded{}", path, report);
  match.take();
}

void check_built(const char* what, const Model& model) {
  if (model.weights().empty())
    fail<StateError>(what, "model \"{}\" has no weights yet: build it with Input(shape), a call, or fit", model.name());
}

}  // namespace

void Model::save_weights(const std::string& path) const {
  const Format format = weights_format("save_weights", path, true);
  check_built("save_weights", *this);
  write_weights_file(path,
                     tensors_of(format == Format::hdf5 ? weights_by_keras_path(*this) : weights_by_structure(*this)));
}

void Model::load_weights(const std::string& path, LoadWeightsOptions options) {
  if (is_checkpoint(path)) {
    check_built("load_weights", *this);
    return load(path, weights_by_structure(*this), read_checkpoint(path).state.part("weights").tensors(), options);
  }
  std::error_code ignored;
  if (!std::filesystem::exists(path, ignored)) fail<FileError>("load_weights", "{}: there is no such file", path);
  const Format format = weights_format("load_weights", path, true);
  check_built("load_weights", *this);
  const NamedTensors tensors = read_weights_file(path);
  if (format == Format::hdf5) return load(path, weights_by_keras_path(*this), tensors, options);
  // Files of others may go by the names of the layers.
  std::vector<NamedWeight> weights = weights_by_structure(*this);
  const std::vector<NamedWeight> by_layer = weights_by_layer_name(*this);
  std::set<std::string> in_file;
  for (const auto& [name, tensor] : tensors) in_file.insert(name);
  const auto hits = [&](const std::vector<NamedWeight>& names) {
    return std::count_if(names.begin(), names.end(),
                         [&](const NamedWeight& weight) { return in_file.contains(weight.name); });
  };
  if (hits(by_layer) > hits(weights)) weights = by_layer;
  load(path, weights, tensors, options);
}

void nn::Module::save_weights(const std::string& path) const {
  weights_format("save_weights", path, false);
  write_weights_file(path, tensors_of(named_weights()));
}

void nn::Module::load_weights(const std::string& path, LoadWeightsOptions options) {
  weights_format("load_weights", path, false);
  load(path, named_weights(), read_weights_file(path), options);
}

}  // namespace isochron
