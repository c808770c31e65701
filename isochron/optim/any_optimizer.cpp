#include "isochron/optim/any_optimizer.h"

#include <algorithm>
#include <cctype>

#include "isochron/base/names.h"
#include "isochron/optim/optimizers.h"

namespace isochron {
namespace {

template <class O>
std::shared_ptr<Optimizer> make() {
  return std::make_shared<O>();
}

constexpr struct {
  std::string_view name;
  std::shared_ptr<Optimizer> (*make)();
} kKnown[] = {{"sgd", make<SGD>},         {"rmsprop", make<RMSprop>},   {"adam", make<Adam>},
              {"adamw", make<AdamW>},     {"adamax", make<Adamax>},     {"nadam", make<Nadam>},
              {"adagrad", make<Adagrad>}, {"adadelta", make<Adadelta>}, {"lion", make<Lion>},
              {"ftrl", make<Ftrl>},       {"lamb", make<Lamb>},         {"adafactor", make<Adafactor>},
              {"muon", make<Muon>}};

}  // namespace

AnyOptimizer::AnyOptimizer(std::string_view name) {
  std::string lower(name);
  std::transform(lower.begin(), lower.end(), lower.begin(), [](unsigned char c) { return std::tolower(c); });
  std::vector<std::string_view> names;
  for (const auto& known : kKnown) {
    if (known.name == lower) {
      optimizer_ = known.make();
      return;
    }
    names.push_back(known.name);
  }
  fail<ValueError>("optimizer", "unknown optimizer \"{}\"{}", name, did_you_mean(lower, names));
}

}  // namespace isochron
