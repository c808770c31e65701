#include "isochron/train/preflight.h"

#include <sys/statvfs.h>

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <mutex>
#include <set>
#include <string_view>

#include "isochron/base/log.h"
#include "isochron/base/memory_info.h"
#include "isochron/base/seconds_text.h"
#include "isochron/base/threads.h"
#include "isochron/exec/executable.h"
#include "isochron/exec/workspace.h"
#include "isochron/nn/model.h"
#include "isochron/tensor/deferred.h"

namespace isochron {
namespace {

constexpr double kTight = 0.9;
// Plans below this are not looked at: reading what the machine has left takes longer than compiling them.
constexpr int64_t kWorthAsking = int64_t{64} << 20;

struct Row {
  std::string name;
  const MemoryPart* part;
  std::string note;
};

std::string name_of_state(const MemoryNeed& need) {
  return need.optimizer_name.empty() ? "optimizer" : need.optimizer_name;
}

std::vector<Row> rows_of(const MemoryNeed& need) {
  const bool stored = need.gradients.at_once >= need.gradients.bytes;
  return {{"weights", &need.weights, count_text(need.parameters) + " parameters"},
          {"gradients", &need.gradients, stored ? "" : "the others are applied while they are computed"},
          {name_of_state(need) + " state", &need.optimizer, ""},
          {"activations", &need.activations,
           fmt::format("batch of {}{}", need.batch, need.recomputes ? ", some computed again in place of kept" : "")},
          {"data", &need.data, "tensors and batches made ahead"},
          {"caches", &need.caches, "of the input pipeline, when full"}};
}

// As a person would write a list: the unit once, if all have the same, and nothing that does not matter.
std::string parts_text(const std::vector<Row>& rows, int64_t all) {
  std::string text, unit;
  for (const Row& row : rows) {
    const int64_t bytes = std::max(row.part->bytes, row.part->at_once);
    if (bytes == 0 || bytes < all / 100) continue;
    const std::string amount = bytes_text(bytes);
    const size_t space = amount.find(' ');
    const bool same = amount.substr(space) == unit;
    unit = amount.substr(space);
    const std::string name = row.name.ends_with(" state") ? row.name.substr(0, row.name.size() - 6) : row.name;
    text += fmt::format("{}{} {}", text.empty() ? "" : ", ", name, same ? amount.substr(0, space) : amount);
  }
  return text;
}

// The largest number of `units` of the weight's last axis with which all fits; 0: none.
int64_t units_that_fit(const MemoryNeed& need, const WeightSize& weight, int64_t excess) {
  const int64_t units = weight.shape.rank() > 0 ? weight.shape[-1] : 0;
  if (units < 2 || need.weights.bytes == 0) return 0;
  // State and gradients of a weight are as large as their share of the weights.
  const double copies = static_cast<double>(need.weights.at_once + need.gradients.at_once + need.optimizer.at_once) /
                        static_cast<double>(need.weights.bytes);
  const double per_unit = static_cast<double>(weight.bytes) / static_cast<double>(units) * copies;
  const int64_t fewer = static_cast<int64_t>(static_cast<double>(excess) / per_unit) + 1;
  return std::max<int64_t>(0, units - fewer);
}

std::string_view policy() {
  const char* text = std::getenv("ISOCHRON_PREFLIGHT");
  return text ? text : "";
}

void say_once(const char* what, const std::string& text) {
  static std::mutex mutex;
  static std::set<std::string> said;
  std::lock_guard lock(mutex);
  if (said.insert(what).second) log_line(LogLevel::warning, what, text);
}

int64_t round_down(int64_t value) {
  int64_t unit = 1;
  while (value / unit >= 1000) unit *= 10;
  return value / unit * unit;
}

}  // namespace

int64_t MemoryNeed::at_once() const {
  int64_t sum = 0;
  for (const Row& row : rows_of(*this)) sum += row.part->at_once;
  return sum;
}

int64_t MemoryNeed::present() const {
  int64_t sum = 0;
  for (const Row& row : rows_of(*this)) sum += row.part->present;
  return sum;
}

MemoryRoom room_now(const MemoryNeed& need) {
  // What is there already counts as taken, as far as it was touched; and a run takes more than the table tells: code,
  // stacks, plans, the records of where time goes.
  constexpr int64_t kBeside = int64_t{16} << 20;
  const AvailableMemory available = available_memory();
  const int64_t bytes = available.bytes + std::min(need.present(), private_resident_bytes()) - kBeside;
  return {std::max<int64_t>(0, bytes), available.limited_by_group ? "the control group" : "the machine"};
}

MemoryNeed memory_need(const Model& model, const Optimizer* optimizer, Executable& plan,
                       std::span<const Tensor* const> data, int64_t batch, const InputMemory& input) {
  MemoryNeed need;
  need.batch = batch;
  const auto add = [](MemoryPart& part, const Tensor& tensor) {
    const Value& value = tensor.value();
    part.add(tensor.spec().bytes(),
             value.node->computed() && is_present(value.node->results[static_cast<size_t>(value.index)]));
  };
  for (const Variable& weight : model.weights()) {
    add(need.weights, weight);
    need.parameters += weight.elements();
    const size_t slash = weight.name().rfind('/');
    need.largest.push_back({weight.name().substr(0, slash), weight.shape(), weight.spec().bytes()});
  }
  std::stable_sort(need.largest.begin(), need.largest.end(),
                   [](const WeightSize& a, const WeightSize& b) { return a.bytes > b.bytes; });
  if (need.largest.size() > 8) need.largest.resize(8);
  int64_t stored = 0;
  if (optimizer) {
    for (const Variable& weight : model.trainable_variables()) need.gradients.bytes += weight.spec().bytes();
    need.optimizer_name = optimizer->name();
    for (const Variable& variable : optimizer->variables()) add(need.optimizer, variable);
    // Gradients that an update reads were stored for it; all of them are there when the first update begins.
    const Graph& graph = plan.graph();
    std::set<std::pair<int32_t, int32_t>> seen;
    for (const GraphNode& node : graph.nodes) {
      need.recomputes = need.recomputes || (node.op && std::string_view(node.op->name) == "recompute_input");
      if (!node.op || node.op->updates.empty()) continue;
      for (const ValueId in : node.inputs)
        if (graph[in].op && graph[in].phase == Phase::backward && seen.insert({in.node, in.output}).second)
          stored += graph.spec(in).bytes();
    }
  }
  const int64_t working = plan.working_bytes(get_num_threads());
  need.gradients.at_once = std::min({stored, need.gradients.bytes, working});
  const int64_t workspace_now = static_cast<int64_t>(workspace_bytes());
  need.gradients.present = std::min(need.gradients.at_once, workspace_now);
  const int64_t rest = working - need.gradients.at_once;
  need.activations = {rest, rest, std::min(rest, workspace_now - need.gradients.present)};
  for (const Tensor* tensor : data) add(need.data, *tensor);
  need.data.add(input.batches_ahead * need.data.bytes, false);
  need.caches.add(input.cached_bytes, false);
  return need;
}

std::string headline(const MemoryNeed& need, const MemoryRoom& room) {
  const std::vector<Row> rows = rows_of(need);
  int64_t all = 0;
  for (const Row& row : rows) all += std::max(row.part->bytes, row.part->at_once);
  return fmt::format("needs {} ({}); available {}", bytes_text(all), parts_text(rows, all), bytes_text(room.bytes));
}

std::string memory_table(const MemoryNeed& need, const MemoryRoom& room) {
  const bool apart = need.gradients.at_once < need.gradients.bytes;
  std::string text = fmt::format("  {:<18}{:>10}{}\n", "", "all", apart ? fmt::format("{:>10}", "at once") : "");
  const auto line = [&](std::string_view name, int64_t bytes, int64_t at_once, const std::string& note) {
    text += fmt::format("  {:<18}{:>10}", name, bytes_text(bytes));
    if (apart) text += fmt::format("{:>10}", bytes_text(at_once));
    if (!note.empty()) text += "   " + note;
    text += '\n';
  };
  int64_t all = 0;
  for (const Row& row : rows_of(need)) {
    if (row.part->bytes == 0 && row.part->at_once == 0) continue;
    line(row.name, row.part->bytes, row.part->at_once, row.note);
    all += row.part->bytes;
  }
  line("total", all, need.at_once(), "");
  text += fmt::format("  {:<18}{:>{}}   {}\n", "available", bytes_text(room.bytes), apart ? 20 : 10,
                      room.limit.empty() ? "" : "to this process, by " + room.limit);
  return text;
}

std::vector<std::string> advice(const MemoryNeed& need, const MemoryRoom& room) {
  const auto room_bytes = static_cast<int64_t>(static_cast<double>(room.bytes) * kTight);
  const int64_t excess = need.at_once() - room_bytes;
  std::vector<std::string> lines;
  if (need.at_once() <= room.bytes) return lines;
  const auto fits_without = [&](int64_t bytes) { return bytes >= excess; };
  const int64_t activations = need.activations.at_once;
  if (need.batch > 1 && activations > 0 && excess < activations) {
    const double share = static_cast<double>(activations - excess) / static_cast<double>(activations);
    const auto batch = static_cast<int64_t>(static_cast<double>(need.batch) * share);
    if (batch >= 1) lines.push_back(fmt::format("batch_size = {} in place of {}", batch, need.batch));
  }
  if (activations > 0 && !need.recomputes && fits_without(activations / 2))
    lines.push_back(
        fmt::format("Recompute(…) around blocks of layers: activations, {} now, are computed again in place of kept",
                    bytes_text(activations)));
  if (activations > 0 && fits_without(activations / 2))
    lines.push_back("layers in bfloat16, whose activations take half");
  if (need.optimizer.at_once > 0 && fits_without(need.optimizer.at_once))
    lines.push_back(
        fmt::format("an optimizer without state, such as SGD: {} less", bytes_text(need.optimizer.at_once)));
  for (const WeightSize& weight : need.largest) {
    const int64_t units = round_down(units_that_fit(need, weight, excess));
    if (units < 1) continue;
    lines.push_back(fmt::format("layer \"{}\" with {} units in place of {}", weight.layer, count_text(units),
                                count_text(weight.shape[-1])));
    break;
  }
  if (lines.empty()) {
    const double share = static_cast<double>(room_bytes) / static_cast<double>(need.at_once());
    lines.push_back(fmt::format("a model of about {:.2g} % of this size", share * 100));
  }
  return lines;
}

void check_memory(const char* what, const MemoryNeed& need, const MemoryRoom& room) {
  const int64_t wanted = need.at_once();
  if (wanted <= static_cast<int64_t>(static_cast<double>(room.bytes) * kTight)) return;
  if (wanted <= room.bytes) {
    say_once(what, fmt::format("a tight fit: {}", headline(need, room)));
    return;
  }
  const bool goes_on = policy() == "warn";
  std::string text =
      headline(need, room) + (goes_on ? "" : "; nothing of it was allocated") + "\n" + memory_table(need, room);
  text += "What would fit:";
  for (const std::string& line : advice(need, room)) text += "\n  - " + line;
  if (goes_on) {
    say_once(what, text);
    return;
  }
  if (!policy().empty()) text += fmt::format("\nISOCHRON_PREFLIGHT is \"{}\"; it can be warn or off", policy());
  throw MemoryError(what, text);
}

std::string disk_warning(const DiskNeed& need) {
  if (need.bytes <= 0) return "";
  std::error_code ignored;
  std::filesystem::path folder = std::filesystem::absolute(need.path, ignored);
  while (!folder.empty() && !std::filesystem::exists(folder, ignored) && folder.has_relative_path())
    folder = folder.parent_path();
  struct statvfs disk {};
  if (statvfs(folder.c_str(), &disk) != 0) return "";
  const auto free = static_cast<int64_t>(disk.f_bavail) * static_cast<int64_t>(disk.f_frsize);
  if (free >= need.bytes) return "";
  return fmt::format("{} will take {}, the disk has {} left", need.path, bytes_text(need.bytes), bytes_text(free));
}

void preflight(const char* what, const MemoryNeed& need) {
  if (policy() == "off" || need.at_once() - need.present() < kWorthAsking) return;
  check_memory(what, need, room_now(need));
}

}  // namespace isochron
