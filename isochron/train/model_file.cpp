#include "isochron/train/model_file.h"

#include <map>
#include <unordered_set>

#include "isochron/checkpoint/safetensors.h"
#include "isochron/checkpoint/weight_names.h"
#include "isochron/exec/variables.h"
#include "isochron/nn/config.h"
#include "isochron/nn/weight_budget.h"
#include "isochron/ops/random_key.h"
#include "isochron/train/training.h"

namespace isochron {
namespace {

constexpr const char* kFormat = "isochron-model";
constexpr int64_t kVersion = 1;
const std::string kWeights = "weights/", kState = "state/", kOptimizer = "optimizer/";

// Every layer once, outer ones before their parts.
std::vector<Layer*> all_layers(Layer& model) {
  std::vector<Layer*> found;
  std::unordered_set<const Layer*> seen;
  const auto visit = [&](const auto& self, Layer& layer) -> void {
    if (!seen.insert(&layer).second) return;
    found.push_back(&layer);
    for (const auto& part : layer.parts()) self(self, *part);
  };
  visit(visit, model);
  return found;
}

std::map<uint64_t, int64_t> weight_numbers(const std::vector<NamedWeight>& weights) {
  std::map<uint64_t, int64_t> numbers;
  for (size_t i = 0; i < weights.size(); ++i)
    numbers.emplace(weights[i].variable.state()->variable, static_cast<int64_t>(i));
  return numbers;
}

Config text(std::string value) { return Config(Config::Value(std::move(value))); }

constexpr std::pair<const char*, NanPolicy> kPolicies[] = {
    {"raise", NanPolicy::raise}, {"warn", NanPolicy::warn}, {"skip", NanPolicy::skip}};

// The values of something given once for all, in order or by name.
template <class T, class F>
Config write_per_output(ConfigWriter& writer, const PerOutput<T>& given, F write) {
  Config::List values;
  for (const T& value : given.values()) values.push_back(write(value));
  return Config::object({{"one", writer.write(given.one())},
                         {"names", writer.write(given.names())},
                         {"values", Config(std::move(values))}});
}
template <class T, class F>
PerOutput<T> read_per_output(ConfigReader& reader, const Config& config, F read) {
  std::vector<T> values;
  for (const Config& value : ConfigReader::read_list(config.at("values"))) values.push_back(read(value));
  auto names = reader.read<std::vector<std::string>>(config.at("names"));
  if (!names.empty() && names.size() != values.size())
    fail<ValueError>("config", "{} names for {} values", names.size(), values.size());
  return {std::move(names), std::move(values), reader.read<bool>(config.at("one"))};
}

Config write_metrics(ConfigWriter& writer, const std::vector<AnyMetric>& metrics) {
  Config::List out;
  for (const AnyMetric& metric : metrics)
    out.push_back(metric.is_object() ? writer.object(*metric.object()) : text(metric.name()));
  return Config(std::move(out));
}
std::vector<AnyMetric> read_metrics(ConfigReader& reader, const Config& config) {
  std::vector<AnyMetric> out;
  for (const Config& metric : ConfigReader::read_list(config))
    if (const auto* name = std::get_if<std::string>(&metric.value))
      out.emplace_back(*name);
    else
      out.emplace_back(reader.metric(metric));
  return out;
}

Config write_by_output(ConfigWriter& writer, const MetricsByOutput& metrics) {
  if (metrics.named().empty()) return write_metrics(writer, metrics.all());
  Config named = Config::object();
  for (const auto& [output, list] : metrics.named()) named.set(output, write_metrics(writer, list));
  return named;
}
MetricsByOutput read_by_output(ConfigReader& reader, const Config& config) {
  const auto* named = std::get_if<Config::Members>(&config.value);
  if (!named) return MetricsByOutput(read_metrics(reader, config));
  std::vector<std::pair<std::string, std::vector<AnyMetric>>> by_output;
  for (const auto& [output, list] : *named) by_output.emplace_back(output, read_metrics(reader, list));
  return MetricsByOutput(std::move(by_output));
}

Config write_compile(ConfigWriter& writer, const CompileOptions& options) {
  Config out = Config::object();
  out.set("loss", write_per_output(writer, options.loss,
                                   [&](const AnyLoss& loss) { return loss ? writer.object(*loss) : Config(); }));
  out.set("loss_weights",
          write_per_output(writer, options.loss_weights, [&](double weight) { return writer.write(weight); }));
  out.set("metrics", write_by_output(writer, options.metrics));
  out.set("weighted_metrics", write_by_output(writer, options.weighted_metrics));
  for (const auto& [name, policy] : kPolicies)
    if (policy == options.nan_policy) out.set("nan_policy", text(name));
  return out;
}

CompileOptions read_compile(ConfigReader& reader, const Config& config) {
  CompileOptions options;
  options.loss = read_per_output<AnyLoss>(reader, config.at("loss"), [&](const Config& loss) {
    return std::holds_alternative<std::monostate>(loss.value) ? AnyLoss() : AnyLoss(reader.loss(loss));
  });
  options.loss_weights = read_per_output<double>(reader, config.at("loss_weights"),
                                                 [&](const Config& weight) { return reader.read<double>(weight); });
  options.metrics = read_by_output(reader, config.at("metrics"));
  if (const Config* weighted = config.find("weighted_metrics"))
    options.weighted_metrics = read_by_output(reader, *weighted);
  const auto policy = reader.read<std::string>(config.at("nan_policy"));
  for (const auto& [name, value] : kPolicies)
    if (policy == name) options.nan_policy = value;
  return options;
}

// State of variables that are not the model's stays behind.
Config write_optimizer(ConfigWriter& writer, const Optimizer& optimizer, const std::vector<NamedWeight>& weights,
                       NamedTensors& tensors) {
  const OptimizerSnapshot state = optimizer.snapshot();
  const std::map<uint64_t, int64_t> numbers = weight_numbers(weights);
  const auto add = [&](const std::string& name, const Tensor& value) {
    if (value.defined()) tensors.emplace_back(kOptimizer + name, value);
  };
  add("iterations", state.iterations);
  Config::List groups, entries;
  for (size_t i = 0; i < state.groups.size(); ++i) {
    add(fmt::format("rate/{}", i), state.groups[i].rate);
    const auto& schedule = state.groups[i].schedule;
    groups.push_back(Config::object({{"weight_decay", writer.write(state.groups[i].weight_decay)},
                                     {"schedule", schedule ? writer.object(*schedule) : Config()}}));
  }
  for (const OptimizerSnapshot::Entry& entry : state.entries) {
    const auto number = numbers.find(entry.variable.state()->variable);
    if (number == numbers.end()) continue;
    const std::string& name = weights[static_cast<size_t>(number->second)].name;
    std::vector<std::string> slots;
    for (const auto& [slot, value] : entry.slots) {
      slots.push_back(slot);
      add(fmt::format("slots/{}/{}", name, slot), value);
    }
    add(fmt::format("accumulators/{}", name), entry.accumulator);
    add(fmt::format("averages/{}", name), entry.average);
    entries.push_back(Config::object({{"weight", writer.write(number->second)},
                                      {"group", writer.write(entry.group)},
                                      {"decays", writer.write(entry.decays)},
                                      {"slots", writer.write(slots)}}));
  }
  std::vector<std::string> globals;
  for (const auto& [name, value] : state.globals) {
    globals.push_back(name);
    add("globals/" + name, value);
  }
  std::vector<int64_t> undecayed;
  for (const Variable& variable : state.undecayed)
    if (const auto number = numbers.find(variable.state()->variable); number != numbers.end())
      undecayed.push_back(number->second);
  Config out = writer.object(optimizer);
  out.set("groups", Config(std::move(groups)));
  out.set("entries", Config(std::move(entries)));
  out.set("globals", writer.write(globals));
  out.set("undecayed", writer.write(undecayed));
  out.set("undecayed_names", writer.write(state.undecayed_names));
  return out;
}

using TensorsByName = std::map<std::string, Tensor>;

AnyOptimizer read_optimizer(ConfigReader& reader, const Config& config, const std::vector<NamedWeight>& weights,
                            const TensorsByName& tensors) {
  std::shared_ptr<Optimizer> optimizer = reader.optimizer(config);
  const auto find = [&](const std::string& name) {
    const auto found = tensors.find(kOptimizer + name);
    return found == tensors.end() ? Tensor() : found->second;
  };
  const auto weight = [&](int64_t number) -> const NamedWeight& {
    if (number < 0 || number >= static_cast<int64_t>(weights.size()))
      fail<ValueError>("config", "there are {} weights, the optimizer has state of number {}", weights.size(), number);
    return weights[static_cast<size_t>(number)];
  };
  OptimizerSnapshot state{.iterations = find("iterations")};
  for (const Config& group : ConfigReader::read_list(config.at("groups"))) {
    const Config& schedule = group.at("schedule");
    const bool none = std::holds_alternative<std::monostate>(schedule.value);
    state.groups.push_back({find(fmt::format("rate/{}", state.groups.size())),
                            none ? nullptr : reader.schedule(schedule),
                            reader.read<std::optional<double>>(group.at("weight_decay"))});
  }
  for (const Config& given : ConfigReader::read_list(config.at("entries"))) {
    const NamedWeight& of = weight(reader.read<int64_t>(given.at("weight")));
    OptimizerSnapshot::Entry entry{.variable = of.variable,
                                   .group = reader.read<size_t>(given.at("group")),
                                   .decays = reader.read<bool>(given.at("decays")),
                                   .slots = {},
                                   .accumulator = find("accumulators/" + of.name),
                                   .average = find("averages/" + of.name)};
    for (const auto& slot : reader.read<std::vector<std::string>>(given.at("slots")))
      entry.slots.emplace_back(slot, find(fmt::format("slots/{}/{}", of.name, slot)));
    state.entries.push_back(std::move(entry));
  }
  for (const auto& name : reader.read<std::vector<std::string>>(config.at("globals")))
    state.globals.emplace_back(name, find("globals/" + name));
  for (const int64_t number : reader.read<std::vector<int64_t>>(config.at("undecayed")))
    state.undecayed.push_back(weight(number).variable);
  state.undecayed_names = reader.read<std::vector<std::string>>(config.at("undecayed_names"));
  optimizer->restore(state);
  return AnyOptimizer(std::move(optimizer));
}

void take_weights(const std::vector<NamedWeight>& weights, const TensorsByName& tensors) {
  size_t stored = 0;
  for (const auto& [name, tensor] : tensors) stored += name.starts_with(kWeights);
  if (stored != weights.size())
    fail<ValueError>("load", "the model has {} weights, the file {}", weights.size(), stored);
  for (const NamedWeight& weight : weights) {
    const auto found = tensors.find(kWeights + weight.name);
    if (found == tensors.end()) fail<ValueError>("load", "the file has no weight \"{}\"", weight.name);
    if (found->second.spec() != weight.variable.spec())
      fail<ValueError>("load", "weight \"{}\" is {}, the file has {}", weight.name, to_string(weight.variable.spec()),
                       to_string(found->second.spec()));
  }
  for (const NamedWeight& weight : weights) overwrite(weight.variable, tensors.at(kWeights + weight.name));
}

void take_state(const std::vector<Layer*>& layers, const TensorsByName& tensors) {
  for (size_t i = 0; i < layers.size(); ++i) {
    std::vector<Tensor> values;
    for (;;) {
      const auto found = tensors.find(fmt::format("{}{}/{}", kState, i, values.size()));
      if (found == tensors.end()) break;
      values.push_back(found->second);
    }
    if (!values.empty()) layers[i]->set_state(values);
  }
}

std::shared_ptr<Model> model_from(const SafetensorsFile& file, const LoadModelOptions& options) {
  const auto version = file.metadata.find("version"), described = file.metadata.find("config");
  if (version == file.metadata.end() || described == file.metadata.end())
    fail<ValueError>("load", "its description is missing");
  if (version->second != std::to_string(kVersion))
    fail<ValueError>("load", "it is of version {}, this library reads version {}", version->second, kVersion);
  const Config config = Config::from_json(described->second);
  TensorsByName tensors(file.tensors.begin(), file.tensors.end());
  int64_t weight_bytes = 0;
  for (const auto& [name, tensor] : tensors)
    if (name.starts_with(kWeights)) weight_bytes += tensor.spec().bytes();

  ConfigReader reader;
  std::shared_ptr<Model> model;
  {
    WeightBudget budget(weight_bytes);
    model = std::dynamic_pointer_cast<Model>(reader.layer(config.at("model")));
    if (!model) fail<ValueError>("load", "it describes a layer, not a model");
    if (const Config* shape = config.find("input_shape")) model->ensure_built(reader.read<Shape>(*shape));
  }
  const std::vector<NamedWeight> weights = weights_by_structure(*model);
  take_weights(weights, tensors);
  const std::vector<Layer*> layers = all_layers(*model);
  take_state(layers, tensors);
  // Layers by their numbers; outer ones come first and speak for their parts, which then may differ.
  const auto marked = [&](const char* what, auto set) {
    const auto list = reader.read<std::vector<int64_t>>(config.at(what));
    const std::unordered_set<int64_t> numbers(list.begin(), list.end());
    for (size_t i = 0; !list.empty() && i < layers.size(); ++i)
      set(*layers[i], numbers.contains(static_cast<int64_t>(i)));
  };
  marked("frozen", [](Layer& layer, bool frozen) { layer.set_trainable(!frozen); });
  marked("mixed_bfloat16",
         [](Layer& layer, bool mixed) { layer.set_dtype_policy(mixed ? "mixed_bfloat16" : "float32"); });
  if (const Config* compiled = config.find("compile"); compiled && options.compile) {
    CompileOptions compile = read_compile(reader, *compiled);
    compile.optimizer = read_optimizer(reader, config.at("optimizer"), weights, tensors);
    model->compile(std::move(compile));
  }
  if (options.random_state) {
    const auto [seed, counter] = reader.read<std::pair<int64_t, int64_t>>(config.at("random"));
    set_seed(static_cast<uint64_t>(seed));
    set_random_counter(static_cast<uint64_t>(counter));
  }
  return model;
}

}  // namespace

ModelFile model_file(const Model& model) {
  ConfigWriter writer;
  Config config = Config::object({{"model", writer.object(model)}});
  // Sequential and functional models say themselves what they were built for.
  if (model.built() && typeid(model) != typeid(Sequential) && !model.graph())
    config.set("input_shape", writer.write(model.input_shape()));
  NamedTensors tensors;
  const std::vector<NamedWeight> weights = weights_by_structure(model);
  for (const NamedWeight& weight : weights) tensors.emplace_back(kWeights + weight.name, weight.variable);
  const std::vector<Layer*> layers = all_layers(const_cast<Model&>(model));
  std::vector<int64_t> frozen, mixed;
  for (size_t i = 0; i < layers.size(); ++i) {
    if (!layers[i]->trainable()) frozen.push_back(static_cast<int64_t>(i));
    if (layers[i]->dtype_policy() == std::string_view("mixed_bfloat16")) mixed.push_back(static_cast<int64_t>(i));
    const std::vector<Variable> state = layers[i]->state();
    for (size_t j = 0; j < state.size(); ++j) tensors.emplace_back(fmt::format("{}{}/{}", kState, i, j), state[j]);
  }
  config.set("frozen", writer.write(frozen));
  config.set("mixed_bfloat16", writer.write(mixed));
  if (const auto& training = model.training()) {
    config.set("compile", write_compile(writer, training->options));
    config.set("optimizer", write_optimizer(writer, *training->options.optimizer, weights, tensors));
  }
  config.set("random", writer.write(std::pair(get_seed(), random_counter())));
  return {std::move(tensors),
          {{"format", kFormat}, {"version", std::to_string(kVersion)}, {"config", config.to_json()}}};
}

bool names_model_file(const std::string& path) { return path.ends_with(".iso"); }

void Model::save(const std::string& path) const {
  // What others would take for theirs and could not read.
  for (const char* foreign : {".keras", ".h5", ".hdf5", ".pt", ".pth", ".onnx", ".tflite"})
    if (path.ends_with(foreign))
      fail<ValueError>("save",
                       "\"{}\": whole models are written in a format of our own, call it \"….iso\"; weights for "
                       "other libraries are written by save_weights(\"….weights.h5\") or (\"….safetensors\")",
                       path);
  const ModelFile file = model_file(*this);
  write_safetensors(path, file.tensors, file.metadata);
}

std::shared_ptr<Model> load_model(const std::string& path, LoadModelOptions options) {
  const SafetensorsFile file = read_safetensors(path);
  const auto format = file.metadata.find("format");
  if (format == file.metadata.end() || format->second != kFormat)
    fail<FileError>("load_model", "{}: holds tensors and no model; model.load_weights() reads weights", path);
  try {
    return model_from(file, options);
  } catch (const InternalError&) {
    throw;
  } catch (const Error& error) {
    fail<FileError>("load_model", "{}: {}", path, error.what());
  }
}

}  // namespace isochron
