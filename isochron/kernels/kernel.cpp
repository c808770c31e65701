#include "isochron/kernels/kernel.h"

#include <deque>
#include <map>

#include "isochron/kernels/isa.h"
#include "isochron/kernels/widened.h"

namespace isochron {
namespace {

struct Registry {
  std::deque<KernelEntry> entries;
  std::map<std::string_view, std::vector<const KernelEntry*>> by_op;
  static Registry& global() {
    static Registry registry;
    return registry;
  }
};

}  // namespace

bool register_kernels(std::initializer_list<KernelEntry> entries) {
  Registry& registry = Registry::global();
  for (const KernelEntry& entry : entries) {
    registry.entries.push_back(entry);
    registry.by_op[entry.op].push_back(&registry.entries.back());
  }
  return true;
}

std::span<const KernelEntry* const> kernels_of(std::string_view op) {
  const auto& by_op = Registry::global().by_op;
  const auto found = by_op.find(op);
  if (found == by_op.end()) return {};
  return found->second;
}

ChosenKernel choose_kernel(const KernelRequest& request) {
  // Before the first kernel is made: implementations look at the instruction set when they are.
  [[maybe_unused]] static const bool limited = (kernels::limit_isa_from_environment(), true);
  ChosenKernel chosen{nullptr, "", {}};
  for (const KernelEntry* entry : kernels_of(request.node.op->name)) {
    std::string why_not;
    if (KernelPtr kernel = entry->make(request, why_not)) {
      chosen.kernel = std::move(kernel);
      chosen.name = entry->name;
      return chosen;
    }
    chosen.refusals += fmt::format("{}{}: {}", chosen.refusals.empty() ? "" : "; ", entry->name, why_not);
  }
  std::string why_not;
  if ((chosen.kernel = make_widened(request, why_not))) {
    chosen.name = "widened";
    return chosen;
  }
  throw InternalError("a kernel for every op", __FILE__, __LINE__,
                      fmt::format("{} ({})", request.node.op->name, chosen.refusals));
}

}  // namespace isochron
