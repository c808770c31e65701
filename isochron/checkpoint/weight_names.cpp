#include "isochron/checkpoint/weight_names.h"

#include <functional>
#include <map>
#include <set>

#include "isochron/base/names.h"
#include "isochron/nn/wrappers.h"

namespace isochron {
namespace {

class UniqueNames {
 public:
  std::string operator()(const std::string& base) {
    const int n = used_[base]++;
    return n ? fmt::format("{}_{}", base, n) : base;
  }

 private:
  std::map<std::string, int> used_;
};

std::string below(const std::string& path, const std::string& name) { return path.empty() ? name : path + "/" + name; }

bool is_grouped(const Layer& layer) { return layer.class_name() == "GroupQueryAttention"; }

std::string class_in_path(const Layer& layer) {
  const auto* model = dynamic_cast<const Model*>(&layer);
  if (model && model->graph()) return "functional";
  if (is_grouped(layer)) return "grouped_query_attention";  // the class behind Keras' name
  return snake_case(layer.class_name());
}

// What Keras calls the parts of layers that are made of others.
std::string keras_part(const Layer& layer, size_t index, UniqueNames& names) {
  const std::string type = layer.class_name();
  if (type == "Bidirectional") return index == 0 ? "forward_layer" : "backward_layer";
  if (type == "TimeDistributed" || type == "SpectralNormalization") return "layer";
  return names(class_in_path(*layer.parts()[index]));
}

// Keras keeps the projections of attention as layers of their own.
std::string keras_weight(const Layer& layer, const Variable& weight, size_t index) {
  if (layer.class_name() != "MultiHeadAttention" && !is_grouped(layer))
    return fmt::format("{}vars/{}", dynamic_cast<const RecurrentLayer*>(&layer) ? "cell/" : "", index);
  const std::string& name = weight.name();  // "…/query/kernel"
  const size_t last = name.rfind('/'), before = name.rfind('/', last - 1);
  const std::string projection = name.substr(before + 1, last - before - 1);
  return fmt::format("{}{}_dense/vars/{}", is_grouped(layer) ? "_" : "",
                     projection == "attention_output" ? "output" : projection, name.ends_with("/bias") ? 1 : 0);
}

std::string short_name(const Variable& weight) {
  const std::string& name = weight.name();
  return name.substr(name.rfind('/') + 1);
}

class Collector {
 public:
  enum class Scheme { structure, layer_name, keras };
  explicit Collector(Scheme scheme) : scheme_(scheme) {}

  std::vector<NamedWeight> collect(const Model& model) {
    visit(model, "");
    return std::move(found_);
  }

 private:
  void visit(const Layer& layer, const std::string& path) {
    if (!visited_.insert(&layer).second) return;
    std::vector<Variable> own = layer.own_weights();
    // Keras counts the kernel that is normalised among the wrapper's own weights, too.
    if (const auto* wrapper = dynamic_cast<const SpectralNormalization*>(&layer); wrapper && scheme_ == Scheme::keras)
      own.insert(own.begin(), wrapper->kernel());
    UniqueNames names;
    for (size_t i = 0; i < own.size(); ++i) {
      if (scheme_ != Scheme::keras)
        found_.push_back({below(path, names(short_name(own[i]))), own[i]});
      else
        found_.push_back({below(path, keras_weight(layer, own[i], i)), own[i]});
    }
    const auto* model = dynamic_cast<const Model*>(&layer);
    const std::vector<std::shared_ptr<Layer>> parts = model ? model->layers() : layer.parts();
    UniqueNames part_names;
    for (size_t i = 0; i < parts.size(); ++i) {
      std::string name;
      if (scheme_ == Scheme::layer_name)
        name = parts[i]->name();
      else if (scheme_ == Scheme::structure || model)
        name = part_names(class_in_path(*parts[i]));
      else
        name = keras_part(layer, i, part_names);
      visit(*parts[i], below(scheme_ == Scheme::keras && model ? below(path, "layers") : path, name));
    }
  }

  Scheme scheme_;
  std::set<const Layer*> visited_;
  std::vector<NamedWeight> found_;
};

}  // namespace

std::vector<NamedWeight> weights_by_structure(const Model& model) {
  return Collector(Collector::Scheme::structure).collect(model);
}
std::vector<NamedWeight> weights_by_layer_name(const Model& model) {
  return Collector(Collector::Scheme::layer_name).collect(model);
}
std::vector<NamedWeight> weights_by_keras_path(const Model& model) {
  return Collector(Collector::Scheme::keras).collect(model);
}

}  // namespace isochron
