// Config: what a layer, loss, metric, optimizer or schedule was made with, as plain data, and how to make it again.
//
//   dense.get_config();               // {"class_name":"Dense","config":{"units":10,"activation":"relu",…}}
//
// Everything built in is known here. A class of one's own says what its constructor takes and is registered once,
// before a model with it is saved or loaded:
//
//   class Scale : public iso::Layer {
//    public:
//     explicit Scale(double factor) : factor_(factor) {}
//     ISO_LAYER(Scale)
//     ISO_ARGUMENTS(factor_)                          // base/options.h; without it, a constructor without arguments
//     …
//   };
//   iso::register_for_saving<Scale>("Scale");
//
// Arguments may be numbers, strings, dtypes, shapes, lists, pairs and optional values of these, activations,
// initializers, regularizers, constraints, layers, and structures declared by ISO_OPTIONS. What a constructor takes and
// what ISO_ARGUMENTS lists must fit: the object is made again by Class(arguments…), or Class::from_arguments(…).
//
// Options that a description leaves out keep their defaults; ValueError names one that is not known.
#pragma once

#include <memory>
#include <string>
#include <string_view>
#include <tuple>
#include <typeindex>
#include <unordered_map>
#include <utility>
#include <variant>
#include <vector>

#include "isochron/base/options.h"
#include "isochron/nn/layer.h"
#include "isochron/nn/loss.h"
#include "isochron/nn/metric.h"
#include "isochron/optim/optimizer.h"

namespace isochron {

class ActivationFunction;
class FactorRange;
class Padding;
class Sizes;

class Config {
 public:
  using List = std::vector<Config>;
  using Members = std::vector<std::pair<std::string, Config>>;
  using Value = std::variant<std::monostate, bool, int64_t, double, std::string, List, Members>;

  Config() = default;  // null
  Config(Value given) : value(std::move(given)) {}
  static Config object(Members members = {}) { return Value(std::move(members)); }

  // Of an object: the member, or null when there is none; ValueError from at().
  const Config* find(std::string_view name) const;
  const Config& at(std::string_view name) const;
  void set(const std::string& name, Config member);

  std::string to_json() const;
  // ValueError for text that is no JSON or is nested too deeply.
  static Config from_json(std::string_view text);

  Value value;
};

class ConfigWriter;
class ConfigReader;

// How objects of one class are written and made again.
template <class Base>
struct ConfigKind {
  std::string name;
  std::type_index type;
  Config (*write)(ConfigWriter&, const Base&);
  std::shared_ptr<Base> (*make)(ConfigReader&, const Config&);
};
// ValueError when the name belongs to another class. Bases: Layer, Loss, Metric, Optimizer, Schedule.
template <class Base>
void add_config_kind(ConfigKind<Base> kind);
// Names of all classes of layers that can be saved.
std::vector<std::string> saved_layer_classes();

namespace detail {
template <class T>
inline constexpr bool is_vector = false;
template <class T>
inline constexpr bool is_vector<std::vector<T>> = true;
template <class T>
inline constexpr bool is_optional = false;
template <class T>
inline constexpr bool is_optional<std::optional<T>> = true;
template <class T>
inline constexpr bool is_pair = false;
template <class A, class B>
inline constexpr bool is_pair<std::pair<A, B>> = true;
template <class T>
concept HasOptions = requires(T& options) {
  for_each_option(options, [](const char*, auto&) {});
};

template <class T>
concept HasArguments = requires {
  T::constructor_argument_names();
};
struct Values {
  template <class... T>
  std::tuple<T...> operator()(const T&... values) const {
    return {values...};
  }
};

// "units_, kernel_size(), options_" -> {"units", "kernel_size", "options"}.
std::vector<std::string> argument_names(std::string_view listed);
}  // namespace detail

class ConfigWriter {
 public:
  // {"class_name": …, "config": {…}}; a layer that was written before is {"shared": its number}. ValueError, saying how
  // to register it, for a class that is not known.
  Config object(const Layer& layer);
  Config object(const Loss& loss);
  Config object(const Metric& metric);
  Config object(const Optimizer& optimizer);
  Config object(const Schedule& schedule);

  template <class T>
  Config write(const T& value) {
    if constexpr (std::is_same_v<T, bool>) {
      return Config(Config::Value(value));
    } else if constexpr (std::is_base_of_v<std::string, T>) {
      return Config(Config::Value(static_cast<const std::string&>(value)));
    } else if constexpr (std::is_integral_v<T>) {
      return Config(Config::Value(static_cast<int64_t>(value)));
    } else if constexpr (detail::is_optional<T>) {
      return value ? write(*value) : Config();
    } else if constexpr (detail::is_pair<T>) {
      return Config(Config::List{write(value.first), write(value.second)});
    } else if constexpr (detail::is_vector<T>) {
      Config::List list;
      for (const auto& item : value) list.push_back(write(item));
      return Config(std::move(list));
    } else {
      return write_value(value);
    }
  }
  // The fields of an options structure as members of an object.
  template <class Options>
  void write_options(Config& to, const Options& options) {
    for_each_option(options, [&](const char* name, const auto& value) { add(to, name, value); });
  }
  template <class T>
  Config write_arguments(const T& made) {
    Config out = Config::object();
    if constexpr (detail::HasArguments<T>) {
      const std::vector<std::string> names = detail::argument_names(T::constructor_argument_names());
      size_t next = 0;
      const auto add_argument = [&](const auto& argument) {
        const std::string& name = names[next++];
        if constexpr (detail::HasOptions<const std::remove_cvref_t<decltype(argument)>>)
          write_options(out, argument);
        else
          add(out, name.c_str(), argument);
      };
      made.visit_constructor_arguments([&](const auto&... arguments) { (add_argument(arguments), ...); });
    }
    return out;
  }

 private:
  // Once for each type of a field, not in each of its many callers.
  template <class T>
  [[gnu::noinline]] void add(Config& to, const char* name, const T& value) {
    to.set(name, write(value));
  }
  Config write_value(double number);
  Config write_value(DType dtype);
  Config write_value(const Shape& shape);
  Config write_value(const Tensor& tensor);
  Config write_value(const Sizes& sizes);
  Config write_value(const Padding& padding);
  Config write_value(const FactorRange& range);
  Config write_value(LossReduction reduction);
  Config write_value(const ActivationFunction& activation);
  Config write_value(const Initializer& initializer);
  Config write_value(const Regularizer& regularizer);
  Config write_value(const Constraint& constraint);
  Config write_value(const LearningRate& rate);
  Config write_value(const std::shared_ptr<Layer>& layer);

  std::unordered_map<const Layer*, int64_t> numbers_;
};

class ConfigReader {
 public:
  std::shared_ptr<Layer> layer(const Config& config);
  std::shared_ptr<Loss> loss(const Config& config);
  std::shared_ptr<Metric> metric(const Config& config);
  std::shared_ptr<Optimizer> optimizer(const Config& config);
  std::shared_ptr<const Schedule> schedule(const Config& config);

  // ValueError naming what was expected and what is there.
  template <class T>
  T read(const Config& config) {
    if constexpr (detail::is_optional<T>) {
      if (std::holds_alternative<std::monostate>(config.value)) return T();
      return read<typename T::value_type>(config);
    } else if constexpr (detail::is_pair<T>) {
      // A factor that older files have as a number.
      if constexpr (std::is_same_v<T, std::pair<double, double>>)
        if (!std::holds_alternative<Config::List>(config.value)) return T(read<double>(config), read<double>(config));
      const Config::List& list = read_list(config);
      if (list.size() != 2) expected("two values", config);
      return T(read<typename T::first_type>(list[0]), read<typename T::second_type>(list[1]));
    } else if constexpr (detail::is_vector<T>) {
      T values;
      for (const Config& item : read_list(config)) values.push_back(read<typename T::value_type>(item));
      return values;
    } else if constexpr (std::is_integral_v<T> && !std::is_same_v<T, bool>) {
      return static_cast<T>(read_value(config, std::type_identity<int64_t>()));
    } else if constexpr (std::is_base_of_v<std::string, T>) {
      return read_value(config, std::type_identity<std::string>());
    } else {
      return read_value(config, std::type_identity<T>());
    }
  }
  template <class Base, class T>
  std::shared_ptr<Base> make(const Config& config) {
    Taken taken;
    // Not by make_shared<T>: one more instance of it for each of two hundred classes.
    const auto made = [&](auto&&... arguments) -> std::shared_ptr<Base> {
      taken.check_all(config);
      Base* object;
      if constexpr (requires { T::from_arguments(std::move(arguments)...); })
        object = new T(T::from_arguments(std::move(arguments)...));
      else
        object = new T(std::move(arguments)...);
      return std::shared_ptr<Base>(object);
    };
    if constexpr (detail::HasArguments<T>) {
      using Arguments = decltype(std::declval<const T&>().visit_constructor_arguments(detail::Values()));
      const std::vector<std::string> names = detail::argument_names(T::constructor_argument_names());
      return [&]<size_t... i>(std::index_sequence<i...>) {
        // In braces: from the first to the last.
        return std::apply(made, Arguments{argument<std::tuple_element_t<i, Arguments>>(config, names[i], taken)...});
      }
      (std::make_index_sequence<std::tuple_size_v<Arguments>>());
    } else {
      return made();
    }
  }
  template <class Options>
  Options read_options(const Config& config) {
    Taken taken;
    Options options = read_options<Options>(config, taken);
    taken.check_all(config);
    return options;
  }
  static const Config::List& read_list(const Config& config);
  [[noreturn]] static void expected(const char* what, const Config& found);

 private:
  // Members that were asked for: others are mistakes, or belong to a later version.
  struct Taken {
    std::vector<std::string> names{"name"};
    void check_all(const Config& config) const;
  };
  template <class Options>
  Options read_options(const Config& config, Taken& taken) {
    Options options{};
    for_each_option(options, [&](const char* name, auto& value) { read_option(config, name, value, taken); });
    return options;
  }
  // Once for each type of a field, as ConfigWriter::add.
  template <class T>
  [[gnu::noinline]] void read_option(const Config& config, const char* name, T& value, Taken& taken) {
    taken.names.push_back(name);
    if (const Config* given = config.find(name)) value = read<T>(*given);
  }
  template <class Argument>
  [[gnu::noinline]] Argument argument(const Config& config, const std::string& name, Taken& taken) {
    if constexpr (detail::HasOptions<Argument>) {
      return read_options<Argument>(config, taken);
    } else {
      taken.names.push_back(name);
      return read<Argument>(config.at(name));
    }
  }
  bool read_value(const Config& config, std::type_identity<bool>);
  int64_t read_value(const Config& config, std::type_identity<int64_t>);
  double read_value(const Config& config, std::type_identity<double>);
  std::string read_value(const Config& config, std::type_identity<std::string>);
  DType read_value(const Config& config, std::type_identity<DType>);
  Shape read_value(const Config& config, std::type_identity<Shape>);
  Tensor read_value(const Config& config, std::type_identity<Tensor>);
  Sizes read_value(const Config& config, std::type_identity<Sizes>);
  Padding read_value(const Config& config, std::type_identity<Padding>);
  FactorRange read_value(const Config& config, std::type_identity<FactorRange>);
  LossReduction read_value(const Config& config, std::type_identity<LossReduction>);
  ActivationFunction read_value(const Config& config, std::type_identity<ActivationFunction>);
  Initializer read_value(const Config& config, std::type_identity<Initializer>);
  Regularizer read_value(const Config& config, std::type_identity<Regularizer>);
  Constraint read_value(const Config& config, std::type_identity<Constraint>);
  LearningRate read_value(const Config& config, std::type_identity<LearningRate>);
  std::shared_ptr<Layer> read_value(const Config& config, std::type_identity<std::shared_ptr<Layer>>) {
    return layer(config);
  }

  std::vector<std::shared_ptr<Layer>> layers_;  // by number
};

// How to make an initializer, regularizer or constraint again: {"name": name, …its options}.
template <class Options>
std::shared_ptr<const Config> named_recipe(const char* name, const Options& options) {
  auto config = std::make_shared<Config>(Config::object({{"name", Config(Config::Value(std::string(name)))}}));
  ConfigWriter().write_options(*config, options);
  return config;
}

template <class Base, class T>
ConfigKind<Base> kind_of(std::string name) {
  return {
      std::move(name), typeid(T),
      [](ConfigWriter& writer, const Base& object) { return writer.write_arguments(static_cast<const T&>(object)); },
      [](ConfigReader& reader, const Config& config) -> std::shared_ptr<Base> { return reader.make<Base, T>(config); }};
}

// Makes a class known, so that models with its objects can be saved and loaded. Calling it again changes nothing.
template <class T>
void register_for_saving(const std::string& name) {
  if constexpr (std::is_base_of_v<Layer, T>)
    add_config_kind(kind_of<Layer, T>(name));
  else if constexpr (std::is_base_of_v<Loss, T>)
    add_config_kind(kind_of<Loss, T>(name));
  else if constexpr (std::is_base_of_v<Metric, T>)
    add_config_kind(kind_of<Metric, T>(name));
  else if constexpr (std::is_base_of_v<Optimizer, T>)
    add_config_kind(kind_of<Optimizer, T>(name));
  else
    add_config_kind(kind_of<Schedule, T>(name));
}

}  // namespace isochron
