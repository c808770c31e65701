// Inside the image functions: the two codecs, row by row, and the loops over rows.
#pragma once

#include <memory>
#include <string>
#include <string_view>

#include "isochron/data/image/image.h"

namespace isochron::data {

bool is_jpeg(std::string_view bytes);
bool is_png(std::string_view bytes);
// FileError when height * width * channels is more than kLargestImageBytes.
void check_image_size(const ImageInfo& info, int channels, const std::string& name);

// Gets the pixels of a row; must not throw, because it is called from C.
struct RowSink {
  void* context;
  void (*take)(void* context, int64_t row, const uint8_t* pixels);
};

class JpegDecoder {
 public:
  JpegDecoder(std::string_view bytes, const std::string& name);
  ~JpegDecoder();
  // At the chosen scale.
  ImageInfo info() const;
  // The smallest of 1/8 … 8/8 that gives at least this size.
  void scale_down_to(int64_t height, int64_t width);
  // Rows of `crop`, which lies inside the image, top to bottom. Once only.
  void decode(const Crop& crop, int channels, RowSink sink);

 private:
  struct State;
  std::unique_ptr<State> state_;
};

ImageInfo png_info(std::string_view bytes, const std::string& name);
// The whole image with `channels` channels into `pixels`, which has room for it.
void decode_png(std::string_view bytes, const std::string& name, int channels, uint8_t* pixels);

// out[i] = in[i] * scale[i] + shift[i]
void normalize_row(const uint8_t* in, const float* scale, const float* shift, float* out, size_t count);
// out[i] = a[i] + (b[i] - a[i]) * part
void blend_rows(const float* a, const float* b, float part, float* out, size_t count);
// The same, rounded.
void blend_rows(const float* a, const float* b, float part, uint8_t* out, size_t count);

}  // namespace isochron::data
