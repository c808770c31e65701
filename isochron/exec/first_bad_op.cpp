#include "isochron/exec/first_bad_op.h"

#include <cmath>
#include <unordered_set>

#include "isochron/exec/executable.h"

namespace isochron {
namespace {

// What a value holds.
struct Numbers {
  int64_t nans = 0, infinities = 0;
  int64_t first = -1;  // element that is not finite
  double largest = 0;  // magnitude among the finite ones
  bool bad() const { return nans + infinities > 0; }
};

Numbers numbers_of(const TensorSpec& spec, const void* bytes) {
  Numbers found;
  if (!is_floating(spec.dtype)) return found;
  visit_dtype(spec.dtype, [&]<class T>(Type<T>) {
    const T* elements = static_cast<const T*>(bytes);
    for (int64_t i = 0; i < spec.shape.elements(); ++i) {
      const double x = std::abs(static_cast<double>(elements[i]));
      if (std::isfinite(x)) {
        found.largest = std::max(found.largest, x);
        continue;
      }
      if (!found.bad()) found.first = i;
      ++(std::isnan(x) ? found.nans : found.infinities);
    }
  });
  return found;
}

std::string place_of(int64_t element, const Shape& shape) {
  std::string text;
  for (int axis = shape.rank() - 1; axis >= 0; --axis) {
    text = fmt::format("{}{}{}", element % shape[axis], text.empty() ? "" : ", ", text);
    element /= shape[axis];
  }
  return "[" + text + "]";
}

std::string described(const Numbers& n, const TensorSpec& spec) {
  const char* what = n.nans == 0 ? "inf" : n.infinities == 0 ? "nan" : "nan or inf";
  const int64_t all = spec.shape.elements();
  if (all == 1) return what;
  return fmt::format("{} in {} of {} values, first at {}", what, n.nans + n.infinities, all,
                     place_of(n.first, spec.shape));
}

// Computes a graph one node at a time.
class OneByOne {
 public:
  OneByOne(const Graph& graph, std::span<void* const> inputs, const std::vector<std::string>& names)
      : graph_(graph), names_(names), values_(graph.nodes.size()), numbers_(graph.nodes.size()) {
    for (size_t i = 0; i < graph.inputs.size(); ++i) {
      const auto node = static_cast<size_t>(graph.inputs[i]);
      input_of_[graph.inputs[i]] = static_cast<int32_t>(i);
      given_[graph.inputs[i]] = inputs[i];
      numbers_[node] = {numbers_of(graph.nodes[node].outputs[0], inputs[i])};
    }
  }

  std::optional<BadOrigin> find() {
    const Op& check = op_named("check_finite");
    std::vector<uint8_t> needed(graph_.nodes.size(), 0);
    for (size_t i = graph_.nodes.size(); i-- > 0;) {
      const GraphNode& node = graph_.nodes[i];
      if (node.op != &check && !needed[i]) continue;
      for (ValueId in : node.inputs) needed[static_cast<size_t>(in.node)] = 1;
    }
    std::vector<size_t> last_reader(graph_.nodes.size(), 0);
    for (size_t i = 0; i < graph_.nodes.size(); ++i)
      if (needed[i])
        for (ValueId in : graph_.nodes[i].inputs) last_reader[static_cast<size_t>(in.node)] = i;
    for (size_t i = 0; i < graph_.nodes.size(); ++i) {
      const GraphNode& node = graph_.nodes[i];
      if (node.op == &check)
        for (ValueId in : node.inputs)
          if (numbers(in).bad()) return origin_of(in);
      if (!needed[i] || !node.op) continue;
      compute(i);
      for (ValueId in : node.inputs)
        if (last_reader[static_cast<size_t>(in.node)] == i) values_[static_cast<size_t>(in.node)].clear();
    }
    return std::nullopt;
  }

 private:
  const Numbers& numbers(ValueId v) const {
    return numbers_[static_cast<size_t>(v.node)][static_cast<size_t>(v.output)];
  }

  void compute(size_t at) {
    const GraphNode& node = graph_.nodes[at];
    Graph one;
    std::vector<void*> inputs, outputs;
    GraphNode copy = node;
    for (ValueId& in : copy.inputs) {
      const auto from = static_cast<size_t>(in.node);
      inputs.push_back(graph_.nodes[from].op ? values_[from][static_cast<size_t>(in.output)].data()
                                             : given_.at(in.node));
      in = one.add_input(graph_.spec(in));
    }
    const auto computed = static_cast<int32_t>(one.nodes.size());
    one.nodes.push_back(std::move(copy));
    for (size_t o = 0; o < node.outputs.size(); ++o) {
      one.outputs.push_back({computed, static_cast<int32_t>(o)});
      values_[at].push_back(Storage::allocate(static_cast<size_t>(node.outputs[o].bytes())));
      outputs.push_back(values_[at].back().data());
    }
    Executable::compile(std::move(one))->run(inputs, outputs, /*check_numbers=*/false);
    for (size_t o = 0; o < node.outputs.size(); ++o) numbers_[at].push_back(numbers_of(node.outputs[o], outputs[o]));
  }

  // The input to go back along: one that holds what the value holds.
  std::optional<ValueId> bad_input(ValueId v) const {
    std::optional<ValueId> infinite;
    for (ValueId in : graph_[v].inputs) {
      if (numbers(in).nans > 0) return in;
      if (numbers(in).infinities > 0) infinite = in;
    }
    return infinite;
  }

  BadOrigin origin_of(ValueId v) const {
    std::string made_nan;  // where infinities first met to a NaN
    for (;;) {
      const std::optional<ValueId> from = bad_input(v);
      if (!from) break;
      if (numbers(v).nans > 0 && numbers(*from).nans == 0)
        made_nan = fmt::format("{} makes nan of infinities; these come from: ", name_of_node(v));
      v = *from;
    }
    const GraphNode& node = graph_[v];
    const std::string holds = described(numbers(v), graph_.spec(v));
    if (!node.op) return {input_of_.at(v.node), holds};
    std::string text = fmt::format("{}{} gives {}", made_nan, name_of_node(v), holds);
    double largest = 0;
    for (ValueId in : node.inputs) largest = std::max(largest, numbers(in).largest);
    if (!node.inputs.empty()) text += fmt::format("; its inputs are finite, at most {:.4g} in magnitude", largest);
    return {-1, std::move(text)};
  }

  // `exp in layer "dense_1" (model.cpp:12)`.
  std::string name_of_node(ValueId v) const {
    const GraphNode& node = graph_[v];
    const auto at = static_cast<size_t>(v.node);
    std::string text(node.op->name);
    if (at < names_.size() && !names_[at].empty()) text += fmt::format(" in layer \"{}\"", names_[at]);
    return text + fmt::format(" ({}:{})", node.where.file_name(), node.where.line());
  }

  const Graph& graph_;
  const std::vector<std::string>& names_;
  std::vector<std::vector<Storage>> values_;
  std::vector<std::vector<Numbers>> numbers_;
  std::unordered_map<int32_t, int32_t> input_of_;
  std::unordered_map<int32_t, void*> given_;
};

NodeLabels*& current_labels() {
  thread_local NodeLabels* labels = nullptr;
  return labels;
}

}  // namespace

std::optional<BadOrigin> find_bad_origin(const Graph& graph, std::span<void* const> inputs,
                                         const std::vector<std::string>& names) {
  return OneByOne(graph, inputs, names).find();
}

std::string bad_numbers(const TensorSpec& spec, const void* bytes) {
  const Numbers found = numbers_of(spec, bytes);
  return found.bad() ? described(found, spec) : "";
}

NodeLabels::NodeLabels() : outer_(std::exchange(current_labels(), this)) {}
NodeLabels::~NodeLabels() { current_labels() = outer_; }
NodeLabels* NodeLabels::current() { return current_labels(); }

void NodeLabels::add(std::span<const Tensor> outputs, std::span<const Tensor> inputs, const std::string& label) {
  std::vector<const Node*> open;
  std::unordered_set<const Node*> seen;
  for (const Tensor& output : outputs) open.push_back(output.value().node.get());
  for (const Tensor& input : inputs) seen.insert(input.value().node.get());
  while (!open.empty()) {
    const Node* node = open.back();
    open.pop_back();
    if (!node->op || !seen.insert(node).second) continue;
    labels_.emplace(node, label);
    for (const Value& in : node->inputs) open.push_back(in.node.get());
  }
}

const std::string& NodeLabels::of(const Node* node) const {
  static const std::string none;
  const auto found = labels_.find(node);
  return found == labels_.end() ? none : found->second;
}

}  // namespace isochron
