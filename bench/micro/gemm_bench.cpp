// Matrix products as a share of the machine's peak, measured in the same run.
//
//   gemm_bench [filter]        prints, per shape, the best of many rounds on 1 and on 2 threads, and the middle one
//
// The best round is one with a core of our own; in the middle one a neighbour often has the other half of it.
#include <fmt/core.h>
#include <immintrin.h>
#include <sys/mman.h>

#include <algorithm>
#include <cstdlib>
#include <ctime>
#include <string>
#include <vector>

#include "isochron/base/threads.h"
#include "isochron/kernels/gemm/gemm.h"
#include "isochron/kernels/isa.h"

namespace kernels = isochron::kernels;
using isochron::DType;
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
  kernels::GemmActivation activation = kernels::GemmActivation::none;  // with a bias
};

const Row kRows[] = {
    {"forward", 32, 128, 784, "NN"},
    {"+bias relu", 32, 128, 784, "NN", 1, false, DType::float32, kernels::GemmActivation::relu},
    {"+bias gelu", 1024, 512, 128, "NN", 1, false, DType::float32, kernels::GemmActivation::gelu_tanh},
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
    {"batch 32", 32, 256, 512, "NN"},
    {"batch 32", 32, 512, 512, "NN"},
    {"batch 32", 32, 1024, 512, "NN"},
    {"batch 32", 32, 1000, 512, "NN"},
    {"batch 32 dX", 32, 512, 512, "NT"},
    {"batch 32 dW", 512, 512, 32, "TN"},
    {"batch 64", 64, 512, 512, "NN"},
    {"batch 8", 8, 1024, 512, "NN"},
    {"", 128, 512, 512, "NN"},
    {"", 128, 512, 512, "NT"},
    {"", 128, 512, 512, "TN"},
    {"", 256, 1024, 1024, "NN"},
    {"", 256, 1024, 1024, "NT"},
    {"", 256, 1024, 1024, "TN"},
    {"", 1024, 1024, 1024, "NN"},
    {"", 1024, 1024, 1024, "NT"},
    {"", 1024, 1024, 1024, "TN"},
    {"ffn up", 1024, 512, 128, "NN"},
    {"ffn down", 1024, 128, 512, "NN"},
    {"ffn up dW", 128, 512, 1024, "TN"},
    {"ffn down dW", 512, 128, 1024, "TN"},
    {"ffn up dX", 1024, 128, 512, "NT"},
    {"ffn down dX", 1024, 512, 128, "NT"},
    {"query", 1024, 128, 128, "NN"},
    {"query dW", 128, 128, 1024, "TN"},
    {"query dX", 1024, 128, 128, "NT"},
    {"lstm", 32, 1024, 256, "NN"},
    {"lstm dX", 32, 256, 1024, "NT"},
    {"lstm dW", 256, 1024, 2048, "TN"},
    {"heads", 64, 64, 32, "NN", 64},
    {"heads", 64, 64, 32, "NT", 64},
    {"heads", 64, 64, 32, "TN", 64},
    {"odd", 33, 100, 300, "NN"},
    {"odd", 37, 129, 785, "NN"},
    {"float64", 32, 128, 784, "NN", 1, false, DType::float64},
    {"float64", 256, 512, 512, "NN", 1, false, DType::float64},
};

// A buffer of small numbers, in pages of 2 MB: where small pages fall in the caches is luck, worth a quarter of the
// time.
struct Buffer {
  explicit Buffer(size_t bytes) : data(std::aligned_alloc(kHuge, (bytes + 64 + kHuge - 1) / kHuge * kHuge)) {
    madvise(data, (bytes + 64 + kHuge - 1) / kHuge * kHuge, MADV_HUGEPAGE);
    for (size_t i = 0; i < bytes / 4; ++i) static_cast<float*>(data)[i] = static_cast<float>(i % 13) * 0.125f - 0.5f;
  }
  ~Buffer() { std::free(data); }
  Buffer(const Buffer&) = delete;
  static constexpr size_t kHuge = size_t{2} << 20;
  void* data;
};

// What a core can do at most: independent multiply-adds in registers, in GFLOP/s. The clock moves with time and
// neighbours, so this is measured beside every product.
constexpr int kPeakRounds = 10000;
[[gnu::target("avx512f")]] void multiply_add_avx3() {
  __m512 sum[12] = {};
  for (__m512& s : sum) asm volatile("" : "+x"(s));
  for (int i = 0; i < kPeakRounds; ++i) {
#pragma GCC unroll 12
    for (__m512& s : sum) s = _mm512_fmadd_ps(s, s, s);
  }
  for (__m512& s : sum) asm volatile("" : : "x"(s));
}
[[gnu::target("avx2,fma")]] void multiply_add_avx2() {
  __m256 sum[12] = {};
  for (__m256& s : sum) asm volatile("" : "+x"(s));
  for (int i = 0; i < kPeakRounds; ++i) {
#pragma GCC unroll 12
    for (__m256& s : sum) s = _mm256_fmadd_ps(s, s, s);
  }
  for (__m256& s : sum) asm volatile("" : : "x"(s));
}

// Time this thread has computed. Unlike the wall clock it does not count neighbours that take the core away.
double cpu_seconds() {
  timespec now;
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
  return static_cast<double>(now.tv_sec) + 1e-9 * static_cast<double>(now.tv_nsec);
}

double peak_gflops() {
  const bool wide = kernels::current_isa() == "avx3";
  const double begin = cpu_seconds();
  wide ? multiply_add_avx3() : multiply_add_avx2();
  return 1e-9 * kPeakRounds * 12.0 * 2 * (wide ? 16 : 8) / (cpu_seconds() - begin);
}

struct Measured {
  double seconds, median_seconds, peak_gflops;
};

// One call on `threads` threads (the slowest of them), and the peak of one thread: the best of many rounds.
template <class F>
Measured measure(int threads, double expected_seconds, F&& call) {
  const int repeats = std::max(1, static_cast<int>(5e-4 / expected_seconds));
  std::vector<double> rounds;
  double best_peak = 0;
  ThreadTeam& team = ThreadTeam::global();
  std::vector<double> seconds(static_cast<size_t>(threads));
  for (int round = 0; round < 40; ++round) {
    team.parallel(threads, [&](int thread, int of) {
      const double peak = peak_gflops();
      call(thread, of);
      team.barrier();
      const double begin = cpu_seconds();
      for (int i = 0; i < repeats; ++i) call(thread, of);
      seconds[static_cast<size_t>(thread)] = (cpu_seconds() - begin) / repeats;
      team.barrier();
      if (thread != 0) return;
      rounds.push_back(*std::max_element(seconds.begin(), seconds.end()));
      best_peak = std::max(best_peak, peak);
    });
  }
  std::sort(rounds.begin(), rounds.end());
  return {rounds.front(), rounds[rounds.size() / 2], best_peak};
}

Measured measure(const Row& row, int threads) {
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
  args.activation = row.activation;
  if (row.activation != kernels::GemmActivation::none) args.bias = b.data;
  const double flops = 2.0 * static_cast<double>(row.m * row.n * row.k * row.batch);
  return measure(threads, std::max(flops / 5e10 / threads, 1e-6), [&](int thread, int of) {
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
  fmt::print("{}\n{:<12} {:>18}", kernels::current_isa(), "", "m x n x k");
  for (int threads : {1, 2}) fmt::print("  {:>10} us  GFLOP/s  % peak  middle", fmt::format("{} thread", threads));
  fmt::print("\n");
  for (const Row& row : kRows) {
    const std::string size = fmt::format("{}x{}x{} {}", row.m, row.n, row.k, row.layout);
    if ((std::string(row.name) + " " + size).find(filter) == std::string::npos) continue;
    fmt::print("{:<12} {:>18}", row.name, size);
    for (int threads : {1, 2}) {
      const auto [seconds, median_seconds, peak] = measure(row, threads);
      const double gflops = 2e-9 * static_cast<double>(row.m * row.n * row.k * row.batch) / seconds;
      const double lanes = 4.0 / static_cast<double>(size_of(row.dtype));
      const double percent = 100 * gflops / (peak * lanes * threads);
      fmt::print("  {:>13.2f} {:>8.1f} {:>7.1f} {:>7.1f}", seconds * 1e6, gflops, percent,
                 percent * seconds / median_seconds);
    }
    fmt::print("\n");
  }
}
