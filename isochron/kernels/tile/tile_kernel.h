// A TileProgram made ready to run: loops chosen, registers allotted, every operand's way into the tile decided.
//
//   const TileKernel kernel(program);
//   // on each of `threads` threads, with the same scratch of kernel.scratch_bytes(threads) bytes:
//   kernel.run(inputs, outputs, scratch, thread, threads);
//
// Build it once per plan (it allocates and picks the instruction set); run() neither allocates nor synchronises, and
// each thread writes its own share of the outputs. An output may be the same buffer as a dense input of its element
// size. Scratch must be aligned to 64 bytes and is not shared between calls that overlap in time.
#pragma once

#include <array>
#include <cstddef>
#include <vector>

#include "isochron/kernels/tile/tile_geometry.h"
#include "isochron/kernels/tile/tile_ops.h"
#include "isochron/kernels/tile/tile_program.h"
#include "isochron/kernels/tile/tile_ssa.h"

namespace isochron::kernels {

class TileKernel {
 public:
  explicit TileKernel(const TileProgram& program);

  size_t scratch_bytes(int threads) const;
  void run(const void* const* inputs, void* const* outputs, void* scratch, int thread, int threads) const;

  // What run() is made of, for kernels that do something with each tile (reduce/). A frame is one thread's state of
  // one call: where each value of the tile at hand lies.
  static constexpr int kMaxSlots = 320;
  struct Frame {
    const void* const* inputs;
    void* const* outputs;
    std::array<char*, kMaxSlots> slots;
  };
  // `units` is the most a later evaluate() will ask for.
  void begin(Frame& frame, const void* const* inputs, void* const* outputs, void* scratch, int thread,
             int64_t units) const;
  // Computes and stores `units` units from `unit` on; they lie within one step of the dimensions outside the tile.
  void evaluate(Frame& frame, int64_t unit, int64_t units) const;
  const TileGeometry& geometry() const { return geometry_; }
  // The tile of the program's last output register, which is kept in a register rather than stored.
  const void* kept(const Frame& frame) const { return frame.slots[kept_slot_]; }
  // A kernel whose last output goes to kept() instead of memory; `apart` as in TileGeometry.
  static TileKernel keeping_last_output(const TileProgram& program, uint32_t apart);

 private:
  TileKernel(const TileProgram& program, uint32_t apart, bool keep_last);

  // An input or output read or written in place.
  struct Direct {
    int operand, slot;
  };
  // An input converted or spread into a register.
  struct Load {
    ConvertFunction convert;
    size_t source_size;
    int input, slot;
    TileRuns runs;
  };
  struct Step {
    TileFunction function;
    uint16_t dst, a, b, c;
    std::array<double, 2> imm;
  };
  struct Store {
    ConvertFunction convert;
    size_t element_size;
    int output, slot;
  };
  class Lowering;

  size_t scratch_bytes_per_thread() const;
  void load(const Load& load, Frame& frame, int64_t unit, int64_t units) const;
  static void execute(const std::vector<Step>& steps, const Frame& frame, int64_t elements);

  TileGeometry geometry_;
  int registers_ = 0;
  int first_register_ = 0;  // slots before it are direct
  int kept_slot_ = -1;
  size_t element_size_ = 0;
  std::vector<Direct> direct_inputs_, direct_outputs_;
  std::vector<Load> loads_once_, loads_;
  std::vector<Step> steps_once_, steps_;
  std::vector<Store> stores_;
};

}  // namespace isochron::kernels
