// Checkpoints on disk. One is a folder of two files:
//
//   run/ckpt-0005/state.safetensors     every tensor of the state
//   run/ckpt-0005/manifest.json         what it is, with size and checksum of the state and of itself
//
//   write_checkpoint("run/ckpt-0005", state.tensors(), {.epoch = 5});
//   Checkpoint newest = read_newest_checkpoint("run", &rejected);     // the newest one whose checksums are right
//
// A checkpoint is written under a temporary name (".ckpt-0005.….tmp"), synced, renamed, and its parent synced: under
// its own name there is a complete one or the one before it. Whatever a crash leaves behind is never taken for a
// checkpoint, and is removed by the next run (remove_leftovers). Errors are FileError naming the path.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "isochron/checkpoint/state_dict.h"
#include "isochron/checkpoint/state_image.h"

namespace isochron {

struct CheckpointInfo {
  std::string model = {};   // its name
  int epoch = 0;            // whole epochs done
  int64_t step = 0;         // steps done in the one under way
  int64_t total_steps = 0;  // since training began
  int threads = 0;          // of the team that trained
  std::vector<std::pair<std::string, double>> logs = {};
  // Filled in when it is written:
  std::string path = {};
  int64_t saved_at_ns = 0;  // save_clock_ns()
  int64_t bytes = 0;        // of the state
  uint32_t crc32c = 0;
};

// Unix time, but never back: later than all checkpoints in this folder, and all that this process has written or looked
// at, so that the newest one is the one that was written last, also where a clock was set back.
int64_t save_clock_ns(const std::string& folder);

struct Checkpoint {
  CheckpointInfo info;
  StateDict state;
};

// Replaces a checkpoint of that name, or what a crash left of one; anything else of that name is left alone and is an
// error.
CheckpointInfo write_checkpoint(const std::string& path, const StateImage& state, CheckpointInfo info);
CheckpointInfo write_checkpoint(const std::string& path, const NamedTensors& state, CheckpointInfo info = {});

// The manifest, checked against itself and the size of the state.
CheckpointInfo read_checkpoint_info(const std::string& path);
// Also reads every byte of the state and compares its checksum.
CheckpointInfo verify_checkpoint(const std::string& path);
// Verified; tensors share the mapped file.
Checkpoint read_checkpoint(const std::string& path);

struct ListedCheckpoint {
  std::string path;
  std::optional<CheckpointInfo> info;
  std::string problem;  // why there is no info
};
// The checkpoint `path`, or those in the folder `path`, newest first; with those that are damaged or incomplete. None
// where there is no such folder; FileError where it can't be read.
std::vector<ListedCheckpoint> list_checkpoints(const std::string& path);

// The newest valid one of list_checkpoints(path), or nothing. A path to a damaged checkpoint gives the newest valid one
// beside it. `rejected` gets a sentence for each newer one that was passed over.
std::optional<Checkpoint> read_newest_checkpoint(const std::string& path, std::vector<std::string>* rejected);

bool is_checkpoint(const std::string& path);  // has a manifest of ours, sound or not
// Removes a checkpoint, its own files only; a folder that holds more stays with the rest.
void remove_checkpoint(const std::string& path);
// Removes what processes that are gone left half-written in this folder; what they left complete gets its name.
void remove_leftovers(const std::string& folder);

}  // namespace isochron
