#include "isochron/observe/source_lines.h"

#include <algorithm>
#include <cctype>
#include <fstream>

namespace isochron::observe {
namespace {

constexpr size_t kLongestText = 100;
constexpr size_t kMaxKnownLines = 4096;

struct Named {
  std::string_view word;
  Store store;
};
// Whole words of identifiers: np.frombuffer() is no buffer.
constexpr Named kNamed[] = {{"shuffle", Store::shuffle_buffer},
                            {"shuffled", Store::shuffle_buffer},
                            {"buffer", Store::shuffle_buffer},
                            {"buf", Store::shuffle_buffer},
                            {"reservoir", Store::shuffle_buffer},
                            {"cache", Store::cache},
                            {"cached", Store::cache},
                            {"caches", Store::cache},
                            {"memo", Store::cache},
                            {"preload", Store::cache},
                            {"preloaded", Store::cache}};

// The longest part of a call that is always written alike.
constexpr LineCall kCalls[] = {
    {Phase::checkpoint, "pickle.dump"},
    {Phase::checkpoint, "np.save"},
    {Phase::checkpoint, "save_file("},
    {Phase::log, "json.dump"},
    {Phase::log, ".writerow"},
    {Phase::log, "os.fsync"},
    {Phase::input, "pickle.load"},
    {Phase::input, "np.load"},
    {Phase::input, "imread("},
    {Phase::input, "imdecode("},
    {Phase::input, "json.loads"},
    {Phase::input, "zlib.decompress"},
    {Phase::input, "lzma.decompress"},
    {Phase::input, "bz2.decompress"},
    {Phase::input, "decompress("},
    {Phase::input, ".recv("},
    {Phase::input, ".iloc["},
    {Phase::input, "read_csv("},
    {Phase::input, ".split(\""},
    {Phase::input, ".split('"},
    {Phase::input, ".split()"},  // of texts, not tensors
    {Phase::input, "np.fromstring("},
    {Phase::input, "struct.unpack"},
    {Phase::input, ".readline("},
    {Phase::input, "torch.tensor("},
    {Phase::input, "from_numpy("},
    {Phase::input, "as_tensor("},
    {Phase::input, "Image.open("},
    {Phase::input, "cv2."},
    {Phase::input, ".loc["},
};

// Those up to a line, the last of which it is; empty where there is none.
std::vector<std::string> read_lines(const std::string& path, int line) {
  std::ifstream file(path);
  std::vector<std::string> lines(static_cast<size_t>(std::max(line, 0)));
  for (std::string& text : lines)
    if (!std::getline(file, text)) return {};
  return lines;
}

std::string last_of(const std::vector<std::string>& lines) {
  const size_t begin = lines.empty() ? std::string::npos : lines.back().find_first_not_of(" \t");
  return begin == std::string::npos ? "" : lines.back().substr(begin);
}

}  // namespace

Store store_named_in(std::string_view line) {
  Store found = Store::none;
  std::string word;
  for (const char c : std::string(line) + ' ') {
    if (std::isalpha(static_cast<unsigned char>(c))) {
      word += static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
      continue;
    }
    const auto named =
        std::find_if(std::begin(kNamed), std::end(kNamed), [&](const Named& n) { return n.word == word; });
    if (named != std::end(kNamed) && (found == Store::none || word == "shuffle")) found = named->store;
    word.clear();
  }
  return found;
}

std::string source_line(const std::string& path, int line) {
  return last_of(read_lines(path, line)).substr(0, kLongestText);
}

LineCall call_in(std::string_view line) {
  for (const LineCall& call : kCalls)
    if (line.find(call.what) != std::string_view::npos) return call;
  return {};
}

bool sets_weights(std::string_view line) {
  for (const std::string_view part : {".weight.copy_(", ".weight.data.copy_(", ".weight.data =", ".weight.data[",
                                      ".weight = nn.Parameter", ".weight = torch.nn.Parameter", ".set_weights("})
    if (line.find(part) != std::string_view::npos) return true;
  return false;
}

const SourceLines::Line& SourceLines::line_of(const PythonFrame& frame) {
  if (lines_.size() >= kMaxKnownLines) lines_.clear();
  const auto [known, added] = lines_.try_emplace({frame.code->file, frame.line});
  if (added) {
    const std::vector<std::string> lines = read_lines(frame.code->file, frame.line);
    const std::string text = last_of(lines);
    known->second = {.store = store_named_in(text),
                     .call = call_in(text),
                     .sets_weights = sets_weights(text),
                     .validates = line_validates(lines, lines.size()),
                     .split = split_variable(lines, lines.size()),
                     .gradients = gradient_switch(lines, lines.size()),
                     .counter = epoch_variable(lines, lines.size()),
                     .turn = loop_variable(lines, lines.size())};
    if (!lines.empty()) known->second.loop = observe::loop_around(lines, lines.size());
    if (known->second.store == Store::none) known->second.store = store_named_in(frame.code->function);
  }
  return known->second;
}

Store SourceLines::store_named(const std::vector<PythonFrame>& frames) {
  for (const PythonFrame& frame : frames)
    if (frame.code->user)
      if (const Store store = line_of(frame).store; store != Store::none) return store;
  return Store::none;
}

bool SourceLines::validates(const std::vector<PythonFrame>& frames, const ValueOf& value_of) {
  // From the program's outermost function on, down to where it calls a library: a dataset's own lines are called by
  // one.
  const auto user = [](const PythonFrame& frame) { return frame.code->user; };
  const auto outermost = std::find_if(frames.rbegin(), frames.rend(), user);
  const auto end = std::find_if_not(outermost, frames.rend(), user);
  return std::any_of(outermost, end, [&](const PythonFrame& frame) {
    const Line& line = line_of(frame);
    if (line.validates) return true;
    const auto split = line.split.empty() ? std::nullopt : value_of(frame, line.split);
    if (split && names_data(*split)) return true;
    const std::string& variable = line.gradients.variable;
    const auto flag = variable.empty() ? std::nullopt : value_of(frame, variable);
    return flag && switches_off(line.gradients, *flag);
  });
}

const std::string& SourceLines::epoch_counter(const PythonFrame& frame, bool each_turn) {
  const Line& line = line_of(frame);
  return line.counter.empty() && each_turn ? line.turn : line.counter;
}

std::optional<Loop> SourceLines::loop_around(std::span<const PythonFrame> frames) {
  Loop outer = Loop::none;
  for (const PythonFrame& frame : frames) {
    const auto loop = line_of(frame).loop;
    if (!loop && &frame == &frames.front()) return std::nullopt;
    if (loop) outer = std::max(outer, *loop);
  }
  return frames.empty() ? std::nullopt : std::optional(outer);
}

void SourceLines::refine(Activity& activity, const std::vector<PythonFrame>& frames) {
  if (activity.phase != Phase::other || frames.empty()) return;
  const auto takes = [&](const PythonFrame& frame) { return frame.code->user && line_of(frame).sets_weights; };
  if (const LineCall call = frames[0].code->user ? line_of(frames[0]).call : LineCall{}; call.phase != Phase::other) {
    activity.phase = call.phase;
    activity.what = call.what;
  } else if (std::any_of(frames.begin(), frames.end(), takes)) {
    activity.phase = Phase::init;
    activity.what = "setting weights";
  }
}

}  // namespace isochron::observe
