#include "isochron/readers/xplane.h"

#include <unordered_map>
#include <vector>

#include "isochron/base/wire.h"
#include "isochron/readers/trace_collector.h"

namespace isochron {
namespace {

constexpr uint32_t kMostEventNames = 1000000;        // of a plane; events with others are left out
constexpr size_t kMostMarked = 1000000;              // events of a plane that may mark steps
constexpr size_t kLargestMessage = size_t{8} << 20;  // of one event or one name; larger ones are skipped

bool has(std::string_view text, std::string_view part) { return text.find(part) != std::string_view::npos; }

OpClass classify_tensorflow(std::string_view name) {
  OpClass out;
  if (name == "tf.function-graph_building" || has(name, "graph_building"))
    out.phase = Phase::trace;
  else if (name.starts_with("IteratorGetNextOp") || name.starts_with("IteratorGetNextAsOptionalOp") ||
           name == "Iterator::Root") {
    out.phase = Phase::input;
    out.waits = true;
  } else if (name.starts_with("Iterator::") || has(name, "PyFunc") || has(name, "ParallelMap") ||
             has(name, "Prefetch") || has(name, "Dataset"))
    out.phase = Phase::input;
  else if (has(name, "Grappler") || has(name, "OptimizeGraph") || has(name, "InstantiateFunction") ||
           has(name, "GraphOptimization") || has(name, "OptimizeFunction") || has(name, "XlaCompile") ||
           has(name, "CompileToLocalExecutable"))
    out.phase = Phase::compile;
  else if (name.starts_with("EagerLocalExecute: __inference_"))
    out.phase = Phase::forward;
  else if (has(name, "SaveV2") || has(name, "MergeV2Checkpoints"))
    out.phase = Phase::checkpoint;
  else if (has(name, "WriteScalarSummary") || has(name, "WriteSummary"))
    out.phase = Phase::log;
  else if (has(name, "CollectiveReduce") || has(name, "AllReduce"))
    out.phase = Phase::sync;
  else if (name.starts_with("Eager") || name.starts_with("TFE_Py_"))
    out.otherwise = Phase::forward;
  return out;
}

// Names that only mark moments of thread pools; thousands of them, no time in any.
bool is_noise(std::string_view name) { return name.starts_with("ThreadpoolListener::"); }

// Small consecutive numbers for the metadata ids of a plane, in the order of their first use. Profilers count ids from
// one, so a table answers for nearly all.
class Slots {
 public:
  void clear() {
    table_.clear();
    others_.clear();
    size_ = 0;
  }
  uint32_t size() const { return size_; }
  uint32_t of(int64_t id) {
    if (id < 0 || id >= kTable) {
      const auto [at, is_new] = others_.try_emplace(id, size_);
      if (is_new) ++size_;
      return at->second;
    }
    const auto index = static_cast<size_t>(id);
    if (index >= table_.size()) table_.resize(index + 1, kNone);
    if (table_[index] == kNone) table_[index] = size_++;
    return table_[index];
  }

 private:
  static constexpr int64_t kTable = 1 << 16;
  static constexpr uint32_t kNone = ~uint32_t{0};
  std::vector<uint32_t> table_;
  std::unordered_map<int64_t, uint32_t> others_;
  uint32_t size_ = 0;
};

}  // namespace

// Messages entered rather than buffered: XSpace, its planes (1), their lines (3).
struct XPlaneReader::State {
  enum class Level { space, plane, line };
  struct Open {
    Level level;
    uint64_t left;  // bytes of the message still to come; unlimited for the file itself
  };
  // An event that may be a step's mark: the names of its stats are not known yet.
  struct Marked {
    uint32_t line, slot;
    double start, seconds;
    int64_t stat, stat_value;
  };

  explicit State(std::string name) : source(std::move(name)) { open.push_back({Level::space, ~uint64_t{0}}); }

  void feed(std::string_view bytes) {
    if (damaged) return;
    buffer += bytes;
    size_t at = 0;
    while (step(at)) {
    }
    buffer.erase(0, at);
  }

  // Takes one field from the buffer; false if it is not all there.
  bool step(size_t& at) {
    if (damaged) return false;
    while (open.size() > 1 && open.back().left == 0) leave();
    if (skip > 0) {
      const size_t now = std::min<uint64_t>(skip, buffer.size() - at);
      at += now;
      skip -= now;
      take(now);
      return skip == 0 && now > 0;
    }
    size_t next = at;
    uint64_t key = 0, value = 0;
    if (!varint(next, key)) return false;
    const auto field = static_cast<uint32_t>(key >> 3);
    switch (key & 7) {
      case 0:
        if (!varint(next, value)) return false;
        number(field, value);
        break;
      case 1:
        if (buffer.size() - next < 8) return false;
        next += 8;
        break;
      case 5:
        if (buffer.size() - next < 4) return false;
        next += 4;
        break;
      case 2: {
        if (!varint(next, value)) return false;
        const Level level = open.back().level;
        const bool enters = (level == Level::space && field == 1) || (level == Level::plane && field == 3);
        if (value > open.back().left) return fail();
        if (enters) {
          if (!take(next - at) || !take(value)) return fail();
          at = next;
          enter(level == Level::space ? Level::plane : Level::line, value);
          return true;
        }
        if (value > kLargestMessage) {
          if (!take(next - at)) return fail();
          at = next;
          skip = value;
          return true;
        }
        if (buffer.size() - next < value) return false;
        message(level, field, std::string_view(buffer).substr(next, value));
        next += value;
        break;
      }
      default:
        return fail();
    }
    if (!take(next - at)) return fail();
    at = next;
    return true;
  }

  bool fail() {
    damaged = true;
    return false;
  }
  bool varint(size_t& at, uint64_t& out) {
    out = 0;
    for (int shift = 0; shift < 64; shift += 7) {
      if (at >= buffer.size()) return false;
      const auto byte = static_cast<unsigned char>(buffer[at++]);
      out |= static_cast<uint64_t>(byte & 0x7F) << shift;
      if (byte < 0x80) return true;
    }
    return fail();
  }
  // Bytes of the innermost open message were used.
  bool take(uint64_t bytes) {
    if (bytes > open.back().left) return false;
    if (open.size() > 1) open.back().left -= bytes;
    return true;
  }

  void enter(Level level, uint64_t length) {
    open.push_back({level, length});
    if (level == Level::plane) {
      plane.clear();
      slots.clear();
      names.clear();
      stat_names.clear();
      marked.clear();
      first_event = trace.size();
    } else {
      of_training = false;
      line_start_ns = 0;
      line = trace.thread_id(plane + "/" + std::to_string(++lines));
    }
  }
  void leave() {
    if (open.back().level == Level::plane) resolve();
    open.pop_back();
  }

  void number(uint32_t field, uint64_t value) {
    if (open.back().level == Level::line && field == 3) line_start_ns = static_cast<int64_t>(value);
  }

  void message(Level level, uint32_t field, std::string_view bytes) {
    if (level == Level::plane && field == 2) plane = bytes.substr(0, 200);
    if (level == Level::plane && field == 4) read_name(bytes);
    if (level == Level::plane && field == 5) read_stat_name(bytes);
    if (level == Level::plane && field == 6) read_plane_stat(bytes);
    if (level == Level::line && field == 2) {
      of_training = bytes == "python";
      if (of_training) trace.prefer(line);
    }
    if (level == Level::line && field == 4) read_event(bytes);
  }

  // An entry of a map from ids to metadata, whose second field is a name.
  static std::pair<int64_t, std::string_view> map_entry(std::string_view entry) {
    std::pair<int64_t, std::string_view> named{0, {}};
    for (WireReader fields(entry); fields.next();) {
      if (fields.number() == 1) named.first = fields.signed_value();
      if (fields.number() != 2) continue;
      for (WireReader metadata(fields.bytes()); metadata.next();)
        if (metadata.number() == 2) named.second = metadata.bytes();
    }
    return named;
  }
  void read_name(std::string_view entry) {
    if (slots.size() >= kMostEventNames) return;
    const auto [id, name] = map_entry(entry);
    const uint32_t slot = slots.of(id);
    if (slot >= names.size()) names.resize(slot + 1, TraceCollector::kNoName);
    if (!is_noise(name)) names[slot] = trace.name_id(name);
  }
  void read_stat_name(std::string_view entry) {
    const auto [id, name] = map_entry(entry);
    if (stat_names.size() < kMostEventNames) stat_names.emplace(id, std::string(name.substr(0, 300)));
  }

  void read_plane_stat(std::string_view bytes) {
    int64_t id = 0, value = 0;
    for (WireReader fields(bytes); fields.next();) {
      if (fields.number() == 1) id = fields.signed_value();
      if (fields.number() == 3 || fields.number() == 4) value = fields.signed_value();
    }
    plane_stats.emplace_back(id, value);
  }

  void read_event(std::string_view bytes) {
    if (trace.full()) return;
    int64_t metadata = 0, duration_ps = 0, stat = 0, stat_value = 0;  // the first stat that is a number
    uint64_t offset_ps = 0;  // unsigned, because absurd times may overflow; differences stay right
    for (WireReader fields(bytes); fields.next();) {
      if (fields.number() == 1) metadata = fields.signed_value();
      if (fields.number() == 2) offset_ps = fields.value();
      if (fields.number() == 3) duration_ps = fields.signed_value();
      if (fields.number() == 4 && stat == 0 && of_training) {
        for (WireReader one(fields.bytes()); one.next();) {
          if (one.number() == 1) stat = one.signed_value();
          if (one.number() == 3 || one.number() == 4) stat_value = one.signed_value();
        }
      }
    }
    if (slots.size() >= kMostEventNames) return;
    const auto since = static_cast<int64_t>(offset_ps + static_cast<uint64_t>(line_start_ns) * 1000);
    const double start = static_cast<double>(since) * 1e-12, seconds = static_cast<double>(duration_ps) * 1e-12;
    const uint32_t slot = slots.of(metadata);
    if (stat != 0 && marked.size() < kMostMarked)
      marked.push_back({line, slot, start, seconds, stat, stat_value});
    else
      trace.add(line, slot, start, seconds);
  }

  // Names stand behind the events: now that the plane is complete they are known.
  void resolve() {
    for (const auto& [id, value] : plane_stats)
      if (const auto name = stat_names.find(id); name != stat_names.end() && name->second == "profile_start_time")
        start_ns = value;
    plane_stats.clear();
    names.resize(slots.size(), TraceCollector::kNoName);
    if (has(plane, "/host:metadata")) {
      std::fill(names.begin(), names.end(), TraceCollector::kNoName);
      marked.clear();
    }
    for (const Marked& event : marked) {
      const auto stat = stat_names.find(event.stat);
      if (stat != stat_names.end() && stat->second == "step_num" && names[event.slot] != TraceCollector::kNoName)
        trace.add_step(event.line, event.stat_value, event.start, event.seconds);
      else
        trace.add(event.line, event.slot, event.start, event.seconds);
    }
    trace.set_names(first_event, names);
  }

  std::string source;
  TraceCollector trace{classify_tensorflow};
  std::string buffer;
  std::vector<Open> open;
  uint64_t skip = 0;
  bool damaged = false;
  std::string plane;
  bool of_training = false;  // the line is Python's, where steps are marked
  int64_t line_start_ns = 0, start_ns = 0;
  uint32_t line = 0;
  int lines = 0;
  Slots slots;
  std::vector<uint32_t> names;  // by slot: ids of the trace
  std::unordered_map<int64_t, std::string> stat_names;
  std::vector<std::pair<int64_t, int64_t>> plane_stats;
  std::vector<Marked> marked;
  size_t first_event = 0;  // of this plane, in the trace
};

XPlaneReader::XPlaneReader(std::string source) : state_(std::make_unique<State>(std::move(source))) {}
XPlaneReader::~XPlaneReader() = default;

void XPlaneReader::feed(std::string_view bytes) { state_->feed(bytes); }

std::optional<Profile> XPlaneReader::finish() {
  if (state_->open.size() > 1) state_->resolve();  // cut short within a plane
  return state_->trace.finish(state_->source, static_cast<double>(state_->start_ns) * 1e-9);
}

bool looks_like_xplane(std::string_view start) {
  // XSpace{1: XPlane{[1: id], 2: name "/host:CPU"}}
  if (start.size() < 8 || start[0] != '\x0A') return false;
  const std::string_view head = start.substr(0, 64);
  for (const std::string_view name : {"/host:", "/device:", "Task Environment", "/misc:"})
    if (const size_t at = head.find(name); at != std::string_view::npos && at < 32) return true;
  return false;
}

}  // namespace isochron
