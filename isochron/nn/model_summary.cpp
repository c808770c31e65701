// The table of a model's layers.
#include <fmt/core.h>

#include "isochron/base/joined.h"
#include "isochron/base/seconds_text.h"
#include "isochron/nn/model.h"
#include "isochron/nn/model_graph.h"
#include "isochron/nn/partial_shapes.h"

namespace isochron {
namespace {

std::string size_text(int64_t bytes) {
  if (bytes < 1024) return fmt::format("{:.2f} B", static_cast<double>(bytes));
  if (bytes < 1024 * 1024) return fmt::format("{:.2f} KB", static_cast<double>(bytes) / 1024);
  if (bytes < int64_t{1024} * 1024 * 1024) return fmt::format("{:.2f} MB", static_cast<double>(bytes) / (1024 * 1024));
  return fmt::format("{:.2f} GB", static_cast<double>(bytes) / (1024.0 * 1024 * 1024));
}

using Row = std::vector<std::string>;

std::vector<Row> rows_of(const Model& model) {
  std::vector<Row> rows{{"Layer (type)", "Output Shape", "Param #"}};
  for (const std::shared_ptr<Layer>& layer : model.layers())
    rows.push_back({fmt::format("{} ({})", layer->name(), layer->class_name()),
                    layer->built() ? batch_shape_text(output_shape_of(*layer, layer->input_shape())) : "?",
                    layer->built() ? count_text(layer->count_params()) : "0 (unbuilt)"});
  return rows;
}

// A layer that is called twice has one row, with all that it is called on.
std::vector<Row> rows_of(const ModelGraph& graph) {
  std::vector<Row> rows{{"Layer (type)", "Output Shape", "Param #"}};
  const bool connections = !graph.is_chain();
  if (connections) rows[0].push_back("Connected to");
  for (const auto& layer : graph.layers()) {
    std::vector<std::string> shapes, sources;
    for (const ModelGraph::Call& call : graph.calls) {
      if (call.layer != layer) continue;
      if (shapes.empty())
        for (const TensorSpec& output : call.outputs) shapes.push_back(batch_shape_text(output.shape));
      for (const ModelGraph::Place& input : call.inputs) {
        const ModelGraph::Call& from = graph.calls[static_cast<size_t>(input.call)];
        sources.push_back(fmt::format("{}[{}][{}]", from.layer->name(), from.number, input.output));
      }
    }
    rows.push_back({fmt::format("{} ({})", layer->name(), layer->class_name()),
                    shapes.size() == 1 ? shapes[0] : fmt::format("[{}]", joined(shapes)),
                    count_text(layer->count_params())});
    if (connections) rows.back().push_back(sources.empty() ? "-" : joined(sources));
  }
  return rows;
}

}  // namespace

std::string Model::summary() const {
  const std::vector<Row> rows = graph() ? rows_of(*graph()) : rows_of(*this);
  const size_t columns = rows[0].size();
  std::vector<size_t> width(columns);
  for (const Row& row : rows)
    for (size_t i = 0; i < columns; ++i) width[i] = std::max(width[i], row[i].size());
  const auto rule = [&](const char* left, const char* fill, const char* middle, const char* right) {
    std::string line = left;
    for (size_t i = 0; i < columns; ++i) {
      for (size_t k = 0; k < width[i] + 2; ++k) line += fill;
      line += i + 1 < columns ? middle : right;
    }
    return line + "\n";
  };
  std::string text = fmt::format("Model: \"{}\"\n", name());
  text += rule("┏", "━", "┳", "┓");
  for (size_t r = 0; r < rows.size(); ++r) {
    const char* bar = r ? "│" : "┃";
    for (size_t i = 0; i < columns; ++i)
      text += i == 2 ? fmt::format("{} {:>{}} ", bar, rows[r][i], width[i])
                     : fmt::format("{} {:<{}} ", bar, rows[r][i], width[i]);
    text += fmt::format("{}\n", bar);
    if (r == 0)
      text += rule("┡", "━", "╇", "┩");
    else if (r + 1 < rows.size())
      text += rule("├", "─", "┼", "┤");
  }
  text += rule("└", "─", "┴", "┘");
  const auto line = [&](const char* label, const std::vector<Variable>& variables) {
    int64_t count = 0, bytes = 0;
    for (const Variable& v : variables) {
      count += v.elements();
      bytes += v.spec().bytes();
    }
    text += fmt::format(" {}: {} ({})\n", label, count_text(count), size_text(bytes));
  };
  line("Total params", weights());
  line("Trainable params", trainable_variables());
  line("Non-trainable params", non_trainable_variables());
  return text;
}

}  // namespace isochron
