#include "isochron/report/event_file.h"

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <cmath>
#include <cstdio>
#include <cstring>
#include <filesystem>
#include <limits>

#include <fmt/core.h>

#include "isochron/base/clock.h"
#include "isochron/base/error.h"
#include "isochron/base/kept_files.h"
#include "isochron/base/log.h"
#include "isochron/base/record_frame.h"
#include "isochron/base/wire_writer.h"

namespace isochron {
namespace {

constexpr size_t kPendingLimit = 1 << 20;
constexpr int kBuckets = 30;
// Fields of tensorflow.Event and tensorflow.Summary.Value.
constexpr uint32_t kFileVersion = 3, kGraphDef = 4, kSummary = 5;
constexpr uint32_t kTag = 1, kSimpleValue = 2, kImage = 4, kHistogram = 5, kTensor = 8, kMetadata = 9;

double wall_seconds() { return static_cast<double>(unix_ns()) * 1e-9; }

std::string event_path(const std::string& folder) {
  static std::atomic<int> count{0};
  char host[256] = "localhost";
  if (gethostname(host, sizeof host - 1) != 0) host[0] = '\0';
  return fmt::format("{}/events.out.tfevents.{:.0f}.{}.{}.{}", folder, std::floor(wall_seconds()), host, getpid(),
                     count++);
}

// Which page of TensorBoard a value belongs to.
std::string metadata(std::string_view plugin, std::string_view content = {}) {
  WireWriter data, out;
  data.bytes(1, plugin);
  if (!content.empty()) data.bytes(2, content);
  out.bytes(1, data.text());
  return out.text();
}

std::string hparams_value(std::string_view tag, uint32_t field, const std::string& message) {
  WireWriter plugin, value;
  plugin.integer(1, 0).bytes(field, message);
  value.bytes(kTag, tag).bytes(kMetadata, metadata("hparams", plugin.text()));
  return value.text();
}

}  // namespace

EventFile::EventFile(const std::string& folder) {
  std::error_code error;
  std::filesystem::create_directories(folder, error);
  if (error) fail<FileError>("EventFile", "{}: {}", folder, error.message());
  path_ = event_path(folder);
  fd_ = ::open(path_.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC | O_APPEND, 0644);
  if (fd_ < 0) fail<FileError>("EventFile", "{}: {}", path_, std::strerror(errno));
  note_kept_file(path_);
  event(kFileVersion, "brain.Event:2", 0);
  flush();
}

EventFile::~EventFile() {
  flush();
  ::close(fd_);
}

void EventFile::event(uint32_t field, std::string_view message, int64_t step) {
  WireWriter out;
  out.float64(1, wall_seconds()).integer(2, step).bytes(field, message);
  append_record(pending_, out.text());
  if (pending_.size() >= kPendingLimit) flush();
}

void EventFile::summary(std::string_view value, int64_t step) {
  WireWriter out;
  out.bytes(1, value);
  event(kSummary, out.text(), step);
}

void EventFile::flush() {
  size_t done = 0;
  while (done < pending_.size()) {
    const ssize_t n = ::write(fd_, pending_.data() + done, pending_.size() - done);
    if (n < 0 && errno == EINTR) continue;
    if (n <= 0) {
      if (!complained_)
        log_line(LogLevel::warning, "TensorBoard",
                 fmt::format("entries of {} are lost: {}", path_, std::strerror(errno)));
      complained_ = true;
      // Half an entry would make the rest unreadable.
      if (ftruncate(fd_, bytes_) != 0) complained_ = true;
      pending_.clear();
      return;
    }
    done += static_cast<size_t>(n);
  }
  bytes_ += static_cast<int64_t>(done);
  pending_.clear();
}

void EventFile::scalar(std::string_view tag, double value, int64_t step) {
  WireWriter out;
  out.bytes(kTag, tag).float32(kSimpleValue, static_cast<float>(value));
  summary(out.text(), step);
}

void EventFile::histogram(std::string_view tag, std::span<const float> values, int64_t step) {
  double low = std::numeric_limits<double>::infinity(), high = -low, sum = 0, squares = 0, count = 0;
  for (const double v : values) {
    if (!std::isfinite(v)) continue;
    low = std::min(low, v), high = std::max(high, v);
    sum += v, squares += v * v, ++count;
  }
  if (count == 0) return;
  double limits[kBuckets], buckets[kBuckets] = {};
  const double width = high > low ? (high - low) / kBuckets : 1;
  for (int i = 0; i < kBuckets; ++i) limits[i] = low + width * (i + 1);
  for (const double v : values)
    if (std::isfinite(v)) ++buckets[std::min(kBuckets - 1, static_cast<int>((v - low) / width))];
  WireWriter histo, out;
  histo.float64(1, low).float64(2, high).float64(3, count).float64(4, sum).float64(5, squares);
  histo.float64s(6, limits).float64s(7, buckets);
  out.bytes(kTag, tag).bytes(kHistogram, histo.text());
  summary(out.text(), step);
}

void EventFile::image(std::string_view tag, std::string_view png, int64_t height, int64_t width, int channels,
                      int64_t step) {
  WireWriter image, out;
  image.integer(1, height).integer(2, width).integer(3, channels).bytes(4, png);
  out.bytes(kTag, tag).bytes(kImage, image.text());
  summary(out.text(), step);
}

void EventFile::text(std::string_view tag, std::string_view markdown, int64_t step) {
  constexpr int kString = 7;
  WireWriter dim, shape, tensor, out;
  dim.integer(1, 1);
  shape.bytes(2, dim.text());
  tensor.integer(1, kString).bytes(2, shape.text()).bytes(8, markdown);
  out.bytes(kTag, tag).bytes(kMetadata, metadata("text")).bytes(kTensor, tensor.text());
  summary(out.text(), step);
}

void EventFile::hparams(const std::map<std::string, HyperParameter>& settings,
                        const std::vector<std::string>& metrics) {
  WireWriter experiment, session;
  for (const auto& [name, value] : settings) {
    WireWriter info, held, entry;
    constexpr int kTypes[] = {2, 3, 1};  // bool, float64, string
    info.bytes(1, name).integer(4, kTypes[value.index()]);
    experiment.bytes(4, info.text());
    if (const auto* flag = std::get_if<bool>(&value)) held.integer(4, *flag);
    if (const auto* number = std::get_if<double>(&value)) held.float64(2, *number);
    if (const auto* text = std::get_if<std::string>(&value)) held.bytes(3, *text);
    entry.bytes(1, name).bytes(2, held.text());
    session.bytes(1, entry.text());
  }
  for (const std::string& metric : metrics) {
    WireWriter name, info;
    name.bytes(2, metric);
    info.bytes(1, name.text());
    experiment.bytes(5, info.text());
  }
  session.float64(5, wall_seconds());
  summary(hparams_value("_hparams_/experiment", 2, experiment.text()), 0);
  summary(hparams_value("_hparams_/session_start_info", 3, session.text()), 0);
}

void EventFile::end_hparams(bool success) {
  WireWriter end;
  end.integer(1, success ? 1 : 2).float64(2, wall_seconds());
  summary(hparams_value("_hparams_/session_end_info", 4, end.text()), 0);
}

void EventFile::graph(const std::vector<EventGraphNode>& nodes) {
  WireWriter graph, versions;
  for (const EventGraphNode& node : nodes) {
    WireWriter out;
    out.bytes(1, node.name).bytes(2, node.op);
    for (const std::string& input : node.inputs) out.bytes(3, input);
    graph.bytes(1, out.text());
  }
  versions.integer(1, 22);
  graph.bytes(4, versions.text());
  event(kGraphDef, graph.text(), 0);
}

}  // namespace isochron
