#include "isochron/kernels/gemm/gemm.h"

#include <algorithm>

#include "isochron/base/error.h"
#include "isochron/kernels/gemm/product.h"
#include "isochron/kernels/share.h"

namespace isochron::kernels {

TileFunction activation_function(GemmActivation activation, DType dtype) {
  switch (activation) {
    case GemmActivation::none:
      return nullptr;
    case GemmActivation::relu:
      return tile_function(TileOp::relu, dtype);
    case GemmActivation::sigmoid:
      return tile_function(TileOp::sigmoid, dtype);
    case GemmActivation::tanh:
      return tile_function(TileOp::tanh, dtype);
    case GemmActivation::leaky_relu:
      return tile_function(TileOp::leaky_relu, dtype);
    case GemmActivation::elu:
      return tile_function(TileOp::elu, dtype);
    case GemmActivation::selu:
      return tile_function(TileOp::selu, dtype);
    case GemmActivation::gelu_erf:
      return tile_function(TileOp::gelu_erf, dtype);
    case GemmActivation::gelu_tanh:
      return tile_function(TileOp::gelu_tanh, dtype);
    case GemmActivation::silu:
      return tile_function(TileOp::silu, dtype);
    case GemmActivation::softplus:
      return tile_function(TileOp::softplus, dtype);
  }
  throw InternalError("a known activation", __FILE__, __LINE__);
}

namespace {

// A rectangle of C.
struct Block {
  Share rows, cols;
};

// The grid of threads over C whose largest block costs least: the sums, plus reading the borders of A and B. Columns
// are split by whole cache lines, so that two threads never write one line of an aligned C.
Block block_of(const GemmShape& shape, int thread, int threads) {
  const int64_t line = 64 / static_cast<int64_t>(size_of(shape.dtype));
  int64_t best_cost = INT64_MAX;
  int best_down = 1;
  for (int down = 1; down <= threads; ++down) {
    if (threads % down != 0) continue;
    const int64_t rows = share_of(shape.m, 1, 0, down).end;
    const int64_t cols = share_of(shape.n, line, 0, threads / down).end;
    const int64_t cost = rows * cols + 4 * cols + 2 * rows;
    if (cost < best_cost) best_cost = cost, best_down = down;
  }
  const int across = threads / best_down;
  return {share_of(shape.m, 1, thread / across, best_down), share_of(shape.n, line, thread % across, across)};
}

template <class T>
Product<T> product_of(const GemmShape& shape, const GemmArgs& args, const Block& block) {
  const int64_t row = block.rows.begin, col = block.cols.begin;
  const T* a = static_cast<const T*>(args.a);
  const T* b = static_cast<const T*>(args.b);
  const T* bias = static_cast<const T*>(args.bias);
  T* c = static_cast<T*>(args.c);
  T* pre = static_cast<T*>(args.pre_activation);
  const T* residual = static_cast<const T*>(args.residual);
  const T* gate = static_cast<const T*>(args.gate);
  T* sums = static_cast<T*>(args.column_sums);
  const int64_t c_offset = row * args.ldc + col;
  return {.m = block.rows.end - row,
          .n = block.cols.end - col,
          .k = shape.k,
          .a = a + (shape.trans_a ? row : row * args.lda),
          .lda = args.lda,
          .trans_a = shape.trans_a,
          .b = b + (shape.trans_b ? col * args.ldb : col),
          .ldb = args.ldb,
          .trans_b = shape.trans_b,
          .c = c + c_offset,
          .ldc = args.ldc,
          .bias = bias ? bias + col : nullptr,
          .pre_activation = pre ? pre + c_offset : nullptr,
          .activation = activation_function(args.activation, shape.dtype),
          .immediates = {args.activation_alpha, 0},
          .accumulate = args.accumulate,
          .residual = residual ? residual + c_offset : nullptr,
          .gate = gate ? gate + c_offset : nullptr,
          .column_sums = sums && row == 0 ? sums + col : nullptr,
          .blocking = shape.blocking};
}

template <class F>
auto visit_float(DType dtype, F&& f) {
  ISO_CHECK(dtype == DType::float32 || dtype == DType::float64);
  return dtype == DType::float32 ? f(Type<float>{}) : f(Type<double>{});
}

void check(const GemmShape& shape, const GemmArgs& args, int thread, int threads) {
  ISO_CHECK(shape.m >= 0 && shape.n >= 0 && shape.k >= 0);
  ISO_CHECK(thread >= 0 && thread < threads);
  ISO_CHECK(!args.accumulate ||
            (!args.bias && !args.residual && !args.pre_activation && args.activation == GemmActivation::none));
  ISO_CHECK(!args.gate || (!args.accumulate && !args.pre_activation && args.activation == GemmActivation::none));
  ISO_CHECK(!args.column_sums || !shape.trans_b);
}

void run_block(const GemmShape& shape, const GemmArgs& args, const Block& block, void* scratch) {
  visit_float(shape.dtype, [&]<class T>(Type<T>) { run_product(product_of<T>(shape, args, block), scratch); });
}

size_t block_scratch(const GemmShape& shape, const Block& block) {
  return visit_float(shape.dtype, [&]<class T>(Type<T>) {
    return product_scratch_bytes(Product<T>{.m = block.rows.end - block.rows.begin,
                                            .n = block.cols.end - block.cols.begin,
                                            .k = shape.k,
                                            .trans_a = shape.trans_a,
                                            .trans_b = shape.trans_b,
                                            .blocking = shape.blocking});
  });
}

// The part of k that a thread takes: whole groups of the rows of B that a single row is multiplied with at a time.
Share depth_of(const GemmShape& shape, int thread, int threads) { return share_of(shape.k, 8, thread, threads); }
// Of C, by one thread; the next thread's begin on another line.
int64_t part_elements(const GemmShape& shape) { return (shape.m * shape.n + 15) / 16 * 16; }

GemmArgs batch_item(const GemmShape& shape, GemmArgs args, const BatchStrides& strides, int64_t item) {
  const int64_t size = static_cast<int64_t>(size_of(shape.dtype));
  args.a = static_cast<const char*>(args.a) + item * strides.a * size;
  args.b = static_cast<const char*>(args.b) + item * strides.b * size;
  args.c = static_cast<char*>(args.c) + item * strides.c * size;
  if (args.pre_activation) args.pre_activation = static_cast<char*>(args.pre_activation) + item * strides.c * size;
  if (args.residual) args.residual = static_cast<const char*>(args.residual) + item * strides.c * size;
  if (args.gate) args.gate = static_cast<const char*>(args.gate) + item * strides.c * size;
  return args;
}

}  // namespace

size_t gemm_scratch_bytes(const GemmShape& shape, int threads) {
  size_t bytes = block_scratch(shape, block_of(shape, 0, 1));  // batched_gemm may give a thread whole products
  if (gemm_splits_depth(shape)) {
    GemmShape part = shape;
    part.k = depth_of(shape, 0, threads).end;
    bytes = std::max(bytes, block_scratch(part, block_of(part, 0, 1)));
  }
  for (int thread = 0; thread < threads; ++thread)
    bytes = std::max(bytes, block_scratch(shape, block_of(shape, thread, threads)));
  return bytes;
}

void gemm(const GemmShape& shape, const GemmArgs& args, void* scratch, int thread, int threads) {
  check(shape, args, thread, threads);
  run_block(shape, args, block_of(shape, thread, threads), scratch);
}

bool gemm_splits_depth(const GemmShape& shape) {
  constexpr int64_t kDeep = 256, kMostElements = 128 * 1024;
  return !shape.trans_a && !shape.trans_b && shape.k >= std::max(kDeep, kDeeperThanTall * shape.m) &&
         shape.m * shape.n <= kMostElements;
}

size_t gemm_parts_bytes(const GemmShape& shape, int threads) {
  return static_cast<size_t>(part_elements(shape) * threads) * size_of(shape.dtype);
}

void gemm_part(const GemmShape& shape, const GemmArgs& args, void* parts, void* scratch, int thread, int threads) {
  check(shape, args, thread, threads);
  const Share depth = depth_of(shape, thread, threads);
  const auto size = static_cast<int64_t>(size_of(shape.dtype));
  GemmShape part = shape;
  part.k = depth.end - depth.begin;
  const GemmArgs part_args{.a = static_cast<const char*>(args.a) + depth.begin * size,
                           .b = static_cast<const char*>(args.b) + depth.begin * args.ldb * size,
                           .c = static_cast<char*>(parts) + thread * part_elements(shape) * size,
                           .lda = args.lda,
                           .ldb = args.ldb,
                           .ldc = shape.n};
  run_block(part, part_args, block_of(part, 0, 1), scratch);
}

void gemm_add_parts(const GemmShape& shape, const GemmArgs& args, const void* parts, int thread, int threads) {
  check(shape, args, thread, threads);
  ISO_CHECK(!args.accumulate && !args.column_sums);
  const Block block = block_of(shape, thread, threads);
  visit_float(shape.dtype, [&]<class T>(Type<T>) {
    const PartialSums<T> sums{.first = static_cast<const T*>(parts) + block.rows.begin * shape.n + block.cols.begin,
                              .ld = shape.n,
                              .distance = part_elements(shape),
                              .count = threads};
    add_parts(product_of<T>(shape, args, block), sums);
  });
}

void batched_gemm(const GemmShape& shape, const GemmArgs& args, int64_t batch, const BatchStrides& strides,
                  void* scratch, int thread, int threads) {
  check(shape, args, thread, threads);
  ISO_CHECK(!args.column_sums);
  // Whole products to each thread while that leaves nobody idle for long, else every product split over all.
  const int64_t rounds = (batch + threads - 1) / threads;
  const bool whole = rounds * threads * 8 <= batch * 9;
  const Share items = whole ? share_of(batch, 1, thread, threads) : Share{0, batch};
  const Block block = whole ? block_of(shape, 0, 1) : block_of(shape, thread, threads);
  for (int64_t item = items.begin; item < items.end; ++item)
    run_block(shape, batch_item(shape, args, strides, item), block, scratch);
}

namespace {

// A block of gemm_tiles: about half of L1, several full rows when they fit.
constexpr int64_t kTileElements = 4096;
constexpr int64_t kTileColumns = 1024;

int64_t tile_columns(const GemmShape& shape) { return std::min(shape.n, kTileColumns); }
int64_t tile_stride(const GemmShape& shape) { return (tile_columns(shape) + 15) / 16 * 16; }
int64_t tile_rows(const GemmShape& shape) {
  return std::min(shape.m, std::max<int64_t>(kTileElements / std::max<int64_t>(tile_stride(shape), 1) / 6, 1) * 6);
}
size_t tile_bytes(const GemmShape& shape) {
  return static_cast<size_t>(tile_rows(shape) * tile_stride(shape)) * sizeof(float);
}

template <class F>
void for_each_tile(const GemmShape& shape, int thread, int threads, F&& f) {
  const auto [rows, cols] = block_of(shape, thread, threads);
  for (int64_t row = rows.begin; row < rows.end; row += tile_rows(shape))
    for (int64_t col = cols.begin; col < cols.end; col += kTileColumns)
      f(Block{{row, std::min(row + tile_rows(shape), rows.end)}, {col, std::min(col + kTileColumns, cols.end)}});
}

}  // namespace

size_t gemm_tiles_scratch_bytes(const GemmShape& shape, int threads) {
  size_t inner = 0;
  for (int thread = 0; thread < threads; ++thread)
    for_each_tile(shape, thread, threads,
                  [&](const Block& block) { inner = std::max(inner, block_scratch(shape, block)); });
  return tile_bytes(shape) + inner;
}

void gemm_tiles(const GemmShape& shape, const GemmArgs& args, void* scratch, int thread, int threads, void* context,
                GemmConsume consume) {
  check(shape, args, thread, threads);
  ISO_CHECK(shape.dtype == DType::float32 && !args.accumulate && !args.pre_activation && !args.residual && !args.gate &&
            !args.column_sums);
  float* tile = static_cast<float*>(scratch);
  void* inner = static_cast<char*>(scratch) + tile_bytes(shape);
  for_each_tile(shape, thread, threads, [&](const Block& block) {
    Product<float> product = product_of<float>(shape, args, block);
    product.c = tile;
    product.ldc = tile_stride(shape);
    run_product(product, inner);
    consume(context, block.rows.begin, block.cols.begin, product.m, product.n, tile, product.ldc);
  });
}

}  // namespace isochron::kernels
