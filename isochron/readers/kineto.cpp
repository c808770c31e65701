#include "isochron/readers/kineto.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <cstring>

#include "isochron/readers/trace_collector.h"

namespace isochron {
namespace {

constexpr size_t kLargestEvent = size_t{4} << 20;

bool has(std::string_view text, std::string_view part) { return text.find(part) != std::string_view::npos; }

struct Rule {
  std::string_view part;
  Phase phase;
};
// The first part found in an operation's name decides.
constexpr Rule kRules[] = {
    {"val_dataloader_next", Phase::validate},
    {"validation_step", Phase::validate},
    {"evaluation_loop", Phase::validate},
    {"enumerate(DataLoader)", Phase::input},
    {"dataloader_next", Phase::input},
    {"torch/utils/data/", Phase::input},
    {"torch/_dynamo", Phase::compile},
    {"torch/_inductor", Phase::compile},
    {"compile_inner", Phase::compile},
    {"compile_fx", Phase::compile},
    {"aot_dispatcher", Phase::compile},
    {"dynamo_timed", Phase::compile},
    {"<frozen importlib", Phase::start},
    {"save_checkpoint", Phase::checkpoint},
    {"torch/serialization.py", Phase::checkpoint},
    {"tensorboard", Phase::log},
    {"SummaryWriter", Phase::log},
    {"[Callback]", Phase::callback},
    {"gloo:", Phase::sync},
    {"nccl:", Phase::sync},
    {"c10d::", Phase::sync},
    {"Synchronize", Phase::sync},
    {"Optimizer.step#", Phase::update},
    {"Optimizer.zero_grad#", Phase::update},
    {"autograd::engine::evaluate_function", Phase::backward},
};

OpClass classify_torch(std::string_view name) {
  OpClass out;
  for (const Rule& rule : kRules)
    if (has(name, rule.part)) {
      out.phase = rule.phase;
      out.ends_step = rule.part == "Optimizer.step#";
      return out;
    }
  if (name.ends_with("Backward0") || name.ends_with("Backward1") || name.ends_with("Backward"))
    out.phase = Phase::backward;
  else if (name.starts_with("aten::"))
    out.otherwise = Phase::forward;
  return out;
}

// Cuts a JSON text into the objects of its event array. Strings and nesting are followed, nothing else is looked at.
class ObjectCutter {
 public:
  template <class Use>
  void feed(std::string_view bytes, const Use& use) {
    size_t start = inside_ ? 0 : std::string_view::npos;  // of the object under way within these bytes
    size_t i = 0;
    while (i < bytes.size()) {
      if (in_string_) {
        // Hop to the next quote; an odd number of backslashes before it keeps the string open.
        const void* quote = std::memchr(bytes.data() + i, '"', bytes.size() - i);
        const size_t end = quote ? static_cast<size_t>(static_cast<const char*>(quote) - bytes.data()) : bytes.size();
        size_t slashes = 0;
        while (end - slashes > i && bytes[end - slashes - 1] == '\\') ++slashes;
        if (end - slashes == i && carried_slash_) ++slashes;
        carried_slash_ = false;
        if (end == bytes.size()) {
          carried_slash_ = slashes % 2 == 1;
          break;
        }
        if (slashes % 2 == 0) in_string_ = false;
        i = end + 1;
        continue;
      }
      const char c = bytes[i];
      if (kPlain[static_cast<unsigned char>(c)]) {
        ++i;
        continue;
      }
      if (c == '"') {
        in_string_ = true;
      } else if (c == '{') {
        if (depth_ == object_depth_ && in_array_) {
          inside_ = true;
          start = i;
        }
        ++depth_;
      } else if (c == '[') {
        // The event array is the first one at depth 1 whose items are objects, or the whole file.
        ++depth_;
        if (!in_array_ && depth_ <= 2 && array_is_next(bytes, i)) {
          in_array_ = true;
          object_depth_ = depth_;
        }
      } else if (c == '}' || c == ']') {
        if (depth_ > 0) --depth_;
        if (inside_ && depth_ == object_depth_ && c == '}') {
          const std::string_view piece = bytes.substr(start, i + 1 - start);
          if (pending_.empty()) {
            use(piece);
          } else {
            if (pending_.size() + piece.size() <= kLargestEvent) {
              pending_ += piece;
              use(std::string_view(pending_));
            }
            pending_.clear();
          }
          inside_ = false;
          start = std::string_view::npos;
        }
        if (in_array_ && depth_ < object_depth_) in_array_ = false;
      }
      ++i;
    }
    if (!in_array_ && !inside_) remember(bytes);
    if (inside_) {
      const std::string_view piece = bytes.substr(start == std::string_view::npos ? 0 : start);
      if (pending_.size() + piece.size() <= kLargestEvent) pending_ += piece;
    }
  }

  // Text before the events: where the file says when its clock began.
  const std::string& head() const { return head_; }

 private:
  static constexpr std::array<bool, 256> kPlain = [] {
    std::array<bool, 256> plain{};
    plain.fill(true);
    for (const char c : {'"', '{', '}', '[', ']'}) plain[static_cast<unsigned char>(c)] = false;
    return plain;
  }();

  bool array_is_next(std::string_view bytes, size_t at) {
    if (depth_ == 1) return true;
    const std::string before = head_ + std::string(bytes.substr(at > 40 ? at - 40 : 0, at > 40 ? 40 : at));
    const size_t key = before.rfind("\"traceEvents\"");
    return key != std::string::npos && before.size() - key < 24;
  }
  void remember(std::string_view bytes) {
    if (head_.size() < 65536)
      head_ += bytes.substr(0, 65536 - head_.size());
    else
      head_ = head_.substr(32768) + std::string(bytes.substr(bytes.size() > 64 ? bytes.size() - 64 : 0));
  }

  int depth_ = 0, object_depth_ = 0;
  bool in_string_ = false, carried_slash_ = false, in_array_ = false, inside_ = false;
  std::string pending_, head_;
};

// Sum of the products of "Input Dims": [[32, 784], [10], []]
float input_elements(std::string_view dims) {
  double total = 0, product = 1;
  int depth = 0;
  bool any = false;
  for (size_t i = 0; i < dims.size(); ++i) {
    const char c = dims[i];
    if (c == '[') {
      ++depth;
      product = 1;
      any = false;
    } else if (c == ']') {
      if (any) total += product;
      any = false;
      if (--depth <= 0) break;
    } else if (c >= '0' && c <= '9') {
      double value = 0;
      const auto end = std::from_chars(dims.data() + i, dims.data() + dims.size(), value);
      i = static_cast<size_t>(end.ptr - dims.data()) - 1;
      product *= value;
      any = true;
    }
  }
  return static_cast<float>(total);
}

std::string_view input_dims(std::string_view args) {
  constexpr std::string_view kKey = "\"Input Dims\"";
  const void* found = memmem(args.data(), args.size(), kKey.data(), kKey.size());
  if (!found) return {};
  const auto at = static_cast<size_t>(static_cast<const char*>(found) - args.data()) + kKey.size();
  return args.substr(std::min(args.find('[', at), args.size()));
}

struct Fields {
  std::string_view ph, name, pid, tid, ts, dur, category, dims;
};

// Keys and values of one event object; of its arguments only the input sizes.
Fields read_fields(std::string_view object) {
  Fields out;
  size_t i = 1;
  const auto skip_string = [&] {  // at the opening quote; returns its content
    const size_t start = ++i;
    while (i < object.size()) {
      const void* quote = std::memchr(object.data() + i, '"', object.size() - i);
      if (!quote) {
        i = object.size();
        break;
      }
      i = static_cast<size_t>(static_cast<const char*>(quote) - object.data());
      size_t slashes = 0;
      while (i - slashes > start && object[i - slashes - 1] == '\\') ++slashes;
      if (slashes % 2 == 0) break;
      ++i;
    }
    const std::string_view content = object.substr(start, i - start);
    if (i < object.size()) ++i;
    return content;
  };
  while (i < object.size()) {
    while (i < object.size() && object[i] != '"' && object[i] != '}') ++i;
    if (i >= object.size() || object[i] == '}') break;
    const std::string_view key = skip_string();
    while (i < object.size() &&
           (object[i] == ' ' || object[i] == ':' || object[i] == '\n' || object[i] == '\t' || object[i] == '\r'))
      ++i;
    if (i >= object.size()) break;
    std::string_view value;
    if (object[i] == '"') {
      value = skip_string();
    } else if (object[i] == '{' || object[i] == '[') {
      if (key == "args" && !out.ph.empty() && !out.ts.empty() && !out.dur.empty() && !out.tid.empty() &&
          !out.name.empty()) {
        out.dims = input_dims(object.substr(i));  // all else is known: the rest need not be walked through
        break;
      }
      const size_t start = i;
      int depth = 0;
      do {
        const char c = object[i];
        if (c == '"') {
          skip_string();
          continue;
        }
        if (c == '{' || c == '[') ++depth;
        if (c == '}' || c == ']') --depth;
        ++i;
      } while (i < object.size() && depth > 0);
      value = object.substr(start, i - start);
      if (key == "args") out.dims = input_dims(value);
      continue;
    } else {
      const size_t start = i;
      while (i < object.size() && object[i] != ',' && object[i] != '}' && object[i] != ' ' && object[i] != '\n' &&
             object[i] != '\r')
        ++i;
      value = object.substr(start, i - start);
    }
    if (key == "ph")
      out.ph = value;
    else if (key == "name")
      out.name = value;
    else if (key == "pid")
      out.pid = value;
    else if (key == "tid")
      out.tid = value;
    else if (key == "ts")
      out.ts = value;
    else if (key == "dur")
      out.dur = value;
    else if (key == "cat")
      out.category = value;
  }
  return out;
}

std::optional<double> number(std::string_view text) {
  double value = 0;
  if (text.empty() || std::from_chars(text.data(), text.data() + text.size(), value).ec != std::errc())
    return std::nullopt;
  return value;
}

}  // namespace

struct KinetoReader::State {
  explicit State(std::string name) : source(std::move(name)) {}

  void read(std::string_view object) {
    const Fields fields = read_fields(object);
    if (fields.ph != "X" || fields.category == "Trace") return;
    const auto start = number(fields.ts), duration = number(fields.dur);
    if (!start || !duration) return;
    if (!(*start > -1e18 && *start < 1e18 && *duration < 1e15)) return;
    if (fields.category == "cpu_op" || fields.name.starts_with("aten::") || fields.name.starts_with("ProfilerStep"))
      torch = true;
    key.assign(fields.pid);
    key += '/';
    key += fields.tid;
    if (key != last_thread) {
      last_thread = key;
      last_thread_id = trace.thread_id(key);
    }
    const double begin = *start * 1e-6, seconds = *duration * 1e-6;
    if (fields.name.starts_with("ProfilerStep#")) {
      int64_t index = 0;
      std::from_chars(fields.name.data() + 13, fields.name.data() + fields.name.size(), index);
      if (fields.category != "gpu_user_annotation") trace.add_step(last_thread_id, index, begin, seconds);
      return;
    }
    trace.add(last_thread_id, trace.name_id(fields.name), begin, seconds,
              fields.dims.empty() ? -1.0f : input_elements(fields.dims));
  }

  std::string source;
  TraceCollector trace{classify_torch};
  ObjectCutter cutter;
  std::string key, last_thread;
  uint32_t last_thread_id = 0;
  bool torch = false;
};

KinetoReader::KinetoReader(std::string source) : state_(std::make_unique<State>(std::move(source))) {}
KinetoReader::~KinetoReader() = default;

void KinetoReader::feed(std::string_view bytes) {
  state_->cutter.feed(bytes, [this](std::string_view object) { state_->read(object); });
}

std::optional<Profile> KinetoReader::finish() {
  // {"baseTimeNanoseconds": 1790857026000000000, …}: what the clock of `ts` counts from. It may stand behind the
  // events.
  double origin = 0;
  const std::string& head = state_->cutter.head();
  if (const size_t at = head.find("\"baseTimeNanoseconds\""); at != std::string::npos) {
    const size_t digits = head.find_first_of("0123456789", at + 21);
    if (digits != std::string::npos) {
      double nanoseconds = 0;
      std::from_chars(head.data() + digits, head.data() + head.size(), nanoseconds);
      origin = nanoseconds * 1e-9;
    }
  }
  return state_->trace.finish(state_->source, origin);
}

bool KinetoReader::from_torch() const { return state_->torch; }

}  // namespace isochron
