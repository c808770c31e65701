#include "isochron/nn/model_config.h"

#include "isochron/nn/model.h"
#include "isochron/nn/model_graph.h"

namespace isochron {
namespace {

// {"layers": […]}, and "input_shape" when it was built by a call.
Config write_sequential(ConfigWriter& writer, const Layer& layer) {
  Config out = Config::object({{"layers", writer.write(static_cast<const Sequential&>(layer).parts())}});
  if (layer.built()) out.set("input_shape", writer.write(layer.input_shape()));
  return out;
}

std::shared_ptr<Layer> make_sequential(ConfigReader& reader, const Config& config) {
  auto model = std::make_shared<Sequential>();
  for (const auto& layer : reader.read<std::vector<std::shared_ptr<Layer>>>(config.at("layers"))) model->add(layer);
  if (const Config* shape = config.find("input_shape")) model->ensure_built(reader.read<Shape>(*shape));
  return model;
}

using Place = std::pair<int64_t, int64_t>;  // a call and one of its outputs

std::vector<Place> places_of(const std::vector<ModelGraph::Place>& places) {
  std::vector<Place> out;
  for (const ModelGraph::Place& place : places) out.emplace_back(place.call, place.output);
  return out;
}

// {"calls": [{"layer": …, "inputs": [[call, output], …]}, …], "inputs": […], "outputs": […]}; an input of the model is
// a call without inputs.
Config write_functional(ConfigWriter& writer, const Layer& layer) {
  const auto& model = static_cast<const Model&>(layer);
  if (!model.graph())
    fail<ValueError>("save", "model \"{}\" has neither layers in a row nor a graph of them", model.name());
  Config::List calls;
  for (const ModelGraph::Call& call : model.graph()->calls)
    calls.push_back(
        Config::object({{"layer", writer.write(call.layer)}, {"inputs", writer.write(places_of(call.inputs))}}));
  return Config::object({{"calls", Config(std::move(calls))},
                         {"inputs", writer.write(places_of(model.graph()->inputs))},
                         {"outputs", writer.write(places_of(model.graph()->outputs))}});
}

std::shared_ptr<Layer> make_functional(ConfigReader& reader, const Config& config) {
  std::vector<SymbolicTensors> results;
  const auto symbols = [&](const Config& places) {
    std::vector<SymbolicTensor> out;
    for (const auto& [call, output] : reader.read<std::vector<Place>>(places)) {
      if (call < 0 || call >= static_cast<int64_t>(results.size()) || output < 0 ||
          output >= static_cast<int64_t>(results[static_cast<size_t>(call)].size()))
        fail<ValueError>("config", "output {} of call {} is used before it is made", output, call);
      out.push_back(results[static_cast<size_t>(call)][static_cast<size_t>(output)]);
    }
    return out;
  };
  for (const Config& call : ConfigReader::read_list(config.at("calls"))) {
    const std::shared_ptr<Layer> layer = reader.layer(call.at("layer"));
    const std::vector<SymbolicTensor> inputs = symbols(call.at("inputs"));
    if (!inputs.empty()) {
      results.push_back((*layer)(inputs));
      continue;
    }
    const auto* input = dynamic_cast<const Input*>(layer.get());
    if (!input) fail<ValueError>("config", "layer \"{}\" is called on nothing", layer->name());
    results.push_back(SymbolicTensor(Input(input->shape(), {input->name(), input->dtype()})));
  }
  return std::make_shared<Model>(symbols(config.at("inputs")), symbols(config.at("outputs")));
}

}  // namespace

ConfigKind<Layer> sequential_kind() { return {"Sequential", typeid(Sequential), write_sequential, make_sequential}; }
ConfigKind<Layer> functional_kind() { return {"Functional", typeid(Model), write_functional, make_functional}; }

}  // namespace isochron
