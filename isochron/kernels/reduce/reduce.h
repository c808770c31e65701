// Reductions, alone or as the end of a tile program: mean(square(a - b)) is one pass.
//
//   TileProgram p = reduction_input(DType::float32, DType::float32, {32, 128, 1});   // x (32, 128) -> y (32)
//   const ReduceKernel kernel(p, ReduceOp::sum, 1, 2);
//   // on each of `threads` threads, with the same scratch of kernel.scratch_bytes(threads) bytes:
//   kernel.run(inputs, outputs, scratch, thread, threads);
//   if (kernel.needs_finish(threads)) {  /* all threads meet */  if (thread == 0) kernel.finish(outputs, scratch,
//   threads); }
//
// The last output register of the program is reduced over dimensions begin .. end-1 of its iteration space and stored,
// in its output's dtype, densely over the other dimensions. Other outputs are stored as TileKernel does, so a masked
// gradient and its column sums come from one pass. Over nothing, sum is 0, prod 1, mean NaN, max and min the extremes
// of the accumulator, any 0 and all 1.
//
// float32 and float64 are summed in vectors over short runs and the runs in double, so the error is that of a short
// sum whatever the length; integers wrap. NaN wins maximum and minimum. Results are the same bit for bit from run to
// run at one thread count. Nothing is allocated while running; scratch is aligned to 64 bytes.
#pragma once

#include <cstddef>
#include <cstdint>

#include "isochron/kernels/reduce/reduce_loops.h"
#include "isochron/kernels/share.h"
#include "isochron/kernels/tile/tile_kernel.h"

namespace isochron::kernels {

// any and all give 0 or 1; sum_squares is the sum of x * x.
enum class ReduceOp : uint8_t { sum, mean, sum_squares, prod, max, min, any, all };

// x (outer, count, inner) -> y (outer, inner)
struct ReduceShape {
  int64_t outer = 1, count = 1, inner = 1;
  int64_t size() const { return outer * count * inner; }
};

// A program that only loads a dense x of dtype `input`; its one output has dtype `output`. It is computed in
// float32 for 16-bit floats, in int64 for bool and uint8, else in the input's dtype. Reduce dimension 1.
TileProgram reduction_input(DType input, DType output, const ReduceShape& shape);

class ReduceKernel {
 public:
  ReduceKernel(const TileProgram& program, ReduceOp op, int begin, int end);

  size_t scratch_bytes(int threads) const;
  void run(const void* const* inputs, void* const* outputs, void* scratch, int thread, int threads) const;
  // Whether the threads leave partial results that finish() must put together.
  bool needs_finish(int threads) const;
  void finish(void* const* outputs, void* scratch, int threads) const;

  const ReduceShape& shape() const { return shape_; }

 private:
  // What the threads divide among themselves.
  enum class Split { nothing, outer, inner, count };
  struct Task;

  Split split(int threads) const;
  bool tiles_are_columns() const { return tile_.geometry().unit % shape_.inner != 0; }
  size_t tile_bytes(int threads) const;
  size_t column_bytes() const;
  char* partial_results(char* scratch, int thread, int threads) const;
  int64_t tile_length(int64_t first, int64_t end) const;
  void reduce_rows(Task& task, int64_t begin, int64_t end) const;
  void reduce_columns(Task& task, int64_t outer, Share counts, Share columns) const;
  void reduce_nothing(void* const* outputs) const;
  void store(Task& task, int64_t n, int64_t first) const;
  void write(void* accumulators, int64_t n, void* const* outputs, int64_t first) const;

  ReduceOp op_;
  ReduceShape shape_;
  TileKernel tile_;
  DType compute_, output_dtype_;
  size_t output_index_;
  const ReduceLoops* loops_;
  ConvertFunction convert_;
};

}  // namespace isochron::kernels
