// Convolutions and their gradients on one thread, each way it can be computed: billions of operations a second that a
// direct sum would take, by processor time, best of several rounds.
//
//   conv_bench
#include <fmt/core.h>

#include <algorithm>
#include <ctime>
#include <functional>
#include <vector>

#include "isochron/kernels/conv/conv_gemm.h"
#include "isochron/kernels/conv/winograd.h"
#include "isochron/kernels/isa.h"

namespace {

using namespace isochron::kernels;

struct Row {
  int64_t batch, side, channels, filters, window, stride, pad;
};
const Row kRows[] = {
    {64, 28, 1, 32, 3, 1, 0},  {64, 26, 32, 64, 3, 1, 0},   {32, 32, 3, 16, 3, 1, 1},   {32, 32, 16, 16, 3, 1, 1},
    {32, 16, 32, 32, 3, 1, 1}, {32, 8, 64, 64, 3, 1, 1},    {32, 4, 128, 128, 3, 1, 1}, {32, 32, 16, 32, 3, 2, 1},
    {32, 32, 16, 32, 1, 2, 0}, {32, 14, 128, 128, 1, 1, 0}, {8, 56, 64, 64, 3, 1, 1},   {16, 32, 3, 64, 7, 2, 3},
};

double processor_seconds() {
  timespec now;
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
  return static_cast<double>(now.tv_sec) + 1e-9 * static_cast<double>(now.tv_nsec);
}

double best_seconds(const std::function<void()>& work) {
  double best = 1e9;
  for (int round = 0; round < 8; ++round) {
    const double start = processor_seconds();
    work();
    best = std::min(best, processor_seconds() - start);
  }
  return best;
}

void measure(const Row& row) {
  ConvShape s;
  s.batch = row.batch;
  s.in_channels = row.channels;
  s.out_channels = row.filters;
  s.in = {1, row.side, row.side};
  s.window = {1, row.window, row.window};
  s.stride = {1, row.stride, row.stride};
  s.pad = {0, row.pad, row.pad};
  const int64_t side = (row.side + 2 * row.pad - row.window) / row.stride + 1;
  s.out = {1, side, side};
  const auto floats = [](int64_t count) { return std::vector<float>(static_cast<size_t>(count), 0.5f); };
  std::vector<float> x = floats(s.batch * s.in_pixels() * s.in_channels), kernel = floats(s.depth() * s.out_channels),
                     y = floats(s.batch * s.out_pixels() * s.out_channels), dx = x, dkernel = kernel;
  const size_t most = std::max({conv_forward_scratch<float>(s), conv_input_grad_scratch<float>(s),
                                conv_kernel_grad_scratch<float>(s, 1), winograd_scratch_bytes(s)});
  std::vector<float> scratch = floats(static_cast<int64_t>(most / 4 + 16)),
                     shared = floats(static_cast<int64_t>(winograd_kernel_bytes(s) / 4 + kernel.size()));
  void* space = scratch.data() + (64 - reinterpret_cast<uintptr_t>(scratch.data()) % 64) / 4;
  float* common = shared.data();
  const double flops = 2.0 * static_cast<double>(y.size()) * static_cast<double>(s.depth());
  const auto rate = [&](const std::function<void()>& work) { return flops / best_seconds(work) / 1e9; };

  fmt::print("{:2}x{:2}x{:2}x{:3} -> {:3}, {}x{} stride {}", row.batch, row.side, row.side, row.channels, row.filters,
             row.window, row.window, row.stride);
  fmt::print("  gemm {:6.1f} {:6.1f} {:6.1f}",
             rate([&] { conv_forward<float>(s, x.data(), kernel.data(), {}, y.data(), space, 0, 1); }), rate([&] {
               turn_kernel(s, kernel.data(), common, 0, 1);
               conv_input_grad<float>(s, y.data(), common, dx.data(), space, 0, 1);
             }),
             rate([&] { conv_kernel_grad(s, x.data(), y.data(), dkernel.data(), space, 0, 1); }));
  if (!winograd_refusal(s))
    fmt::print("  winograd {:6.1f} {:6.1f} {:6.1f}", rate([&] {
                 winograd_carry_kernel(s, kernel.data(), common, 0, 1);
                 winograd_forward(s, x.data(), common, {}, y.data(), space, 0, 1);
               }),
               rate([&] {
                 winograd_carry_turned_kernel(s, kernel.data(), common, 0, 1);
                 winograd_input_grad(s, y.data(), common, dx.data(), space, 0, 1);
               }),
               rate([&] {
                 winograd_sum_tiles(s, x.data(), y.data(), common, space, 0, 1);
                 winograd_kernel_grad(s, common, dkernel.data(), 0, 1);
               }));
  fmt::print("\n");
}

}  // namespace

int main() {
  fmt::print("{}; forward, by input, by kernel, in GFLOP/s of the direct sum\n", current_isa());
  for (const Row& row : kRows) measure(row);
}
