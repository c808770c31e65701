#include "isochron/passes/passes.h"

#include <algorithm>
#include <cstdlib>
#include <mutex>
#include <string>

#include "isochron/base/clock.h"
#include "isochron/base/names.h"
#include "isochron/passes/rewrites.h"

namespace isochron {
namespace {

class State {
 public:
  static State& global() {
    static State state;
    return state;
  }
  bool is_enabled(size_t pass) {
    std::lock_guard lock(mutex_);
    return enabled_[pass];
  }
  void set_enabled(size_t pass, bool on) {
    std::lock_guard lock(mutex_);
    enabled_[pass] = on;
  }
  void add_run(size_t pass, double seconds, int64_t nodes_removed) {
    std::lock_guard lock(mutex_);
    PassReport& report = reports_[pass];
    ++report.runs;
    report.seconds += seconds;
    report.nodes_removed += nodes_removed;
  }
  std::vector<PassReport> reports() {
    std::lock_guard lock(mutex_);
    return reports_;
  }
  static size_t index_of(std::string_view name) {
    const std::vector<Pass>& passes = all_passes();
    std::vector<std::string_view> known;
    for (size_t i = 0; i < passes.size(); ++i) {
      if (passes[i].name == name) return i;
      known.push_back(passes[i].name);
    }
    fail<ValueError>("passes", "unknown pass \"{}\"{}", name, did_you_mean(name, known));
  }

 private:
  State() : enabled_(all_passes().size(), true) {
    for (const Pass& pass : all_passes()) reports_.push_back({pass.name});
    const char* listed = std::getenv("ISOCHRON_DISABLE_PASSES");
    std::string_view names = listed ? listed : "";
    while (!names.empty()) {
      const size_t comma = std::min(names.find(','), names.size());
      const std::string_view name = names.substr(0, comma);
      if (!name.empty()) enabled_[index_of(name)] = false;
      names.remove_prefix(std::min(comma + 1, names.size()));
    }
  }

  std::mutex mutex_;
  std::vector<bool> enabled_;
  std::vector<PassReport> reports_;
};

}  // namespace

const std::vector<Pass>& all_passes() {
  static const std::vector<Pass> passes = {
      {"dead_code", "drops nodes no output needs", remove_dead_code},
      {"constant_folding", "computes what is known before anything runs", fold_constants},
      {"simplify", "x * 1, x + 0, double negation, powers, chains of casts", simplify_algebra},
      {"pooling", "masks and sums of pooling's gradients, where they are small", shrink_pooling_gradients},
      {"layout", "drops moves of elements that their reader can do without", choose_layout},
      {"cse", "computes equal values once", merge_common_subexpressions},
      {"assignments", "new values of variables written by whoever computes them", drop_assignments},
      {"watched_factors", "checks of gradients look at the least that tells", watch_factors},
      {"kept_probabilities", "attention to few keys keeps its probabilities for its gradient", keep_probabilities},
      {"column_sums", "a bias gradient with the product that reads the same rows", sum_columns_with_products},
      {"matmul_epilogue", "bias, residual and activation within a matrix product or convolution",
       fuse_matmul_epilogues},
      {"fuse_elementwise", "groups of elementwise ops in one pass over memory", fuse_elementwise},
      {"fuse_reductions", "reductions of what a fused group computes", fuse_reductions},
      {"fuse_updates", "updates of all parameters in one call", fuse_updates},
      {"gradient_into_update", "gradients that are products or a few rows, applied where they are known",
       move_gradients_into_updates},
  };
  return passes;
}

void set_pass_enabled(std::string_view name, bool enabled) {
  State::global().set_enabled(State::index_of(name), enabled);
}
bool pass_enabled(std::string_view name) { return State::global().is_enabled(State::index_of(name)); }

namespace {
bool verifies() {
#ifdef NDEBUG
  static const bool asked = std::getenv("ISOCHRON_VERIFY_GRAPHS") != nullptr;
  return asked;
#else
  return true;
#endif
}
}  // namespace

void run_passes(Graph& graph) {
  State& state = State::global();
  const std::vector<Pass>& passes = all_passes();
  for (size_t i = 0; i < passes.size(); ++i) {
    if (!state.is_enabled(i)) continue;
    const int64_t start = monotonic_ns();
    const auto before = static_cast<int64_t>(graph.nodes.size());
    passes[i].run(graph);
    state.add_run(i, seconds_between(start, monotonic_ns()), before - static_cast<int64_t>(graph.nodes.size()));
    if (verifies()) verify(graph);
  }
}

std::vector<PassReport> pass_reports() { return State::global().reports(); }

}  // namespace isochron
