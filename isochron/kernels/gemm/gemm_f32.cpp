#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "isochron/kernels/gemm/gemm_f32.cpp"
#include <hwy/foreach_target.h>

#include "isochron/kernels/gemm/driver-inl.h"

HWY_BEFORE_NAMESPACE();
namespace isochron::kernels::HWY_NAMESPACE {
void run_f32(const Product<float>& product, void* scratch) { run(product, scratch); }
void add_parts_f32(const Product<float>& product, const PartialSums<float>& parts) { run_add_parts(product, parts); }
size_t scratch_bytes_f32(const Product<float>& product) { return scratch_bytes(product); }
}  // namespace isochron::kernels::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace isochron::kernels {
HWY_EXPORT(run_f32);
HWY_EXPORT(add_parts_f32);
HWY_EXPORT(scratch_bytes_f32);
void run_product(const Product<float>& product, void* scratch) { HWY_DYNAMIC_DISPATCH(run_f32)(product, scratch); }
void add_parts(const Product<float>& product, const PartialSums<float>& parts) {
  HWY_DYNAMIC_DISPATCH(add_parts_f32)(product, parts);
}
size_t product_scratch_bytes(const Product<float>& product) { return HWY_DYNAMIC_DISPATCH(scratch_bytes_f32)(product); }
}  // namespace isochron::kernels
#endif
