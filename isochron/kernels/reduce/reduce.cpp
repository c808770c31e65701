#include "isochron/kernels/reduce/reduce.h"

#include <algorithm>
#include <functional>
#include <numeric>

namespace isochron::kernels {
namespace {

constexpr size_t kAccumulatorBytes = 8;
constexpr int64_t kReduceShare = 4096;  // elements
constexpr int64_t kRowsPerFlush = 32;   // a partial that has collected so many rows goes into its accumulator

ReduceMethod method_of(ReduceOp op) {
  switch (op) {
    case ReduceOp::prod:
      return ReduceMethod::prod;
    case ReduceOp::max:
    case ReduceOp::any:
      return ReduceMethod::max;
    case ReduceOp::min:
    case ReduceOp::all:
      return ReduceMethod::min;
    default:
      return ReduceMethod::sum;
  }
}

// What has to happen to each element first becomes part of the program.
TileProgram with_preparation(TileProgram program, ReduceOp op) {
  const uint8_t reduced = program.output_registers.back();
  const uint8_t fresh = static_cast<uint8_t>(program.registers);
  ISO_CHECK(program.registers < 256);
  if (op == ReduceOp::sum_squares) {
    program.code.push_back({TileOp::square, fresh, reduced});
  } else if (op == ReduceOp::any || op == ReduceOp::all) {
    program.code.push_back({TileOp::constant, fresh, 0, 0, 0, 0.0});
    program.code.push_back({TileOp::not_equal, fresh, reduced, fresh});
  } else {
    return program;
  }
  program.registers += 1;
  program.output_registers.back() = fresh;
  return program;
}

int64_t product(const TileProgram& program, int begin, int end) {
  return std::accumulate(program.dims.begin() + begin, program.dims.begin() + end, int64_t{1}, std::multiplies<>());
}

size_t aligned(size_t bytes) { return (bytes + 63) / 64 * 64; }

// The least multiple of `step` that is not below `wanted`, at least one step.
int64_t multiple(int64_t step, int64_t wanted) { return std::max<int64_t>(1, (wanted + step - 1) / step) * step; }

}  // namespace

TileProgram reduction_input(DType input, DType output, const ReduceShape& shape) {
  TileProgram p;
  p.compute = input == DType::boolean || input == DType::uint8 ? DType::int64
              : size_of(input) == 2                            ? DType::float32
                                                               : input;
  p.rank = 3;
  p.dims = {shape.outer, shape.count, shape.inner};
  p.inputs = {{input, {shape.count * shape.inner, shape.inner, 1}}};
  p.outputs = {{output, {}}};
  p.registers = 1;
  p.output_registers = {0};
  return p;
}

// One thread's view of a call.
struct ReduceKernel::Task {
  TileKernel::Frame frame;
  char* accumulators;  // of the columns at hand
  char* partials;
  void* const* outputs;
  char* results;  // where accumulators go instead of the output, or null
};

ReduceKernel::ReduceKernel(const TileProgram& program, ReduceOp op, int begin, int end)
    : op_(op),
      shape_{product(program, 0, begin), product(program, begin, end), product(program, end, program.rank)},
      tile_(TileKernel::keeping_last_output(with_preparation(program, op), 1u << begin | 1u << end)),
      compute_(program.compute),
      output_dtype_(program.outputs.back().dtype),
      output_index_(program.outputs.size() - 1),
      loops_(reduce_loops(method_of(op), program.compute)),
      convert_(convert_function(is_floating(program.compute) ? DType::float64 : DType::int64, output_dtype_)) {
  ISO_CHECK(0 <= begin && begin < end && end <= program.rank);
}

ReduceKernel::Split ReduceKernel::split(int threads) const {
  if (threads == 1 || shape_.size() < 2 * kReduceShare) return Split::nothing;
  const TileGeometry& g = tile_.geometry();
  if (shape_.outer >= 2 * threads || g.unit > shape_.count * shape_.inner) return Split::outer;
  if (tiles_are_columns() && shape_.inner >= threads * g.units_per_tile * g.unit) return Split::inner;
  return Split::count;
}

bool ReduceKernel::needs_finish(int threads) const { return split(threads) == Split::count; }

// Scratch: the tile's, then per thread accumulators and partials of one tile's columns, then, for finish(), per thread
// one accumulator for every result.
size_t ReduceKernel::scratch_bytes(int threads) const {
  const size_t results = needs_finish(threads) ? static_cast<size_t>(shape_.outer * shape_.inner) : 0;
  return tile_bytes(threads) + static_cast<size_t>(threads) * (column_bytes() + aligned(results * kAccumulatorBytes));
}

size_t ReduceKernel::tile_bytes(int threads) const { return aligned(tile_.scratch_bytes(threads)); }

size_t ReduceKernel::column_bytes() const {
  const TileGeometry& g = tile_.geometry();
  const size_t columns = static_cast<size_t>(std::min(shape_.inner, g.units_per_tile * g.unit));
  return aligned(2 * columns * kAccumulatorBytes);
}

// Elements from `first` on that one tile may hold, at most up to `end`.
int64_t ReduceKernel::tile_length(int64_t first, int64_t end) const {
  const TileGeometry& g = tile_.geometry();
  int64_t length = std::min(g.units_per_tile * g.unit, end - first);
  if (g.split > 0) {
    const int64_t run = g.dims[g.split] * g.unit;
    length = std::min(length, run - first % run);
  }
  return length;
}

void ReduceKernel::store(Task& task, int64_t n, int64_t first) const {
  if (task.results) {
    std::copy_n(task.accumulators, static_cast<size_t>(n) * kAccumulatorBytes,
                task.results + static_cast<size_t>(first) * kAccumulatorBytes);
  } else {
    write(task.accumulators, n, task.outputs, first);
  }
}

void ReduceKernel::write(void* accumulators, int64_t n, void* const* outputs, int64_t first) const {
  if (op_ == ReduceOp::mean && is_floating(compute_)) {
    for (int64_t i = 0; i < n; ++i) static_cast<double*>(accumulators)[i] /= static_cast<double>(shape_.count);
  } else if (op_ == ReduceOp::mean) {
    for (int64_t i = 0; i < n; ++i) static_cast<int64_t*>(accumulators)[i] /= std::max<int64_t>(1, shape_.count);
  }
  convert_(accumulators, 1,
           static_cast<char*>(outputs[output_index_]) + static_cast<size_t>(first) * size_of(output_dtype_), n);
}

// Elements begin .. end of (outer, count, inner), where tiles hold whole rows of `inner`; a result is stored when its
// last element of this range has come.
void ReduceKernel::reduce_rows(Task& task, int64_t begin, int64_t end) const {
  const int64_t unit = tile_.geometry().unit, inner = shape_.inner, group = shape_.count * inner;
  const size_t element = size_of(compute_);
  int64_t collected = 0;  // rows in the partials
  loops_->clear(task.partials, task.accumulators, inner);
  for (int64_t first = begin; first < end;) {
    const int64_t length = tile_length(first, end);
    tile_.evaluate(task.frame, first / unit, length / unit);
    const char* x = static_cast<const char*>(tile_.kept(task.frame));
    for (int64_t at = first; at < first + length;) {
      const int64_t outer = at / group;
      const int64_t stop = std::min({first + length, (outer + 1) * group, end});
      const bool complete = stop == (outer + 1) * group || stop == end;
      const void* rows = x + static_cast<size_t>(at - first) * element;
      if (inner == 1) {
        loops_->run(rows, stop - at, task.accumulators);
      } else {
        loops_->rows(rows, (stop - at) / inner, inner, task.partials);
        collected += (stop - at) / inner;
        if (complete || collected >= kRowsPerFlush) {
          loops_->flush(task.partials, inner, task.accumulators);
          collected = 0;
        }
      }
      at = stop;
      if (!complete) continue;
      store(task, inner, outer * inner);
      loops_->clear(nullptr, task.accumulators, inner);
    }
    first += length;
  }
}

// Tiles are parts of one row of `inner`: each part is followed down through the rows.
void ReduceKernel::reduce_columns(Task& task, int64_t outer, Share counts, Share columns) const {
  const int64_t unit = tile_.geometry().unit, inner = shape_.inner;
  for (int64_t column = columns.begin; column < columns.end;) {
    const int64_t width = tile_length(column, columns.end);
    loops_->clear(task.partials, task.accumulators, width);
    for (int64_t row = counts.begin; row < counts.end; ++row) {
      tile_.evaluate(task.frame, ((outer * shape_.count + row) * inner + column) / unit, width / unit);
      loops_->rows(tile_.kept(task.frame), 1, width, task.partials);
      if ((row - counts.begin) % kRowsPerFlush == kRowsPerFlush - 1)
        loops_->flush(task.partials, width, task.accumulators);
    }
    loops_->flush(task.partials, width, task.accumulators);
    store(task, width, outer * inner + column);
    column += width;
  }
}

void ReduceKernel::run(const void* const* inputs, void* const* outputs, void* scratch, int thread, int threads) const {
  if (shape_.size() == 0) {
    if (thread == 0) reduce_nothing(outputs);
    return;
  }
  const Split split_over = split(threads);
  if (split_over == Split::nothing && thread != 0) return;
  const TileGeometry& g = tile_.geometry();
  Task task;
  char* own = static_cast<char*>(scratch) + tile_bytes(threads) + static_cast<size_t>(thread) * column_bytes();
  task.accumulators = own;
  task.partials = own + column_bytes() / 2;
  task.outputs = outputs;
  task.results = nullptr;

  const int64_t group = shape_.count * shape_.inner;
  Share outers{0, shape_.outer}, counts{0, shape_.count}, columns{0, shape_.inner};
  if (split_over == Split::outer) {
    outers =
        share_of(shape_.outer, multiple(std::max<int64_t>(1, g.unit / group), kReduceShare / group), thread, threads);
  } else if (split_over == Split::inner) {
    columns = share_of(shape_.inner, g.units_per_tile * g.unit, thread, threads);
  } else if (split_over == Split::count) {
    counts = share_of(shape_.count, multiple(std::max<int64_t>(1, g.unit / shape_.inner), kReduceShare / shape_.inner),
                      thread, threads);
    task.results = partial_results(static_cast<char*>(scratch), thread, threads);
    loops_->clear(nullptr, task.results, shape_.outer * shape_.inner);
  }
  if (outers.empty() || counts.empty() || columns.empty()) return;
  tile_.begin(task.frame, inputs, outputs, scratch, thread, g.units_per_tile);
  if (tiles_are_columns()) {
    for (int64_t o = outers.begin; o < outers.end; ++o) reduce_columns(task, o, counts, columns);
  } else if (split_over == Split::count) {
    for (int64_t o = 0; o < shape_.outer; ++o)
      reduce_rows(task, o * group + counts.begin * shape_.inner, o * group + counts.end * shape_.inner);
  } else {
    reduce_rows(task, outers.begin * group, outers.end * group);
  }
}

void ReduceKernel::reduce_nothing(void* const* outputs) const {
  for (int64_t i = 0; i < shape_.outer * shape_.inner; ++i) {
    alignas(8) char accumulator[kAccumulatorBytes];
    loops_->clear(nullptr, accumulator, 1);
    if (op_ == ReduceOp::any || op_ == ReduceOp::all) {
      const int64_t truth = op_ == ReduceOp::all;
      convert_function(DType::int64, is_floating(compute_) ? DType::float64 : DType::int64)(&truth, 1, accumulator, 1);
    }
    write(accumulator, 1, outputs, i);
  }
}

char* ReduceKernel::partial_results(char* scratch, int thread, int threads) const {
  const size_t bytes = aligned(static_cast<size_t>(shape_.outer * shape_.inner) * kAccumulatorBytes);
  return scratch + tile_bytes(threads) + static_cast<size_t>(threads) * column_bytes() +
         static_cast<size_t>(thread) * bytes;
}

void ReduceKernel::finish(void* const* outputs, void* scratch, int threads) const {
  if (!needs_finish(threads)) return;
  const int64_t results = shape_.outer * shape_.inner;
  char* total = partial_results(static_cast<char*>(scratch), 0, threads);
  for (int t = 1; t < threads; ++t)
    loops_->combine(partial_results(static_cast<char*>(scratch), t, threads), results, total);
  write(total, results, outputs, 0);
}

}  // namespace isochron::kernels
