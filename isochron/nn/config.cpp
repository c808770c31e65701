#include "isochron/nn/config.h"

#include <cmath>
#include <mutex>

#include "isochron/base/json.h"
#include "isochron/base/names.h"
#include "isochron/nn/builtin_kinds.h"

namespace isochron {
namespace {

constexpr int kMostNested = 200;

Json json_of(const Config& config) {
  return std::visit(
      [](const auto& value) -> Json {
        using T = std::remove_cvref_t<decltype(value)>;
        if constexpr (std::is_same_v<T, std::monostate>) {
          return nullptr;
        } else if constexpr (std::is_same_v<T, Config::List>) {
          Json list = Json::array();
          for (const Config& item : value) list.push_back(json_of(item));
          return list;
        } else if constexpr (std::is_same_v<T, Config::Members>) {
          Json object = Json::object();
          for (const auto& [name, member] : value) object[name] = json_of(member);
          return object;
        } else {
          return value;
        }
      },
      config.value);
}

Config config_of(const Json& json) {
  if (json.is_null()) return {};
  if (json.is_boolean()) return Config(json.get<bool>());
  if (json.is_number_integer()) return Config(json.get<int64_t>());
  if (json.is_number()) return Config(json.get<double>());
  if (json.is_string()) return Config(json.get<std::string>());
  if (json.is_array()) {
    Config::List list;
    for (const Json& item : json) list.push_back(config_of(item));
    return Config(std::move(list));
  }
  Config::Members members;
  for (const auto& [name, member] : json.items()) members.emplace_back(name, config_of(member));
  return Config::object(std::move(members));
}

// Classes by their names and by their types.
template <class Base>
class Kinds {
 public:
  static Kinds& global() {
    static Kinds kinds;
    return kinds;
  }
  void add(ConfigKind<Base> kind) {
    std::lock_guard lock(mutex_);
    for (const ConfigKind<Base>& known : kinds_) {
      if (known.name == kind.name && known.type == kind.type) return;
      if (known.name == kind.name)
        fail<ValueError>("register_for_saving", "\"{}\" is the name of another class", kind.name);
    }
    kinds_.push_back(std::move(kind));
  }
  ConfigKind<Base> of(const Base& object, const std::string& called) {
    std::lock_guard lock(mutex_);
    for (const ConfigKind<Base>& kind : kinds_)
      if (kind.type == typeid(object)) return kind;
    fail<ValueError>(
        "save",
        "{} is of a class that is not known to files: list what its constructor takes by ISO_ARGUMENTS and "
        "call register_for_saving<Class>(\"Class\") (functions written in place, as in Lambda, can't be "
        "saved: make a class of them)",
        called);
  }
  ConfigKind<Base> named(const std::string& name) {
    std::lock_guard lock(mutex_);
    std::vector<std::string_view> known;
    for (const ConfigKind<Base>& kind : kinds_) {
      if (kind.name == name) return kind;
      known.push_back(kind.name);
    }
    fail<ValueError>("load",
                     "class \"{}\" is not known{}; call register_for_saving<{}>(\"{}\") before loading a model of it",
                     name, did_you_mean(name, known), name, name);
  }
  std::vector<std::string> names() {
    std::lock_guard lock(mutex_);
    std::vector<std::string> out;
    for (const ConfigKind<Base>& kind : kinds_) out.push_back(kind.name);
    return out;
  }

 private:
  std::mutex mutex_;
  std::vector<ConfigKind<Base>> kinds_;
};

template <class Base>
Kinds<Base>& kinds() {
  static std::once_flag once;
  std::call_once(once, add_builtin_kinds<Base>);
  return Kinds<Base>::global();
}

template <class Base>
Config described(ConfigWriter& writer, const Base& object, const std::string& called) {
  const ConfigKind<Base> kind = kinds<Base>().of(object, called);
  return Config::object({{"class_name", Config(kind.name)}, {"config", kind.write(writer, object)}});
}

template <class Base>
std::shared_ptr<Base> made(ConfigReader& reader, const Config& config) {
  const auto kind = kinds<Base>().named(reader.read<std::string>(config.at("class_name")));
  return kind.make(reader, config.at("config"));
}

}  // namespace

const Config* Config::find(std::string_view name) const {
  if (const auto* members = std::get_if<Members>(&value))
    for (const auto& [key, member] : *members)
      if (key == name) return &member;
  return nullptr;
}
const Config& Config::at(std::string_view name) const {
  if (const Config* found = find(name)) return *found;
  std::string text = to_json();
  constexpr size_t kShown = 120;
  if (text.size() > kShown) text = text.substr(0, kShown) + "…";
  fail<ValueError>("config", "\"{}\" is missing in {}", name, text);
}
void Config::set(const std::string& name, Config member) {
  auto& members = std::get<Members>(value);
  for (auto& [key, known] : members)
    if (key == name) {
      known = std::move(member);
      return;
    }
  members.emplace_back(name, std::move(member));
}

std::string Config::to_json() const { return json_text(json_of(*this)); }

Config Config::from_json(std::string_view text) {
  try {
    return config_of(parse_json(text, [](int depth, Json::parse_event_t, Json&) {
      if (depth > kMostNested) fail<ValueError>("config", "nested more than {} times", kMostNested);
      return true;
    }));
  } catch (const Json::exception& error) {
    fail<ValueError>("config", "no JSON: {}", error.what());
  }
}

std::vector<std::string> detail::argument_names(std::string_view listed) {
  std::vector<std::string> names;
  while (!listed.empty()) {
    const std::string_view one = listed.substr(0, listed.find(','));
    listed.remove_prefix(std::min(listed.size(), one.size() + 1));
    const size_t begin = std::min(one.find_first_not_of(' '), one.size());
    std::string name(one.substr(begin, one.find_first_of("( {<", begin) - begin));
    while (name.ends_with('_')) name.pop_back();
    names.push_back(std::move(name));
  }
  return names;
}

template <class Base>
void add_config_kind(ConfigKind<Base> kind) {
  // Built-in ones come first, so that a name of theirs can't be taken.
  (void)kinds<Base>();
  Kinds<Base>::global().add(std::move(kind));
}
template <class Base>
void add_builtin_kind(ConfigKind<Base> kind) {
  Kinds<Base>::global().add(std::move(kind));
}
#define ISO_BASE(Base)                             \
  template void add_config_kind(ConfigKind<Base>); \
  template void add_builtin_kind(ConfigKind<Base>);
ISO_BASE(Layer)
ISO_BASE(Loss)
ISO_BASE(Metric)
ISO_BASE(Optimizer)
ISO_BASE(Schedule)
#undef ISO_BASE

std::vector<std::string> saved_layer_classes() { return kinds<Layer>().names(); }

std::string Layer::get_config() const { return ConfigWriter().object(*this).to_json(); }

Config ConfigWriter::object(const Layer& layer) {
  if (const auto known = numbers_.find(&layer); known != numbers_.end())
    return Config::object({{"shared", Config(known->second)}});
  numbers_.emplace(&layer, static_cast<int64_t>(numbers_.size()));
  Config out = described(*this, layer, fmt::format("layer \"{}\" ({})", layer.name(), layer.class_name()));
  Config& config = std::get<Config::Members>(out.value).back().second;
  config.set("name", Config(layer.name()));
  return out;
}
Config ConfigWriter::object(const Loss& loss) {
  return described(*this, loss, fmt::format("loss \"{}\"", loss.name()));
}
Config ConfigWriter::object(const Metric& metric) {
  return described(*this, metric, fmt::format("metric \"{}\"", metric.name()));
}
Config ConfigWriter::object(const Optimizer& optimizer) {
  return described(*this, optimizer, fmt::format("optimizer \"{}\"", optimizer.name()));
}
Config ConfigWriter::object(const Schedule& schedule) { return described(*this, schedule, "a schedule"); }

std::shared_ptr<Layer> ConfigReader::layer(const Config& config) {
  if (const Config* shared = config.find("shared")) {
    const auto number = read<int64_t>(*shared);
    if (number < 0 || number >= static_cast<int64_t>(layers_.size()) || !layers_[static_cast<size_t>(number)])
      fail<ValueError>("config", "layer {} is referred to before it is described", number);
    return layers_[static_cast<size_t>(number)];
  }
  const size_t number = layers_.size();
  layers_.emplace_back();
  std::shared_ptr<Layer> layer = made<Layer>(*this, config);
  if (const Config* name = config.at("config").find("name")) layer->set_name(read<std::string>(*name));
  return layers_[number] = std::move(layer);
}
std::shared_ptr<Loss> ConfigReader::loss(const Config& config) { return made<Loss>(*this, config); }
std::shared_ptr<Metric> ConfigReader::metric(const Config& config) { return made<Metric>(*this, config); }
std::shared_ptr<Optimizer> ConfigReader::optimizer(const Config& config) { return made<Optimizer>(*this, config); }
std::shared_ptr<const Schedule> ConfigReader::schedule(const Config& config) { return made<Schedule>(*this, config); }

void ConfigReader::Taken::check_all(const Config& config) const {
  const auto* members = std::get_if<Config::Members>(&config.value);
  if (!members) expected("an object", config);
  std::vector<std::string_view> known(names.begin(), names.end());
  for (const auto& [name, member] : *members)
    if (std::find(names.begin(), names.end(), name) == names.end())
      fail<ValueError>("config", "there is no option \"{}\"{}", name, did_you_mean(name, known));
}

}  // namespace isochron
