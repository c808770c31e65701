// How single arguments and options are written and read.
#include <cmath>

#include "isochron/base/names.h"
#include "isochron/nn/activations.h"
#include "isochron/nn/config.h"
#include "isochron/nn/image_layers.h"
#include "isochron/nn/spatial_layer.h"
#include "isochron/ops/create.h"
#include "isochron/ops/elementwise.h"

namespace isochron {
namespace {

Config recipe_or_fail(const char* what, const std::shared_ptr<const Config>& recipe) {
  if (recipe) return *recipe;
  fail<ValueError>("save",
                   "{} is a function written in place, which can't be saved: use one of the library's by name or "
                   "by its options",
                   what);
}

std::string text_of(const Config& config) {
  const auto* text = std::get_if<std::string>(&config.value);
  if (!text) ConfigReader::expected("a string", config);
  return *text;
}

// Things that are made by a name and options, of kind T.
template <class T>
struct Recipe {
  std::string_view name;
  T (*make)(ConfigReader&, const Config&);
};
template <class T, size_t n>
T from_recipe(const char* what, const Recipe<T> (&known)[n], ConfigReader& reader, const Config& config) {
  const std::string name = text_of(config.at("name"));
  std::vector<std::string_view> names;
  for (const Recipe<T>& recipe : known) {
    if (recipe.name == name) return recipe.make(reader, config);
    names.push_back(recipe.name);
  }
  fail<ValueError>("config", "unknown {} \"{}\"{}", what, name, did_you_mean(name, names));
}

const Recipe<Initializer> kInitializers[] = {
    {"constant",
     [](ConfigReader& r, const Config& c) { return initializers::constant(r.read_options<ConstantOptions>(c).value); }},
    {"random_normal",
     [](ConfigReader& r, const Config& c) { return initializers::random_normal(r.read_options<NormalOptions>(c)); }},
    {"truncated_normal",
     [](ConfigReader& r, const Config& c) { return initializers::truncated_normal(r.read_options<NormalOptions>(c)); }},
    {"random_uniform",
     [](ConfigReader& r, const Config& c) { return initializers::random_uniform(r.read_options<UniformOptions>(c)); }},
    {"variance_scaling",
     [](ConfigReader& r, const Config& c) {
       return initializers::variance_scaling(r.read_options<VarianceScalingOptions>(c));
     }},
    {"identity",
     [](ConfigReader& r, const Config& c) { return initializers::identity(r.read_options<IdentityOptions>(c).gain); }},
    {"orthogonal", [](ConfigReader& r, const Config& c) {
       const auto o = r.read_options<OrthogonalOptions>(c);
       return initializers::orthogonal(o.gain, o.seed);
     }}};
const Recipe<Regularizer> kRegularizers[] = {
    {"l1", [](ConfigReader& r, const Config& c) { return l1(r.read_options<PenaltyOptions>(c).l1); }},
    {"l2", [](ConfigReader& r, const Config& c) { return l2(r.read_options<PenaltyOptions>(c).l2); }},
    {"l1_l2", [](ConfigReader& r, const Config& c) {
       const auto o = r.read_options<PenaltyOptions>(c);
       return l1_l2(o.l1, o.l2);
     }}};
const Recipe<Constraint> kConstraints[] = {
    {"max_norm",
     [](ConfigReader& r, const Config& c) {
       const auto o = r.read_options<NormOptions>(c);
       return max_norm(o.most, o.axis);
     }},
    {"non_neg", [](ConfigReader&, const Config&) { return non_neg(); }},
    {"unit_norm", [](ConfigReader& r, const Config& c) { return unit_norm(r.read_options<NormOptions>(c).axis); }},
    {"min_max_norm", [](ConfigReader& r, const Config& c) {
       const auto o = r.read_options<NormOptions>(c);
       return min_max_norm(o.least, o.most, o.rate, o.axis);
     }}};

}  // namespace

// JSON has no numbers for these.
Config ConfigWriter::write_value(double number) {
  if (std::isnan(number)) return Config(std::string("nan"));
  if (std::isinf(number)) return Config(std::string(number > 0 ? "inf" : "-inf"));
  return Config(number);
}
Config ConfigWriter::write_value(DType dtype) { return Config(std::string(name_of(dtype))); }
Config ConfigWriter::write_value(const Shape& shape) { return write(shape.to_vector()); }
Config ConfigWriter::write_value(const Sizes& sizes) { return write(sizes.values()); }
Config ConfigWriter::write_value(const Padding& padding) {
  return padding.is_explicit() ? write(padding.widths()) : write(padding.mode());
}
Config ConfigWriter::write_value(const FactorRange& range) { return write(std::pair(range.low, range.high)); }
Config ConfigWriter::write_value(LossReduction reduction) { return write(reduction.name()); }
Config ConfigWriter::write_value(const Tensor& tensor) {
  if (!tensor.defined()) return {};
  const Tensor wide = cast(tensor, DType::float64);
  return Config::object({{"dtype", write(tensor.dtype())},
                         {"shape", write(tensor.shape())},
                         {"values", write(wide.to_vector<double>())}});
}
Config ConfigWriter::write_value(const ActivationFunction& activation) {
  if (activation.name() == "custom") return recipe_or_fail("an activation", nullptr);
  return write(activation.name());
}
Config ConfigWriter::write_value(const Initializer& initializer) {
  return recipe_or_fail("an initializer", initializer.recipe());
}
Config ConfigWriter::write_value(const Regularizer& regularizer) {
  return regularizer ? recipe_or_fail("a regularizer", regularizer.recipe) : Config();
}
Config ConfigWriter::write_value(const Constraint& constraint) {
  return constraint ? recipe_or_fail("a constraint", constraint.recipe) : Config();
}
Config ConfigWriter::write_value(const LearningRate& rate) {
  return rate.schedule() ? object(*rate.schedule()) : write(rate.initial());
}
Config ConfigWriter::write_value(const std::shared_ptr<Layer>& layer) { return object(*layer); }

const Config::List& ConfigReader::read_list(const Config& config) {
  const auto* list = std::get_if<Config::List>(&config.value);
  if (!list) expected("a list", config);
  return *list;
}
void ConfigReader::expected(const char* what, const Config& found) {
  constexpr size_t kShown = 120;
  const std::string text = found.to_json();
  fail<ValueError>("config", "expected {}, got {}{}", what, text.substr(0, kShown), text.size() > kShown ? "…" : "");
}

bool ConfigReader::read_value(const Config& config, std::type_identity<bool>) {
  const auto* value = std::get_if<bool>(&config.value);
  if (!value) expected("true or false", config);
  return *value;
}
int64_t ConfigReader::read_value(const Config& config, std::type_identity<int64_t>) {
  const auto* value = std::get_if<int64_t>(&config.value);
  if (!value) expected("a whole number", config);
  return *value;
}
double ConfigReader::read_value(const Config& config, std::type_identity<double>) {
  if (const auto* value = std::get_if<double>(&config.value)) return *value;
  if (const auto* value = std::get_if<int64_t>(&config.value)) return static_cast<double>(*value);
  if (const auto* text = std::get_if<std::string>(&config.value)) {
    if (*text == "nan") return std::nan("");
    if (*text == "inf" || *text == "-inf") return *text == "inf" ? HUGE_VAL : -HUGE_VAL;
  }
  expected("a number", config);
}
std::string ConfigReader::read_value(const Config& config, std::type_identity<std::string>) { return text_of(config); }
DType ConfigReader::read_value(const Config& config, std::type_identity<DType>) {
  return dtype_from_name(text_of(config));
}
Shape ConfigReader::read_value(const Config& config, std::type_identity<Shape>) {
  return Shape::partial(read<std::vector<int64_t>>(config));
}
Tensor ConfigReader::read_value(const Config& config, std::type_identity<Tensor>) {
  if (std::holds_alternative<std::monostate>(config.value)) return {};
  const auto values = read<std::vector<double>>(config.at("values"));
  const auto shape = read<Shape>(config.at("shape"));
  if (shape.elements() != static_cast<int64_t>(values.size()))
    fail<ValueError>("config", "a tensor of shape {} has {} values", shape, values.size());
  return cast(tensor(values, shape), read<DType>(config.at("dtype"))).eval();
}
Sizes ConfigReader::read_value(const Config& config, std::type_identity<Sizes>) {
  return Sizes(read<std::vector<int64_t>>(config));
}
Padding ConfigReader::read_value(const Config& config, std::type_identity<Padding>) {
  if (std::holds_alternative<std::string>(config.value)) return Padding(text_of(config));
  return Padding(read<Padding::Widths>(config));
}
FactorRange ConfigReader::read_value(const Config& config, std::type_identity<FactorRange>) {
  const auto [low, high] = read<std::pair<double, double>>(config);
  return FactorRange(low, high);
}
LossReduction ConfigReader::read_value(const Config& config, std::type_identity<LossReduction>) {
  return LossReduction(text_of(config));
}
ActivationFunction ConfigReader::read_value(const Config& config, std::type_identity<ActivationFunction>) {
  return ActivationFunction(text_of(config));
}
Initializer ConfigReader::read_value(const Config& config, std::type_identity<Initializer>) {
  return from_recipe("initializer", kInitializers, *this, config);
}
Regularizer ConfigReader::read_value(const Config& config, std::type_identity<Regularizer>) {
  if (std::holds_alternative<std::monostate>(config.value)) return {};
  return from_recipe("regularizer", kRegularizers, *this, config);
}
Constraint ConfigReader::read_value(const Config& config, std::type_identity<Constraint>) {
  if (std::holds_alternative<std::monostate>(config.value)) return {};
  return from_recipe("constraint", kConstraints, *this, config);
}
LearningRate ConfigReader::read_value(const Config& config, std::type_identity<LearningRate>) {
  if (std::holds_alternative<Config::Members>(config.value)) return LearningRate(schedule(config));
  return LearningRate(read<double>(config));
}

}  // namespace isochron
