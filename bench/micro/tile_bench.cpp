// Elementwise chains, optimizer updates, softmax and reductions on one thread, in microseconds, beside a plain copy of
// as many bytes measured in the same run.
//
//   tile_bench [filter]
#include <fmt/core.h>

#include <algorithm>
#include <chrono>
#include <cstring>
#include <functional>
#include <string>
#include <vector>

#include "isochron/kernels/isa.h"
#include "isochron/kernels/optimizer/update.h"
#include "isochron/kernels/reduce/reduce.h"
#include "isochron/kernels/softmax/softmax.h"
#include "isochron/kernels/tile/tile_kernel.h"

using namespace isochron;
using namespace isochron::kernels;

namespace {

constexpr DType f32 = DType::float32;
alignas(64) char scratch[1 << 20];

struct Row {
  std::string name;
  int64_t bytes;  // read and written
  std::function<void()> body;
  double best = 1e30;
};

double microseconds(const std::function<void()>& body, int repeats) {
  const auto start = std::chrono::steady_clock::now();
  for (int i = 0; i < repeats; ++i) body();
  return std::chrono::duration<double, std::micro>(std::chrono::steady_clock::now() - start).count() / repeats;
}

std::vector<float> numbers(int64_t n) {
  std::vector<float> x(n);
  for (int64_t i = 0; i < n; ++i) x[i] = 0.01f * static_cast<float>(i * 7919 % 601 - 300);
  return x;
}

TileProgram program(std::vector<int64_t> dims, std::vector<TileOperand> inputs, std::vector<TileInstruction> code) {
  TileProgram p;
  p.rank = static_cast<int>(dims.size());
  std::copy(dims.begin(), dims.end(), p.dims.begin());
  p.inputs = std::move(inputs);
  p.outputs = {{f32, {}}};
  p.code = std::move(code);
  p.registers = 16;
  p.output_registers = {p.code.back().dst};
  return p;
}

}  // namespace

int main(int argc, char** argv) {
  const std::string filter = argc > 1 ? argv[1] : "";
  const int64_t rows = 784, cols = 128, n = rows * cols;
  auto x = numbers(n), y = numbers(n), p = numbers(n), g = numbers(n), m = numbers(n), v = numbers(n),
       bias = numbers(cols);
  for (float& value : v) value *= value;
  const auto positive = v;
  std::vector<float> out(n), columns(cols);
  std::vector<int32_t> labels(1024, 3);

  std::vector<Row> table;
  const auto tile = [&](std::string name, int64_t bytes, const TileProgram& tile_program,
                        std::vector<const void*> inputs) {
    table.push_back({std::move(name), bytes, [&out, kernel = TileKernel(tile_program), inputs = std::move(inputs)] {
                       void* output = out.data();
                       kernel.run(inputs.data(), &output, scratch, 0, 1);
                     }});
  };
  const TileOperand dense{f32, {cols, 1}}, row{f32, {0, 1}};
  const auto with_bias = [&](TileOp op) {
    return program({rows, cols}, {dense, row}, {{TileOp::add, 2, 0, 1}, {op, 3, 2}});
  };
  tile("copy", 8 * n, program({n}, {{f32, {1}}}, {{TileOp::copy, 1, 0}}), {x.data()});
  tile("bias+relu", 8 * n, with_bias(TileOp::relu), {x.data(), bias.data()});
  tile("bias+gelu erf", 8 * n, with_bias(TileOp::gelu_erf), {x.data(), bias.data()});
  tile("bias+gelu tanh", 8 * n, with_bias(TileOp::gelu_tanh), {x.data(), bias.data()});
  tile("bias+tanh", 8 * n, with_bias(TileOp::tanh), {x.data(), bias.data()});
  tile("bias+sigmoid", 8 * n, with_bias(TileOp::sigmoid), {x.data(), bias.data()});
  for (TileOp op : {TileOp::exp, TileOp::log, TileOp::softplus, TileOp::sin, TileOp::sqrt})
    tile(std::string(name_of(op)), 8 * n, program({n}, {{f32, {1}}}, {{op, 1, 0}}), {positive.data()});
  tile("chain of 6", 12 * n,
       program({n}, {{f32, {1}}, {f32, {1}}},
               {{TileOp::mul, 2, 0, 1},
                {TileOp::add, 3, 2, 0},
                {TileOp::sub, 4, 3, 1},
                {TileOp::square, 5, 4},
                {TileOp::mul, 6, 5, 0},
                {TileOp::relu, 7, 6}}),
       {x.data(), y.data()});
  tile("bias+relu 1x16", 128, program({1, 16}, {{f32, {16, 1}}, row}, {{TileOp::add, 2, 0, 1}, {TileOp::relu, 3, 2}}),
       {x.data(), bias.data()});
  tile("bias+relu 32x10", 2560,
       program({32, 10}, {{f32, {10, 1}}, row}, {{TileOp::add, 2, 0, 1}, {TileOp::relu, 3, 2}}),
       {x.data(), bias.data()});
  tile("bias+relu 32x128", 32768, program({32, 128}, {dense, row}, {{TileOp::add, 2, 0, 1}, {TileOp::relu, 3, 2}}),
       {x.data(), bias.data()});

  const float scalars[kUpdateScalars] = {1e-3f, 1, 0.9f, 0.1f, 0.999f, 0.001f, 1e-7f, 0.5f, 0.1f};
  const TensorSlices<float> tensor{p.data(), g.data(), m.data(), v.data(), nullptr, n};
  for (auto [name, method, bytes] : {std::tuple{"sgd", UpdateMethod::sgd, 12},
                                     {"adam", UpdateMethod::adam, 28},
                                     {"rmsprop", UpdateMethod::rmsprop, 20},
                                     {"lion", UpdateMethod::lion, 20}})
    table.push_back({name, bytes * n,
                     [&, rule = UpdateRule{.method = method}] { update_tensors(rule, &tensor, 1, scalars, 0, 1); }});
  table.push_back({"adam outer product", 24 * n, [&] {
                     update_outer_product({.method = UpdateMethod::adam}, tensor, scalars, rows, cols, x.data(),
                                          bias.data(), 0, 1);
                   }});

  table.push_back({"softmax 1024x64", 8 * 65536, [&] { softmax(x.data(), out.data(), 1024, 64, 0, 1); }});
  table.push_back({"softmax 32x10", 8 * 320, [&] { softmax(x.data(), out.data(), 32, 10, 0, 1); }});
  table.push_back({"cross entropy 32x10 both", 16 * 320, [&] {
                     const float weight = 1 / 32.0f;
                     const CrossEntropyTarget<float> target{.labels = labels.data()};
                     cross_entropy(x.data(), 32, 10, target, {out.data(), nullptr, out.data() + 32}, 0, 1);
                     cross_entropy_backward(x.data(), 32, 10, target, out.data() + 32, &weight, 0, out.data() + 64, 0,
                                            1);
                   }});

  const auto reduction = [&](std::string name, const TileProgram& input, ReduceOp op, int begin, int end,
                             std::vector<const void*> inputs) {
    const int64_t bytes = 4 * element_count(input) * static_cast<int64_t>(inputs.size());
    table.push_back(
        {std::move(name), bytes, [&out, kernel = ReduceKernel(input, op, begin, end), inputs = std::move(inputs)] {
           void* output = out.data();
           kernel.run(inputs.data(), &output, scratch, 0, 1);
         }});
  };
  reduction("sum of all", reduction_input(f32, f32, {1, n, 1}), ReduceOp::sum, 1, 2, {x.data()});
  reduction("row sums", reduction_input(f32, f32, {rows, cols, 1}), ReduceOp::sum, 1, 2, {x.data()});
  reduction("column sums", reduction_input(f32, f32, {1, rows, cols}), ReduceOp::sum, 1, 2, {x.data()});
  reduction("column sums 32x128", reduction_input(f32, f32, {1, 32, 128}), ReduceOp::sum, 1, 2, {x.data()});
  reduction("column sums 32x10", reduction_input(f32, f32, {1, 32, 10}), ReduceOp::sum, 1, 2, {x.data()});
  reduction("mean squared error",
            program({n}, {{f32, {1}}, {f32, {1}}}, {{TileOp::sub, 2, 0, 1}, {TileOp::square, 3, 2}}), ReduceOp::mean, 0,
            1, {x.data(), y.data()});

  std::erase_if(table, [&](const Row& r) { return r.name.find(filter) == std::string::npos; });
  std::vector<char> from(8 * n), to(8 * n);
  double copy = 1e30;  // per byte read and written
  for (int round = 0; round < 30; ++round) {
    copy = std::min(copy, microseconds([&] { std::memcpy(to.data(), from.data(), from.size() / 2); }, 10) / (8.0 * n));
    for (Row& r : table) r.best = std::min(r.best, microseconds(r.body, r.bytes < 200000 ? 1000 : 10));
  }
  fmt::print("{:24} {:>10} {:>14}   ({})\n", "", "us", "x plain copy", current_isa());
  for (const Row& r : table)
    fmt::print("{:24} {:10.3f} {:14.2f}\n", r.name, r.best, r.best / (copy * static_cast<double>(r.bytes)));
}
