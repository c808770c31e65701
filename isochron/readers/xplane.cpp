#include "isochron/readers/xplane.h"

#include <unordered_map>
#include <vector>

#include "isochron/base/wire.h"
#include "isochron/readers/trace_collector.h"

namespace isochron {
namespace {

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
  return out;
}

// Names that only mark moments of thread pools; thousands of them, no time in any.
bool is_noise(std::string_view name) { return name.starts_with("ThreadpoolListener::"); }

}  // namespace

// Messages entered rather than buffered: XSpace, its planes (1), their lines (3).
struct XPlaneReader::State {
  enum class Level { space, plane, line };
  struct Open {
    Level level;
    uint64_t left;  // bytes of the message still to come; unlimited for the file itself
  };
  struct PendingEvent {
    int64_t metadata;
    uint32_t line;
    int64_t offset_ps, duration_ps;
    int64_t stat = 0, stat_value = 0;  // the first stat that is a number
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
      names.clear();
      stat_names.clear();
      events.clear();
    } else {
      line_name.clear();
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
    if (level == Level::plane && (field == 4 || field == 5)) read_name(bytes, field == 4 ? names : stat_names);
    if (level == Level::plane && field == 6) read_plane_stat(bytes);
    if (level == Level::line && field == 2) {
      line_name = bytes.substr(0, 200);
      if (line_name == "python") trace.prefer(line);
    }
    if (level == Level::line && field == 4) read_event(bytes);
  }

  static void read_name(std::string_view entry, std::unordered_map<int64_t, std::string>& to) {
    int64_t id = 0;
    std::string_view name;
    for (WireReader fields(entry); fields.next();) {
      if (fields.number() == 1) id = fields.signed_value();
      if (fields.number() != 2) continue;
      for (WireReader metadata(fields.bytes()); metadata.next();)
        if (metadata.number() == 2) name = metadata.bytes();
    }
    if (to.size() < 1000000) to.emplace(id, std::string(name.substr(0, 300)));
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
    if (trace.full() || events.size() > (size_t{12} << 20)) return;
    PendingEvent event{0, line, 0, 0};
    for (WireReader fields(bytes); fields.next();) {
      if (fields.number() == 1) event.metadata = fields.signed_value();
      if (fields.number() == 2) event.offset_ps = fields.signed_value();
      if (fields.number() == 3) event.duration_ps = fields.signed_value();
      if (fields.number() == 4 && event.stat == 0 && line_name == "python") {
        for (WireReader stat(fields.bytes()); stat.next();) {
          if (stat.number() == 1) event.stat = stat.signed_value();
          if (stat.number() == 3 || stat.number() == 4) event.stat_value = stat.signed_value();
        }
      }
    }
    // Unsigned, because absurd times may overflow; differences stay right.
    event.offset_ps =
        static_cast<int64_t>(static_cast<uint64_t>(event.offset_ps) + static_cast<uint64_t>(line_start_ns) * 1000);
    events.push_back(event);
  }

  // Names stand behind the events: now that the plane is complete they are known.
  void resolve() {
    for (const auto& [id, value] : plane_stats)
      if (const auto name = stat_names.find(id); name != stat_names.end() && name->second == "profile_start_time")
        start_ns = value;
    plane_stats.clear();
    if (has(plane, "/host:metadata")) return;
    std::unordered_map<int64_t, uint32_t> ids;
    for (const PendingEvent& event : events) {
      const auto name = names.find(event.metadata);
      if (name == names.end() || is_noise(name->second)) continue;
      const double start = static_cast<double>(event.offset_ps) * 1e-12,
                   seconds = static_cast<double>(event.duration_ps) * 1e-12;
      const auto stat = stat_names.find(event.stat);
      if (event.stat != 0 && stat != stat_names.end() && stat->second == "step_num") {
        trace.add_step(event.line, event.stat_value, start, seconds);
        continue;
      }
      auto id = ids.find(event.metadata);
      if (id == ids.end()) id = ids.emplace(event.metadata, trace.name_id(name->second)).first;
      trace.add(event.line, id->second, start, seconds);
    }
    events.clear();
    events.shrink_to_fit();
  }

  std::string source;
  TraceCollector trace{classify_tensorflow};
  std::string buffer;
  std::vector<Open> open;
  uint64_t skip = 0;
  bool damaged = false;
  std::string plane, line_name;
  int64_t line_start_ns = 0, start_ns = 0;
  uint32_t line = 0;
  int lines = 0;
  std::unordered_map<int64_t, std::string> names, stat_names;
  std::vector<std::pair<int64_t, int64_t>> plane_stats;
  std::vector<PendingEvent> events;
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
