// Matrix products as a share of the machine's peak, measured in the same run.
//
//   gemm_bench [filter]        prints, per shape, the best of several rounds on 1 and on 2 threads
#include <fmt/core.h>

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <string>
#include <vector>

#include "isochron/base/clock.h"
#include "isochron/base/threads.h"
#include "isochron/kernels/gemm/gemm.h"
#include "isochron/kernels/isa.h"

namespace kernels = isochron::kernels;
using isochron::DType;
using isochron::monotonic_ns;
using isochron::ThreadTeam;
using kernels::GemmArgs;
using kernels::GemmShape;

namespace {

struct Row {
  const char* name;
  int64_t m, n, k;
  const char* layout;  // NN, TN, NT
  int64_t batch = 1;
  bool tiles = false;
  DType dtype = DType::float32;
};

const Row kRows[] = {
    {"forward", 32, 128, 784, "NN"},
    {"dW", 784, 128, 32, "TN"},
    {"dW tiles", 784, 128, 32, "TN", 1, true},
    {"dX", 32, 784, 128, "NT"},
    {"forward NT", 32, 128, 784, "NT"},
    {"head", 32, 10, 128, "NN"},
    {"head dW", 128, 10, 32, "TN"},
    {"head dX", 32, 128, 10, "NT"},
    {"gemv", 1, 128, 784, "NN"},
    {"outer", 784, 128, 1, "TN"},
    {"outer tiles", 784, 128, 1, "TN", 1, true},
    {"gemv NT", 1, 784, 128, "NT"},
    {"", 128, 512, 512, "NN"},
    {"", 128, 512, 512, "NT"},
    {"", 128, 512, 512, "TN"},
    {"", 256, 1024, 1024, "NN"},
    {"", 256, 1024, 1024, "NT"},
    {"", 256, 1024, 1024, "TN"},
    {"", 1024, 1024, 1024, "NN"},
    {"", 1024, 1024, 1024, "NT"},
    {"", 1024, 1024, 1024, "TN"},
    {"ffn", 1024, 512, 128, "NN"},
    {"ffn dW", 128, 512, 1024, "TN"},
    {"ffn dX", 1024, 128, 512, "NT"},
    {"heads", 64, 64, 32, "NN", 64},
    {"heads", 64, 64, 32, "NT", 64},
    {"heads", 64, 64, 32, "TN", 64},
    {"odd", 33, 100, 300, "NN"},
    {"odd", 37, 129, 785, "NN"},
    {"float64", 32, 128, 784, "NN", 1, false, DType::float64},
    {"float64", 256, 512, 512, "NN", 1, false, DType::float64},
};

// A buffer of small numbers, 64-byte aligned.
struct Buffer {
  explicit Buffer(size_t bytes) : data(std::aligned_alloc(64, (bytes + 127) / 64 * 64)) {
    for (size_t i = 0; i < bytes / 4; ++i) static_cast<float*>(data)[i] = static_cast<float>(i % 13) * 0.125f - 0.5f;
  }
  ~Buffer() { std::free(data); }
  Buffer(const Buffer&) = delete;
  void* data;
};

// Seconds of one call, the best of several rounds on all `threads` threads.
template <class F>
double best_seconds(int threads, double expected_seconds, F&& call) {
  const int repeats = std::max(1, static_cast<int>(2e-3 / expected_seconds));
  double best = 1e9;
  ThreadTeam& team = ThreadTeam::global();
  for (int round = 0; round < 15; ++round) {
    team.parallel(threads, [&](int thread, int of) {
      call(thread, of);
      team.barrier();
      const int64_t begin = monotonic_ns();
      for (int i = 0; i < repeats; ++i) call(thread, of);
      team.barrier();
      if (thread == 0) best = std::min(best, static_cast<double>(monotonic_ns() - begin) * 1e-9 / repeats);
    });
  }
  return best;
}

double seconds(const Row& row, int threads) {
  GemmShape shape{row.m, row.n, row.k, row.layout[0] == 'T', row.layout[1] == 'T', row.dtype};
  const auto bytes = [&](int64_t elements) { return static_cast<size_t>(elements * row.batch) * size_of(row.dtype); };
  const Buffer a(bytes(row.m * row.k)), b(bytes(row.k * row.n)), c(bytes(row.m * row.n));
  const size_t scratch_bytes =
      std::max(gemm_scratch_bytes(shape, threads), row.tiles ? gemm_tiles_scratch_bytes(shape, threads) : 0) / 64 * 64 +
      128;
  const Buffer scratch(scratch_bytes * static_cast<size_t>(threads));
  GemmArgs args{.a = a.data, .b = b.data, .c = c.data};
  args.lda = shape.trans_a ? row.m : row.k;
  args.ldb = shape.trans_b ? row.k : row.n;
  args.ldc = row.n;
  const double flops = 2.0 * static_cast<double>(row.m * row.n * row.k * row.batch);
  return best_seconds(threads, std::max(flops / 5e10 / threads, 1e-6), [&](int thread, int of) {
    void* mine = static_cast<char*>(scratch.data) + scratch_bytes * static_cast<size_t>(thread);
    if (row.tiles) {
      gemm_tiles(shape, args, mine, thread, of, nullptr,
                 [](void*, int64_t, int64_t, int64_t, int64_t, const float*, int64_t) {});
    } else if (row.batch > 1) {
      batched_gemm(shape, args, row.batch, {row.m * row.k, row.k * row.n, row.m * row.n}, mine, thread, of);
    } else {
      gemm(shape, args, mine, thread, of);
    }
  });
}

}  // namespace

int main(int argc, char** argv) {
  kernels::limit_isa_from_environment();
  const std::string filter = argc > 1 ? argv[1] : "";
  const double peak = argc > 2 ? std::atof(argv[2]) : 101.0;
  fmt::print("{}, peak {} GFLOP/s a core in float32\n", kernels::current_isa(), peak);
  fmt::print("{:<12} {:>18}    {:>10} {:>8} {:>7}   {:>10} {:>8} {:>7}\n", "", "m x n x k", "1 thread us", "GFLOP/s",
             "% peak", "2 threads us", "GFLOP/s", "% peak");
  for (const Row& row : kRows) {
    const std::string size = fmt::format("{}x{}x{} {}", row.m, row.n, row.k, row.layout);
    if ((std::string(row.name) + " " + size).find(filter) == std::string::npos) continue;
    const double row_peak = row.dtype == DType::float32 ? peak : peak / 2;
    const double gflop = 2e-9 * static_cast<double>(row.m * row.n * row.k * row.batch);
    const double one = seconds(row, 1), two = seconds(row, 2);
    fmt::print("{:<12} {:>18}    {:>10.2f} {:>8.1f} {:>7.1f}   {:>10.2f} {:>8.1f} {:>7.1f}\n", row.name, size,
               one * 1e6, gflop / one, 100 * gflop / one / row_peak, two * 1e6, gflop / two,
               50 * gflop / two / row_peak);
  }
}
