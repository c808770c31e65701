// Whether training fits into memory and onto the disk, worked out before any of it is allocated.
//
//   MemoryNeed need = memory_need(model, &optimizer, plan, data, batch);
//   check_memory("fit", need, room_now(need));
//   // MemoryError: [fit] needs 160 GB (weights 40 GB, gradients 40, Adam 80); available 23 GB; … and a table
//
// fit(), train_on_batch() and their kin check every plan when it is compiled, before it first runs; model.estimate()
// shows the same table without refusing. Large weights and optimizer state are not allocated before that
// (tensor/deferred.h). ISOCHRON_PREFLIGHT=warn says what it would refuse and goes on, =off does not look.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "isochron/tensor/node.h"

namespace isochron {

class Executable;
class Model;
class Optimizer;
class Tensor;

// Bytes of one kind: all there are, those held at one time, and those of them that lie in memory already.
struct MemoryPart {
  int64_t bytes = 0;
  int64_t at_once = 0;
  int64_t present = 0;
  void add(int64_t size, bool is_present) {
    bytes += size;
    at_once += size;
    if (is_present) present += size;
  }
};

// A weight, as far as advice needs it: the last axis of its shape are the units of its layer.
struct WeightSize {
  std::string layer;
  Shape shape;
  int64_t bytes = 0;
};

struct MemoryNeed {
  int64_t parameters = 0;
  int64_t batch = 0;  // rows of a step
  std::string optimizer_name;
  MemoryPart weights;
  MemoryPart gradients;  // at_once: those that the plan stores; an update may take a gradient while it is computed
  MemoryPart optimizer;
  MemoryPart activations;           // and other working memory of the step
  MemoryPart data;                  // tensors to train on, batches made ahead
  MemoryPart caches;                // of the input pipeline
  std::vector<WeightSize> largest;  // the largest first
  bool recomputes = false;          // some activations are computed again in place of kept

  int64_t at_once() const;
  int64_t present() const;
};

struct MemoryRoom {
  int64_t bytes = 0;  // for all of a need, with what it holds already
  std::string limit;  // who sets it: "the machine", "the control group"
};

// What of `need` is not present yet has to go into what this process may still take.
MemoryRoom room_now(const MemoryNeed& need);

// What the input pipeline will hold beside the batch at hand.
struct InputMemory {
  int64_t batches_ahead = 0;
  int64_t cached_bytes = 0;
};

// What a step by this plan needs. `data`: the tensors its batches come from.
MemoryNeed memory_need(const Model& model, const Optimizer* optimizer, Executable& plan,
                       std::span<const Tensor* const> data, int64_t batch, const InputMemory& input = {});

// "needs 160 GB (weights 40 GB, gradients 40, Adam 80); available 23 GB".
std::string headline(const MemoryNeed& need, const MemoryRoom& room);
// A row for each kind that is not empty, the total and what there is, aligned.
std::string memory_table(const MemoryNeed& need, const MemoryRoom& room);
// What would fit, one line each; empty when it does.
std::vector<std::string> advice(const MemoryNeed& need, const MemoryRoom& room);

// MemoryError with all of the above when it does not fit; a warning in the log, once for each `what`, when it
// does but leaves less than a tenth of the room.
void check_memory(const char* what, const MemoryNeed& need, const MemoryRoom& room);

// Both, unless the need is too small to ask or ISOCHRON_PREFLIGHT says otherwise.
void preflight(const char* what, const MemoryNeed& need);

// A file or folder that training will write to.
struct DiskNeed {
  std::string path;
  int64_t bytes = 0;  // at one time
};
// A sentence when the disk of `path` has less than that; empty when there is room, or nothing is known.
std::string disk_warning(const DiskNeed& need);

}  // namespace isochron
