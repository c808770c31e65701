#include "isochron/exec/plan_cache.h"

#include "isochron/exec/kernel_choices.h"

namespace isochron {
namespace {

constexpr size_t kKeptMisses = 64, kKeptGrowths = 16;

std::vector<double> constants_of(const Walk& walk) {
  std::vector<double> values;
  values.reserve(walk.constants.size());
  for (const Node* node : walk.constants) values.push_back(node->attributes.get<double>("value"));
  return values;
}

}  // namespace

PlanCache& PlanCache::global() {
  // Never destroyed: tensors in static storage may still be computed while the program ends.
  static PlanCache* cache = new PlanCache;
  return *cache;
}

CachedPlan& PlanCache::plan_for(const Walk& walk) {
  const Signature signature = signature_of(walk);
  const auto found = by_signature_.find(signature);
  if (found == by_signature_.end()) {
    CachedPlan entry;
    entry.signature = signature;
    entry.constants = constants_of(walk);
    entry.lifted.assign(entry.constants.size(), false);
    for (const Value& leaf : walk.leaves) entry.leaves.push_back(leaf.spec());
    compile(entry, walk, reason_for_miss(walk, signature));
    plans_.push_front(std::move(entry));
    by_signature_[signature] = plans_.begin();
    while (static_cast<int64_t>(plans_.size()) > capacity_) {
      by_signature_.erase(plans_.back().signature);
      plans_.pop_back();
      ++report_.evictions;
    }
    return plans_.front();
  }
  plans_.splice(plans_.begin(), plans_, found->second);
  CachedPlan& entry = plans_.front();
  std::string changed;
  for (size_t i = 0; i < walk.constants.size(); ++i) {
    if (entry.lifted[i]) continue;
    const double now = walk.constants[i]->attributes.get<double>("value");
    // Equal as bits, so that NaN equals itself and 0.0 is not -0.0.
    if (std::bit_cast<uint64_t>(now) == std::bit_cast<uint64_t>(entry.constants[i])) continue;
    if (changed.empty())
      changed = fmt::format("a number changed from {} to {}, and is an input of the plan now", entry.constants[i], now);
    entry.lifted[i] = true;
  }
  if (!changed.empty()) {
    compile(entry, walk, std::move(changed));
  } else {
    ++report_.hits;
  }
  return entry;
}

void PlanCache::compile(CachedPlan& entry, const Walk& walk, std::string reason) {
  Graph graph = graph_from(walk, entry.lifted);
  graph.updates = walk.updates;
  entry.plan = Executable::compile(std::move(graph));
  ++report_.misses;
  report_.compile_seconds += entry.plan->compile_seconds();
  if (report_.recent_misses.size() == kKeptMisses) report_.recent_misses.erase(report_.recent_misses.begin());
  report_.recent_misses.push_back({report_.hits + report_.misses, std::move(reason), entry.plan->compile_seconds()});
}

std::string PlanCache::reason_for_miss(const Walk& walk, const Signature& signature) const {
  if (plans_.empty()) return "the first graph";
  for (const CachedPlan& known : plans_) {
    if (known.signature.structure != signature.structure || known.leaves.size() != walk.leaves.size()) continue;
    for (size_t i = 0; i < known.leaves.size(); ++i)
      if (known.leaves[i] != walk.leaves[i].spec())
        return fmt::format("input {} changed from {} to {}", i, to_string(known.leaves[i]),
                           to_string(walk.leaves[i].spec()));
    return "the same ops with other attributes";
  }
  const Node* last = walk.nodes.empty() ? nullptr : walk.nodes.back();
  if (!last) return "a graph of inputs only";
  return fmt::format("new ops: {} nodes ending in {} ({}:{})", walk.nodes.size(), last->op->name,
                     last->where.file_name(), last->where.line());
}

CacheReport PlanCache::report() const {
  CacheReport report = report_;
  report.entries = static_cast<int64_t>(plans_.size());
  report.capacity = capacity_;
  report.kernel_choices = KernelChoices::global().report();
  return report;
}

void PlanCache::set_capacity(int64_t plans) {
  if (plans < 1) fail<ValueError>("set_cache_capacity", "needs room for at least one plan, got {}", plans);
  capacity_ = plans;
}

void PlanCache::clear() {
  by_signature_.clear();
  plans_.clear();
}

void PlanCache::note_growth(std::string text) {
  for (const std::string& known : report_.grown_graphs)
    if (known == text) return;
  if (report_.grown_graphs.size() < kKeptGrowths) report_.grown_graphs.push_back(std::move(text));
}

CacheReport cache_report() {
  std::lock_guard lock(graph_mutex());
  return PlanCache::global().report();
}

void set_cache_capacity(int64_t plans) {
  std::lock_guard lock(graph_mutex());
  PlanCache::global().set_capacity(plans);
}

void clear_cache() {
  std::lock_guard lock(graph_mutex());
  PlanCache::global().clear();
}

std::string to_string(const CacheReport& report) {
  std::string text =
      fmt::format("plans: {} kept of {}, {} hits, {} misses ({:.2f} ms compiling), {} evicted\n", report.entries,
                  report.capacity, report.hits, report.misses, report.compile_seconds * 1e3, report.evictions);
  for (const CacheReport::Miss& miss : report.recent_misses)
    text +=
        fmt::format("  evaluation {}: {} ({:.2f} ms)\n", miss.at_evaluation, miss.reason, miss.compile_seconds * 1e3);
  for (const std::string& growth : report.grown_graphs) text += fmt::format("  growing: {}\n", growth);
  if (!report.kernel_choices.empty()) text += fmt::format("kernel variants: {}\n", report.kernel_choices);
  return text;
}

}  // namespace isochron
