#include "isochron/profiler/call_description.h"

#include <fmt/core.h>

#include <algorithm>

#include "isochron/base/joined.h"
#include "isochron/passes/fused_ops.h"

namespace isochron::profiler {
namespace {

// The ops of a fused body in order, each once, with how often it occurs; constants are no work.
std::string ops_inside(const Graph& body) {
  std::vector<std::pair<std::string, int>> ops;
  for (const GraphNode& node : body.nodes) {
    if (!node.op || std::string_view(node.op->name) == "constant") continue;
    const auto same = std::find_if(ops.begin(), ops.end(), [&](const auto& op) { return op.first == node.op->name; });
    if (same != ops.end())
      ++same->second;
    else
      ops.emplace_back(node.op->name, 1);
  }
  std::vector<std::string> words;
  for (const auto& [name, count] : ops) words.push_back(count > 1 ? fmt::format("{} x{}", name, count) : name);
  return fmt::format("fused({})", joined(words));
}

std::string product_name(const char* product, const GraphNode& node) {
  std::string name = product;
  const bool residual = node.attributes.get_or("residual", false), gate = node.attributes.get_or("gate", false);
  if (node.inputs.size() > size_t{2} + residual + gate) name += " + bias";
  if (residual) name += " + residual";
  if (gate) name += " + relu gradient";
  if (node.attributes.get_or("column_sums", false)) name += " + sums";
  const std::string activation = node.attributes.get_or<std::string>("activation", "none");
  return activation == "none" ? name : name + " + " + activation;
}

std::string name_of_node(const GraphNode& node) {
  if (node.op == &matmul_epilogue_op()) return product_name("matmul", node);
  if (node.op == &conv_epilogue_op()) return product_name("conv", node);
  if (!node.body) return node.attributes.find("product") ? fmt::format("matmul + {}", node.op->name) : node.op->name;
  const std::string body = ops_inside(*node.body);
  return node.op == &fused_reduce_op() ? body + " + " + node.attributes.get<std::string>("reduce") : body;
}

std::string text_of(std::span<const TensorSpec> specs) {
  constexpr size_t kMost = 8;  // an update of all parameters has hundreds
  std::vector<std::string> shapes;
  for (const TensorSpec& spec : specs.first(std::min(specs.size(), kMost)))
    shapes.push_back(fmt::format("[{}]", joined(spec.shape.dims())));
  if (specs.size() > kMost) shapes.push_back("...");
  return fmt::format("[{}]", joined(shapes));
}

}  // namespace

CallDescription describe_call(const Executable& plan, size_t call) {
  const Executable::CallInfo info = plan.call(call);
  CallDescription out{"copy", "[]", info.implementation, info.phase, 0, 0};
  if (!info.node) return out;
  const std::vector<TensorSpec> inputs = plan.graph().input_specs(*info.node);
  const Cost cost = cost_of(*info.node->op, inputs, info.node->outputs, info.node->attributes);
  out.name = name_of_node(*info.node);
  out.shapes = text_of(inputs);
  out.flops = cost.flops;
  out.bytes = cost.bytes;
  return out;
}

}  // namespace isochron::profiler
