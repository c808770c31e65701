// A copy of the state of a run, taken between two steps, as the bytes of the file it will become.
//
//   Snapshot snapshot;
//   snapshot.reserve(bytes);              // in another thread, before it is needed: makes the memory present
//   snapshot.take(state.tensors(), true); // by all threads of the team, at the speed of memory; with a checksum
//   write_checkpoint(path, snapshot.image(), info);
//
// The memory is kept for the next one.
#pragma once

#include <vector>

#include "isochron/checkpoint/safetensors.h"
#include "isochron/checkpoint/state_image.h"

namespace isochron {

class Snapshot {
 public:
  Snapshot() = default;
  ~Snapshot();
  Snapshot(const Snapshot&) = delete;
  Snapshot& operator=(const Snapshot&) = delete;

  // Bytes take() needs for these tensors.
  static int64_t bytes_of(const NamedTensors& tensors);
  // False when there is not enough memory to be had.
  bool reserve(int64_t bytes);
  // Copies the tensors, whose values must be there, and looks over the bytes while they are at hand when the image is
  // to have a checksum. Without room enough for a copy it refers to them instead, and they must stay as they are until
  // they have been written.
  void take(const NamedTensors& tensors, bool with_checksum);

  bool copied() const { return copied_; }
  StateImage image() const;
  // Tensors of these names, sharing the bytes, under other names.
  NamedTensors views(const std::vector<std::pair<std::string, std::string>>& name_and_new_name) const;

 private:
  // What one thread copies at a time.
  struct Share {
    std::byte* to;
    const std::byte* from;
    size_t bytes;
    uint32_t crc32c;
  };

  std::byte* memory_ = nullptr;  // whole pages
  size_t room_ = 0;
  size_t used_ = 0;
  bool copied_ = false, checksums_ = false;
  std::string header_;
  NamedTensors tensors_;  // views of memory_, or the tensors themselves
  std::vector<Share> shares_;
};

}  // namespace isochron
