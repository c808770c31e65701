// What a new plan costs as a model grows: dense layers with relu, their gradients and a gradient step.
#include <fmt/format.h>

#include <cstdlib>
#include <ctime>

#include "isochron/exec/evaluate.h"
#include "isochron/graph/tape.h"
#include "isochron/graph/walk.h"
#include "isochron/ops/create.h"
#include "isochron/ops/elementwise.h"
#include "isochron/ops/matmul.h"
#include "isochron/ops/reduce.h"
#include "isochron/passes/passes.h"

namespace {

using namespace isochron;

// Processor time of this thread, which a busy machine does not lengthen.
double milliseconds() {
  timespec now{};
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
  return static_cast<double>(now.tv_sec) * 1e3 + static_cast<double>(now.tv_nsec) * 1e-6;
}

void measure(int layers, bool print_passes) {
  std::vector<Variable> weights;
  for (int i = 0; i < layers; ++i) {
    weights.emplace_back(full({16, 16}, 0.01));
    weights.emplace_back(zeros({16}));
  }
  const Tensor x = ones({8, 16});
  end_step();

  const double start = milliseconds();
  GradientTape tape;
  Tensor y = x;
  for (size_t i = 0; i < weights.size(); i += 2) y = relu(matmul(y, weights[i]) + weights[i + 1]);
  const Tensor loss = mean(square(y));
  const std::vector<Tensor> gradients = tape.gradient(loss, weights);
  std::vector<Value> roots{loss.value()};
  std::vector<Tensor> updated;
  for (size_t i = 0; i < weights.size(); ++i) updated.push_back(weights[i] - 0.01 * gradients[i]);
  for (const Tensor& value : updated) roots.push_back(value.value());
  const double built = milliseconds() - start;

  const double tracing = milliseconds();
  std::unique_lock lock(graph_mutex());
  const Walk walk = walk_from(roots);
  signature_of(walk);
  Graph graph = graph_from(walk);
  const double traced = milliseconds() - tracing;
  const size_t nodes = graph.nodes.size();
  Graph copy = graph;

  const double compiling = milliseconds();
  const auto plan = Executable::compile(std::move(graph));
  const double compiled = milliseconds() - compiling;
  lock.unlock();
  fmt::print("{:5} layers: {:6} nodes -> {:6}, build {:7.2f} ms, trace {:7.2f} ms, compile {:7.2f} ms\n", layers, nodes,
             plan->graph().nodes.size(), built, traced, compiled);
  if (!print_passes) return;
  for (const Pass& pass : all_passes()) {
    const double before = milliseconds();
    pass.run(copy);
    fmt::print("  {:24} {:7.2f} ms\n", pass.name, milliseconds() - before);
  }
}

}  // namespace

int main() {
  measure(10, false);
  for (int layers : {100, 300, 1000}) measure(layers, layers == 1000);
  return EXIT_SUCCESS;
}
