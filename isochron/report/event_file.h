// TensorBoard's event files: scalars, histograms, images, texts, a graph and hyperparameters, as TensorBoard reads
// them.
//
//   EventFile events("logs/train");                 // logs/train/events.out.tfevents.1794803707.host.4711.0
//   events.scalar("epoch_loss", 0.27, 1);
//   events.flush();
//
// Entries are kept in memory until flush(), 1 MB of them, or the end; a flush is one write, so that a TensorBoard that
// follows the file sees whole entries. What can't be written (a full disk) is dropped, and said once on standard error:
// logging never ends a training. FileError only when folder or file can't be made.
#pragma once

#include <cstdint>
#include <map>
#include <span>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

namespace isochron {

using HyperParameter = std::variant<bool, double, std::string>;

struct EventGraphNode {
  std::string name, op;
  std::vector<std::string> inputs;  // names of other nodes
};

class EventFile {
 public:
  explicit EventFile(const std::string& folder);
  ~EventFile();
  EventFile(const EventFile&) = delete;
  EventFile& operator=(const EventFile&) = delete;

  void scalar(std::string_view tag, double value, int64_t step);
  // Thirty buckets of equal width; values that are not finite are left out.
  void histogram(std::string_view tag, std::span<const float> values, int64_t step);
  void image(std::string_view tag, std::string_view png, int64_t height, int64_t width, int channels, int64_t step);
  void text(std::string_view tag, std::string_view markdown, int64_t step);
  // A session of TensorBoard's HPARAMS page: the settings, and which scalars judge them.
  void hparams(const std::map<std::string, HyperParameter>& settings, const std::vector<std::string>& metrics);
  void end_hparams(bool success);
  void graph(const std::vector<EventGraphNode>& nodes);
  void flush();

  const std::string& path() const { return path_; }
  int64_t bytes_written() const { return bytes_; }

 private:
  void event(uint32_t field, std::string_view message, int64_t step);
  void summary(std::string_view value, int64_t step);

  std::string path_, pending_;
  int fd_ = -1;
  int64_t bytes_ = 0;
  bool complained_ = false;
};

}  // namespace isochron
