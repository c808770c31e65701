// Reductions through kernels/reduce: the axes are ordered so that the reduced ones stand together, by strides alone.
#include <algorithm>

#include "isochron/kernels/reduce/arg_reduce.h"
#include "isochron/kernels/tile_reduction.h"

namespace isochron {
namespace {

using kernels::ArgReduceOp;
using kernels::ReduceOp;
using kernels::TileProgram;

struct Reduction {
  TileProgram program;
  int begin, end;  // the reduced dimensions
};

// Kept axes before the last reduced one, the reduced axes, kept axes after: the result is dense in the kept ones.
Reduction reduction_of(const KernelRequest& request) {
  const auto& axes = request.attributes().get<std::vector<int64_t>>("axes");
  const TensorSpec& input = request.inputs[0];
  const int rank = input.shape.rank();
  const auto is_reduced = [&](int i) { return std::binary_search(axes.begin(), axes.end(), i); };
  const int last = axes.empty() ? -1 : static_cast<int>(axes.back());
  std::vector<int> order;
  for (int i = 0; i < last; ++i)
    if (!is_reduced(i)) order.push_back(i);
  const auto begin = static_cast<int>(order.size());
  for (int64_t axis : axes) order.push_back(static_cast<int>(axis));
  const auto end = static_cast<int>(order.size());
  for (int i = last + 1; i < rank; ++i) order.push_back(i);

  Reduction r{kernels::reduction_input(input.dtype, request.output().dtype, {}), begin, end};
  r.program.rank = 0;
  const auto add = [&](int64_t extent, int64_t stride) {
    const auto at = static_cast<size_t>(r.program.rank++);
    r.program.dims[at] = extent;
    r.program.inputs[0].strides[at] = stride;
  };
  for (int axis : order) add(input.shape[axis], input.shape.elements(axis + 1, rank));
  if (begin == end) {  // a scalar: reduced over one element
    add(1, 1);
    ++r.end;
  }
  return r;
}

template <ReduceOp op>
KernelPtr make_reduction(const KernelRequest& request, std::string&) {
  const Reduction r = reduction_of(request);
  return std::make_unique<TileReduction>(r.program, op, r.begin, r.end);
}

template <ArgReduceOp op>
KernelPtr make_arg_reduction(const KernelRequest& request, std::string&) {
  const int axis = static_cast<int>(request.attributes().get<std::vector<int64_t>>("axes")[0]);
  const TensorSpec& input = request.inputs[0];
  const kernels::ReduceShape shape{input.shape.elements(0, axis), input.shape[axis],
                                   input.shape.elements(axis + 1, input.shape.rank())};
  return make_kernel([shape, dtype = input.dtype](const KernelFrame& f) {
    kernels::arg_reduce(op, f.inputs[0], dtype, shape, f.outputs[0], DType::int64, f.thread, f.threads);
  });
}

[[maybe_unused]] const bool kReductionRegistered =
    register_kernels({{"sum", "tile", make_reduction<ReduceOp::sum>},
                      {"mean", "tile", make_reduction<ReduceOp::mean>},
                      {"prod", "tile", make_reduction<ReduceOp::prod>},
                      {"max", "tile", make_reduction<ReduceOp::max>},
                      {"min", "tile", make_reduction<ReduceOp::min>},
                      {"any", "tile", make_reduction<ReduceOp::any>},
                      {"all", "tile", make_reduction<ReduceOp::all>},
                      {"argmax", "simd", make_arg_reduction<ArgReduceOp::argmax>},
                      {"argmin", "simd", make_arg_reduction<ArgReduceOp::argmin>}});

}  // namespace
}  // namespace isochron
