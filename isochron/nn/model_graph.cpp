#include "isochron/nn/model_graph.h"

#include <fmt/core.h>

#include <algorithm>
#include <unordered_map>
#include <unordered_set>

#include "isochron/base/joined.h"
#include "isochron/nn/model.h"

namespace isochron {
namespace {

class GraphBuilder {
 public:
  explicit GraphBuilder(ModelGraph& graph) : graph_(graph) {}

  void add_input(const SymbolicTensor& input) {
    (void)input.spec();
    if (!dynamic_cast<const Input*>(input.layer().get()))
      fail<ValueError>("Model", "an input of a model comes from Input(…), got an output of layer \"{}\"",
                       input.layer()->name());
    if (place_.contains(input.call().get()))
      fail<ValueError>("Model", "input \"{}\" is listed twice", input.layer()->name());
    graph_.inputs.push_back({append(*input.call()), 0});
    graph_.input_names.push_back(input.layer()->name());
  }

  // Depth first, without recursion: chains of any length.
  void add_output(const SymbolicTensor& output) {
    (void)output.spec();
    std::vector<std::pair<const SymbolicCall*, size_t>> stack{{output.call().get(), 0}};
    while (!stack.empty()) {
      auto& [call, next] = stack.back();
      if (place_.contains(call)) {
        stack.pop_back();
      } else if (next < call->inputs.size()) {
        const SymbolicCall* below = call->inputs[next++].call().get();
        if (!place_.contains(below)) stack.emplace_back(below, 0);
      } else {
        if (call->inputs.empty())
          fail<ValueError>("Model", "output \"{}\" needs input \"{}\", which is not among the inputs ({})",
                           output.layer()->name(), call->layer->name(), joined(graph_.input_names));
        append(*call);
        stack.pop_back();
      }
    }
    graph_.outputs.push_back({place_.at(output.call().get()), static_cast<int32_t>(output.index())});
  }

 private:
  int32_t append(const SymbolicCall& call) {
    ModelGraph::Call entry{call.layer, {}, call.outputs, calls_of_[call.layer.get()]++, 0};
    for (const SymbolicTensor& input : call.inputs) {
      const int32_t from = place_.at(input.call().get());
      entry.inputs.push_back({from, static_cast<int32_t>(input.index())});
      entry.depth = std::max(entry.depth, graph_.calls[static_cast<size_t>(from)].depth + 1);
    }
    const auto place = static_cast<int32_t>(graph_.calls.size());
    place_[&call] = place;
    graph_.calls.push_back(std::move(entry));
    return place;
  }

  ModelGraph& graph_;
  std::unordered_map<const SymbolicCall*, int32_t> place_;
  std::unordered_map<const Layer*, size_t> calls_of_;
};

}  // namespace

std::shared_ptr<const ModelGraph> ModelGraph::from(const std::vector<SymbolicTensor>& inputs,
                                                   const std::vector<SymbolicTensor>& outputs) {
  if (inputs.empty() || outputs.empty()) fail<ValueError>("Model", "needs at least one input and one output");
  auto graph = std::make_shared<ModelGraph>();
  graph->input_symbols = inputs;
  graph->output_symbols = outputs;
  GraphBuilder builder(*graph);
  for (const SymbolicTensor& input : inputs) builder.add_input(input);
  for (const SymbolicTensor& output : outputs) builder.add_output(output);

  std::unordered_set<std::string> names;
  for (const auto& layer : graph->layers())
    if (!names.insert(layer->name()).second)
      fail<ValueError>("Model", "two layers are called \"{}\": names are unique in a model", layer->name());
  std::unordered_map<std::string, int> used;
  for (const SymbolicTensor& output : outputs) {
    const int n = used[output.layer()->name()]++;
    graph->output_names.push_back(n ? fmt::format("{}_{}", output.layer()->name(), n) : output.layer()->name());
  }
  return graph;
}

std::vector<Tensor> ModelGraph::run(const std::vector<Tensor>& given, const CallContext& outer) const {
  if (given.size() != inputs.size())
    fail<ValueError>("Model", "takes {} inputs ({}), got {}", inputs.size(), joined(input_names), given.size());
  // Masks travel with the tensors.
  const CallContext context{.training = outer.training};
  std::vector<std::vector<Tensor>> values(calls.size());
  for (size_t i = 0; i < inputs.size(); ++i) {
    const auto place = static_cast<size_t>(inputs[i].call);
    values[place] = {(*calls[place].layer)(given[i], context)};
  }
  for (size_t i = 0; i < calls.size(); ++i) {
    if (calls[i].inputs.empty()) continue;
    std::vector<Tensor> arguments;
    for (const Place& input : calls[i].inputs)
      arguments.push_back(values[static_cast<size_t>(input.call)][static_cast<size_t>(input.output)]);
    values[i] = (*calls[i].layer)(arguments, context);
  }
  std::vector<Tensor> results;
  for (const Place& output : outputs)
    results.push_back(values[static_cast<size_t>(output.call)][static_cast<size_t>(output.output)]);
  return results;
}

std::vector<std::shared_ptr<Layer>> ModelGraph::layers() const {
  struct Standing {
    std::shared_ptr<Layer> layer;
    int32_t reached = INT32_MAX;  // inputs that lead nowhere come last among their like
    int32_t depth = 0;
  };
  std::vector<Standing> found;
  std::unordered_map<const Layer*, size_t> index;
  for (const Call& call : calls)
    if (index.emplace(call.layer.get(), found.size()).second) found.push_back({call.layer});
  const auto standing = [&](int32_t call) -> Standing& {
    return found[index.at(calls[static_cast<size_t>(call)].layer.get())];
  };

  // Depth first from the outputs: numbers on the way down, an order of calls on the way up.
  std::vector<int32_t> order;
  std::vector<uint8_t> entered(calls.size());
  int32_t next_number = 0;
  for (const Place& output : outputs) {
    std::vector<std::pair<int32_t, size_t>> stack;
    const auto enter = [&](int32_t call) {
      if (std::exchange(entered[static_cast<size_t>(call)], 1)) return;
      if (standing(call).reached == INT32_MAX) standing(call).reached = next_number++;
      stack.emplace_back(call, 0);
    };
    enter(output.call);
    while (!stack.empty()) {
      auto& [call, next] = stack.back();
      const std::vector<Place>& below = calls[static_cast<size_t>(call)].inputs;
      if (next < below.size()) {
        enter(below[next++].call);
      } else {
        order.push_back(call);
        stack.pop_back();
      }
    }
  }
  std::vector<int32_t> depth(calls.size());
  for (auto call = order.rbegin(); call != order.rend(); ++call) {
    int32_t& own = depth[static_cast<size_t>(*call)];
    own = std::max(own, standing(*call).depth);
    standing(*call).depth = own;
    for (const Place& input : calls[static_cast<size_t>(*call)].inputs)
      depth[static_cast<size_t>(input.call)] = std::max(depth[static_cast<size_t>(input.call)], own + 1);
  }
  std::stable_sort(found.begin(), found.end(), [](const Standing& a, const Standing& b) {
    return a.depth != b.depth ? a.depth > b.depth : a.reached < b.reached;
  });
  std::vector<std::shared_ptr<Layer>> out;
  for (Standing& entry : found) out.push_back(std::move(entry.layer));
  return out;
}

bool ModelGraph::is_chain() const {
  for (size_t i = 0; i < calls.size(); ++i) {
    if (i == 0 ? !calls[i].inputs.empty() : calls[i].inputs.size() != 1) return false;
    if (i && calls[i].inputs[0].call != static_cast<int32_t>(i) - 1) return false;
  }
  return outputs.size() == 1;
}

}  // namespace isochron
