// A copy of the state of a run, taken between two steps, as the bytes of the file it will become.
//
//   Snapshot snapshot;
//   snapshot.reserve(bytes);              // in another thread, before it is needed: makes the memory present
//   snapshot.take(state.tensors());       // by all threads of the team, at the speed of memory
//   write_checkpoint(path, snapshot.pieces(), info);
//
// The memory is kept for the next one.
#pragma once

#include <string_view>
#include <vector>

#include "isochron/checkpoint/safetensors.h"

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
  // Copies the tensors, whose values must be there. Without room enough for a copy it refers to them instead, and they
  // must stay as they are until they have been written.
  void take(const NamedTensors& tensors);

  bool copied() const { return copied_; }
  std::vector<std::string_view> pieces() const;
  // Tensors of these names, sharing the bytes, under other names.
  NamedTensors views(const std::vector<std::pair<std::string, std::string>>& name_and_new_name) const;

 private:
  std::byte* memory_ = nullptr;  // whole pages
  size_t room_ = 0;
  size_t used_ = 0;
  bool copied_ = false;
  std::string header_;
  NamedTensors tensors_;  // views of memory_, or the tensors themselves
};

}  // namespace isochron
