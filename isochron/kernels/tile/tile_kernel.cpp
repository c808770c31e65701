#include "isochron/kernels/tile/tile_kernel.h"

#include <algorithm>

#include "isochron/kernels/share.h"

namespace isochron::kernels {
namespace {

// Fewer elements than this are not worth a second thread.
constexpr int64_t kTileShare = 1024;

void load_runs(ConvertFunction convert, const TileRuns& runs, int level, int64_t count, const char* src,
               size_t src_size, char*& dst, size_t dst_size) {
  const int64_t stride = runs.strides[level];
  if (level + 1 == runs.depth) {
    convert(src, stride, dst, count);
    dst += count * static_cast<int64_t>(dst_size);
    return;
  }
  for (int64_t i = 0; i < count; ++i)
    load_runs(convert, runs, level + 1, runs.counts[level + 1], src + i * stride * static_cast<int64_t>(src_size),
              src_size, dst, dst_size);
}

}  // namespace

size_t TileKernel::scratch_bytes(int threads) const {
  return static_cast<size_t>(threads) * scratch_bytes_per_thread();
}

size_t TileKernel::scratch_bytes_per_thread() const {
  const size_t tile = static_cast<size_t>(geometry_.units_per_tile * geometry_.unit) * element_size_;
  return static_cast<size_t>(registers_) * ((tile + 63) / 64 * 64);
}

void TileKernel::load(const Load& load, Frame& frame, int64_t unit, int64_t units) const {
  const char* src = static_cast<const char*>(frame.inputs[load.input]);
  src += geometry_.offset(load.input, unit) * static_cast<int64_t>(load.source_size);
  char* dst = frame.slots[load.slot];
  load_runs(load.convert, load.runs, 0, load.runs.counts[0] * units, src, load.source_size, dst, element_size_);
}

void TileKernel::execute(const std::vector<Step>& steps, const Frame& frame, int64_t elements) {
  for (const Step& s : steps)
    s.function(frame.slots[s.dst], frame.slots[s.a], frame.slots[s.b], frame.slots[s.c], elements, s.imm.data());
}

void TileKernel::begin(Frame& frame, const void* const* inputs, void* const* outputs, void* scratch, int thread,
                       int64_t units) const {
  frame.inputs = inputs;
  frame.outputs = outputs;
  const size_t stride = registers_ ? scratch_bytes_per_thread() / static_cast<size_t>(registers_) : 0;
  char* registers = static_cast<char*>(scratch) + static_cast<size_t>(thread) * scratch_bytes_per_thread();
  for (int r = 0; r < registers_; ++r) frame.slots[first_register_ + r] = registers + static_cast<size_t>(r) * stride;
  for (const Load& l : loads_once_) load(l, frame, 0, units);
  execute(steps_once_, frame, units * geometry_.unit);
}

void TileKernel::evaluate(Frame& frame, int64_t unit, int64_t units) const {
  for (const Direct& d : direct_inputs_)
    frame.slots[d.slot] = const_cast<char*>(static_cast<const char*>(frame.inputs[d.operand])) +
                          geometry_.offset(d.operand, unit) * static_cast<int64_t>(element_size_);
  const int64_t first = unit * geometry_.unit;
  for (const Direct& d : direct_outputs_)
    frame.slots[d.slot] = static_cast<char*>(frame.outputs[d.operand]) + first * static_cast<int64_t>(element_size_);
  for (const Load& l : loads_) load(l, frame, unit, units);
  execute(steps_, frame, units * geometry_.unit);
  for (const Store& s : stores_)
    s.convert(frame.slots[s.slot], 1,
              static_cast<char*>(frame.outputs[s.output]) + first * static_cast<int64_t>(s.element_size),
              units * geometry_.unit);
}

void TileKernel::run(const void* const* inputs, void* const* outputs, void* scratch, int thread, int threads) const {
  const int64_t grain = std::max<int64_t>(1, kTileShare / geometry_.unit);
  const Share mine = share_of(geometry_.total_units, grain, thread, threads);
  if (mine.empty()) return;
  Frame frame;
  begin(frame, inputs, outputs, scratch, thread, std::min(geometry_.units_per_tile, mine.end - mine.begin));
  const int64_t steps = geometry_.dims[geometry_.split];
  for (int64_t unit = mine.begin; unit < mine.end;) {
    const int64_t to_end = geometry_.split == 0 ? mine.end - unit : std::min(mine.end - unit, steps - unit % steps);
    const int64_t units = std::min(geometry_.units_per_tile, to_end);
    evaluate(frame, unit, units);
    unit += units;
  }
}

}  // namespace isochron::kernels
