// The small fixed matrices of Winograd's F(4x4, 3x3), applied to vectors of channels: what winograd.cpp hands to the
// code per instruction set. In the carried form number `i` of tile `t` lies at base + i * plane + t * channels.
#pragma once

#include <cstdint>

namespace isochron::kernels {

inline constexpr int kCarried = 36;

// An image (rows, columns, channels), of which a tile starting at (row, column) is read or written; what lies outside
// is zero, or not written.
struct WinogradImage {
  int64_t rows, columns, channels;
};

// 6x6 inputs -> 36
void carry_input(const WinogradImage& image, const float* pixels, int64_t row, int64_t column, float* carried,
                 int64_t plane);
// 4x4 gradients of outputs -> 36
void carry_gradient(const WinogradImage& image, const float* pixels, int64_t row, int64_t column, float* carried,
                    int64_t plane);
// 36 -> 4x4 outputs, with bias (or null) added and relu applied if asked
void carry_back(const WinogradImage& image, const float* carried, int64_t plane, const float* bias, bool relu,
                int64_t row, int64_t column, float* pixels);
// 3x3 kernels -> 36, `count` of them side by side (a multiple of 8); taps lie tap_stride apart
void carry_kernels(const float* kernels, int64_t tap_stride, int64_t count, float* carried, int64_t plane);
// 36 sums, in `parts` parts part_stride apart that are added first -> 3x3 gradients
void carry_kernels_back(const float* sums, int64_t plane, int64_t parts, int64_t part_stride, int64_t count,
                        float* kernels, int64_t tap_stride);

}  // namespace isochron::kernels
