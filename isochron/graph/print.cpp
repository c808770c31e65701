#include <fmt/core.h>

#include "isochron/base/joined.h"
#include "isochron/graph/graph.h"

namespace isochron {
namespace {

std::string value_name(const Graph& graph, ValueId v) {
  return graph[v].outputs.size() > 1 ? fmt::format("%{}.{}", v.node, v.output) : fmt::format("%{}", v.node);
}

std::string line_of(const Graph& graph, size_t i) {
  const GraphNode& node = graph.nodes[i];
  std::vector<std::string> in, out;
  for (ValueId v : node.inputs) in.push_back(value_name(graph, v));
  for (const TensorSpec& spec : node.outputs) out.push_back(to_string(spec));
  std::string text = fmt::format("%{} = ", i);
  if (!node.op) {
    constexpr const char* kRoles[] = {"?", "data", "variable", "argument", "stale"};
    text += kRoles[static_cast<size_t>(node.role)];
  } else {
    text += fmt::format("{}({})", node.op->name, joined(in));
    if (!node.attributes.empty()) text += " " + to_string(node.attributes);
  }
  if (node.body) {
    std::vector<std::string> steps;
    for (const GraphNode& inner : node.body->nodes)
      if (inner.op) steps.push_back(inner.op->name);
    text += fmt::format(" {{{}}}", joined(steps, " "));
  }
  return text + fmt::format(" : {}", joined(out));
}

}  // namespace

std::string to_string(const Graph& graph) {
  std::string text;
  for (size_t i = 0; i < graph.nodes.size(); ++i) text += line_of(graph, i) + "\n";
  std::vector<std::string> outputs;
  for (ValueId out : graph.outputs) outputs.push_back(value_name(graph, out));
  for (const GraphUpdate& update : graph.updates)
    outputs[static_cast<size_t>(update.output)] +=
        fmt::format(" -> %{}", graph.inputs[static_cast<size_t>(update.input)]);
  return text + fmt::format("return {}\n", joined(outputs));
}

std::string to_graphviz(const Graph& graph) {
  std::string text = "digraph isochron {\n  node [shape=box, fontname=\"monospace\", fontsize=10];\n";
  for (size_t i = 0; i < graph.nodes.size(); ++i) {
    const GraphNode& node = graph.nodes[i];
    std::string label = line_of(graph, i);
    std::string escaped;
    for (char c : label) {
      if (c == '"' || c == '\\') escaped += '\\';
      escaped += c;
    }
    text += fmt::format("  n{} [label=\"{}\"{}];\n", i, escaped, node.op ? "" : ", style=rounded");
    for (ValueId in : node.inputs) text += fmt::format("  n{} -> n{};\n", in.node, i);
  }
  for (size_t i = 0; i < graph.outputs.size(); ++i)
    text +=
        fmt::format("  out{0} [label=\"output {0}\", shape=ellipse];\n  n{1} -> out{0};\n", i, graph.outputs[i].node);
  return text + "}\n";
}

}  // namespace isochron
