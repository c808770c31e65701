#include "isochron/data/image/image.h"

#include <algorithm>
#include <cmath>
#include <cstring>

#include "isochron/base/rng.h"
#include "isochron/data/image/codecs.h"

namespace isochron::data {
namespace {

[[noreturn]] void fail_unknown(std::string_view bytes, const std::string& name) {
  fail<FileError>("decode_image", "{}: neither JPEG nor PNG ({} bytes)", name, bytes.size());
}

int wanted_channels(int asked, const ImageInfo& info) {
  if (asked != 0 && asked != 1 && asked != 3 && asked != 4)
    fail<ValueError>("decode_image", "channels is 0, 1, 3 or 4, got {}", asked);
  return asked == 0 ? info.channels : asked;
}

struct RowCopy {
  uint8_t* to;
  size_t row_bytes;
};
RowSink copy_to(RowCopy& copy) {
  return {&copy, [](void* context, int64_t row, const uint8_t* pixels) {
            const auto& c = *static_cast<RowCopy*>(context);
            std::memcpy(c.to + static_cast<size_t>(row) * c.row_bytes, pixels, c.row_bytes);
          }};
}

Tensor uint8_image(int64_t height, int64_t width, int64_t channels, Storage bytes) {
  return Tensor::from_storage(std::move(bytes), {DType::uint8, {height, width, channels}});
}
Storage image_storage(int64_t height, int64_t width, int64_t channels, size_t element = 1) {
  return Storage::allocate(static_cast<size_t>(height * width * channels) * element);
}

Tensor decode_jpeg(JpegDecoder& jpeg, const Crop& crop, int channels) {
  Storage bytes = image_storage(crop.height, crop.width, channels);
  RowCopy copy{reinterpret_cast<uint8_t*>(bytes.data()), static_cast<size_t>(crop.width * channels)};
  jpeg.decode(crop, channels, copy_to(copy));
  return uint8_image(crop.height, crop.width, channels, std::move(bytes));
}

Tensor decode_whole_png(std::string_view bytes, const std::string& name, int asked) {
  const ImageInfo info = png_info(bytes, name);
  const int channels = wanted_channels(asked, info);
  check_image_size(info, channels, name);
  Storage out = image_storage(info.height, info.width, channels);
  decode_png(bytes, name, channels, reinterpret_cast<uint8_t*>(out.data()));
  return uint8_image(info.height, info.width, channels, std::move(out));
}

void check_image(const char* operation, const Tensor& image) {
  if (image.rank() != 3 || (image.dtype() != DType::uint8 && image.dtype() != DType::float32))
    fail<ShapeError>(operation, "needs a uint8 or float32 image (height, width, channels), got {}",
                     to_string(image.spec()));
}

void check_crop(const char* operation, const Crop& crop, int64_t height, int64_t width) {
  if (crop.top < 0 || crop.left < 0 || crop.height < 1 || crop.width < 1 || crop.height > height ||
      crop.width > width || crop.top > height - crop.height || crop.left > width - crop.width)
    fail<ValueError>(operation, "{} x {} at row {}, column {} does not lie in an image of {} x {}", crop.height,
                     crop.width, crop.top, crop.left, height, width);
}

void flip_row(const uint8_t* in, uint8_t* out, int64_t width, int64_t pixel_bytes) {
  if (pixel_bytes == 3) {
    for (int64_t x = 0; x < width; ++x)
      for (int64_t c = 0; c < 3; ++c) out[3 * x + c] = in[3 * (width - 1 - x) + c];
  } else {
    for (int64_t x = 0; x < width; ++x)
      std::memcpy(out + x * pixel_bytes, in + (width - 1 - x) * pixel_bytes, static_cast<size_t>(pixel_bytes));
  }
}

// Where an output pixel lies between two input pixels.
struct Between {
  int64_t low, high;
  float part;
};
std::vector<Between> positions(int64_t from, int64_t to) {
  std::vector<Between> out(static_cast<size_t>(to));
  for (int64_t i = 0; i < to; ++i) {
    const double at = (static_cast<double>(i) + 0.5) * static_cast<double>(from) / static_cast<double>(to) - 0.5;
    const double low = std::floor(at);
    out[static_cast<size_t>(i)] = {std::clamp<int64_t>(static_cast<int64_t>(low), 0, from - 1),
                                   std::clamp<int64_t>(static_cast<int64_t>(low) + 1, 0, from - 1),
                                   static_cast<float>(at - low)};
  }
  return out;
}

template <class T>
void resize(const T* in, T* out, const Shape& shape, int64_t height, int64_t width) {
  const int64_t channels = shape[2], in_row = shape[1] * channels;
  const std::vector<Between> ys = positions(shape[0], height), xs = positions(shape[1], width);
  const auto row_floats = static_cast<size_t>(width * channels);
  // Two input rows, stretched to the width, are kept; most output rows need the same ones as the row before.
  std::vector<float> kept[2] = {std::vector<float>(row_floats), std::vector<float>(row_floats)};
  int64_t held[2] = {-1, -1};
  const auto stretched = [&](int64_t y, int64_t other) -> const float* {
    for (int k = 0; k < 2; ++k)
      if (held[k] == y) return kept[k].data();
    const int k = held[0] == other ? 1 : 0;
    held[k] = y;
    const T* row = in + y * in_row;
    float* to = kept[k].data();
    for (const Between& x : xs)
      for (int64_t c = 0; c < channels; ++c) {
        const auto a = static_cast<float>(row[x.low * channels + c]),
                   b = static_cast<float>(row[x.high * channels + c]);
        *to++ = a + (b - a) * x.part;
      }
    return kept[k].data();
  };
  for (int64_t y = 0; y < height; ++y) {
    const Between& at = ys[static_cast<size_t>(y)];
    const float* a = stretched(at.low, at.high);
    const float* b = stretched(at.high, at.low);
    blend_rows(a, b, at.part, out + static_cast<size_t>(y) * row_floats, row_floats);
  }
}

// Turns uint8 rows into normalised, perhaps mirrored float32 rows.
struct Normalizer {
  Normalizer(const Augmentation& a, bool mirrored, float* target) : width(a.width), flip(mirrored), to(target) {
    const auto count = static_cast<size_t>(3 * width);
    scale.resize(count);
    shift.resize(count);
    mirror.resize(flip ? count : 0);
    for (size_t i = 0; i < count; ++i) {
      scale[i] = a.scale / a.stddev[i % 3];
      shift[i] = -a.mean[i % 3] / a.stddev[i % 3];
    }
  }
  RowSink sink() {
    return {this, [](void* context, int64_t row, const uint8_t* pixels) {
              auto& n = *static_cast<Normalizer*>(context);
              if (n.flip) {
                flip_row(pixels, n.mirror.data(), n.width, 3);
                pixels = n.mirror.data();
              }
              normalize_row(pixels, n.scale.data(), n.shift.data(), n.to + row * 3 * n.width, n.scale.size());
            }};
  }
  int64_t width;
  bool flip;
  float* to;
  std::vector<float> scale, shift;
  std::vector<uint8_t> mirror;
};

}  // namespace

void check_image_size(const ImageInfo& info, int channels, const std::string& name) {
  if (info.height < 1 || info.width < 1 || info.height > kLargestImageBytes / info.width / channels)
    fail<FileError>("decode_image", "{}: {} x {} pixels, {} bytes are the limit", name, info.height, info.width,
                    kLargestImageBytes);
}

ImageInfo image_info(std::string_view bytes, const std::string& name) {
  if (is_jpeg(bytes)) return JpegDecoder(bytes, name).info();
  if (is_png(bytes)) return png_info(bytes, name);
  fail_unknown(bytes, name);
}

Tensor decode_image(std::string_view bytes, const DecodeOptions& options, const std::string& name) {
  if (is_png(bytes)) return decode_whole_png(bytes, name, options.channels);
  if (!is_jpeg(bytes)) fail_unknown(bytes, name);
  JpegDecoder jpeg(bytes, name);
  if (options.min_height > 0 || options.min_width > 0) jpeg.scale_down_to(options.min_height, options.min_width);
  const ImageInfo info = jpeg.info();
  const int channels = wanted_channels(options.channels, info);
  if (channels == 4) fail<ValueError>("decode_image", "{}: a JPEG image has no alpha; ask for 1 or 3 channels", name);
  check_image_size(info, channels, name);
  return decode_jpeg(jpeg, {0, 0, info.height, info.width}, channels);
}

Tensor decode_and_crop(std::string_view bytes, const Crop& crop, int channels, const std::string& name) {
  if (is_png(bytes)) return crop_image(decode_whole_png(bytes, name, channels), crop);
  if (!is_jpeg(bytes)) fail_unknown(bytes, name);
  JpegDecoder jpeg(bytes, name);
  const ImageInfo info = jpeg.info();
  if (channels != 1 && channels != 3) fail<ValueError>("decode_and_crop", "channels is 1 or 3, got {}", channels);
  check_image_size(info, channels, name);
  check_crop("decode_and_crop", crop, info.height, info.width);
  return decode_jpeg(jpeg, crop, channels);
}

Tensor decode_augmented(std::string_view bytes, const Augmentation& a, uint64_t seed, const std::string& name) {
  if (a.height < 1 || a.width < 1)
    fail<ValueError>("decode_augmented", "the size must be positive, got {} x {}", a.height, a.width);
  const PhiloxBlock random = RandomStream{.seed = seed, .stream = 0x696d616765}.block(0);
  const auto below = [](uint32_t word, int64_t n) {
    return static_cast<int64_t>((uint64_t{word} * static_cast<uint64_t>(n)) >> 32);
  };
  Storage out = image_storage(a.height, a.width, 3, sizeof(float));
  Normalizer normalizer(a, a.flip && random[2] & 1, reinterpret_cast<float*>(out.data()));
  const auto crop_of = [&](int64_t height, int64_t width) {
    return Crop{below(random[0], height - a.height + 1), below(random[1], width - a.width + 1), a.height, a.width};
  };
  if (is_jpeg(bytes)) {
    JpegDecoder jpeg(bytes, name);
    const ImageInfo info = jpeg.info();
    check_image_size(info, 3, name);
    if (info.height >= a.height && info.width >= a.width) {
      jpeg.decode(crop_of(info.height, info.width), 3, normalizer.sink());
      return Tensor::from_storage(std::move(out), {DType::float32, {a.height, a.width, 3}});
    }
  }
  Tensor image = decode_image(bytes, {}, name);
  if (image.dim(0) < a.height || image.dim(1) < a.width) {
    const double up = std::max(static_cast<double>(a.height) / static_cast<double>(image.dim(0)),
                               static_cast<double>(a.width) / static_cast<double>(image.dim(1)));
    const auto scaled = [&](int64_t extent, int64_t least) {
      return std::max(least, static_cast<int64_t>(std::lround(static_cast<double>(extent) * up)));
    };
    image = resize_image(image, scaled(image.dim(0), a.height), scaled(image.dim(1), a.width));
  }
  const Crop crop = crop_of(image.dim(0), image.dim(1));
  const RowSink sink = normalizer.sink();
  for (int64_t row = 0; row < crop.height; ++row)
    sink.take(sink.context, row, image.data<uint8_t>() + ((crop.top + row) * image.dim(1) + crop.left) * 3);
  return Tensor::from_storage(std::move(out), {DType::float32, {a.height, a.width, 3}});
}

Tensor resize_image(const Tensor& image, int64_t height, int64_t width) {
  check_image("resize_image", image);
  if (height < 1 || width < 1 || image.elements() == 0)
    fail<ValueError>("resize_image", "can't make {} x {} from {}", height, width, image.shape());
  const Shape shape{height, width, image.dim(2)};
  const TensorSpec spec{image.dtype(), shape};
  Storage out = Storage::allocate(static_cast<size_t>(spec.bytes()));
  if (image.dtype() == DType::uint8)
    resize(image.data<uint8_t>(), reinterpret_cast<uint8_t*>(out.data()), image.shape(), height, width);
  else
    resize(image.data<float>(), reinterpret_cast<float*>(out.data()), image.shape(), height, width);
  return Tensor::from_storage(std::move(out), spec);
}

Tensor crop_image(const Tensor& image, const Crop& crop) {
  check_image("crop_image", image);
  check_crop("crop_image", crop, image.dim(0), image.dim(1));
  const auto pixel = static_cast<size_t>(image.dim(2)) * size_of(image.dtype());
  const TensorSpec spec{image.dtype(), {crop.height, crop.width, image.dim(2)}};
  Storage out = Storage::allocate(static_cast<size_t>(spec.bytes()));
  const auto* from = static_cast<const std::byte*>(image.raw_data());
  const size_t row_bytes = static_cast<size_t>(crop.width) * pixel;
  for (int64_t row = 0; row < crop.height; ++row)
    std::memcpy(out.data() + static_cast<size_t>(row) * row_bytes,
                from + static_cast<size_t>((crop.top + row) * image.dim(1) + crop.left) * pixel, row_bytes);
  return Tensor::from_storage(std::move(out), spec);
}

Tensor flip_left_right(const Tensor& image) {
  check_image("flip_left_right", image);
  const int64_t pixel = image.dim(2) * static_cast<int64_t>(size_of(image.dtype())), row_bytes = image.dim(1) * pixel;
  Storage out = Storage::allocate(static_cast<size_t>(image.spec().bytes()));
  const auto* from = static_cast<const uint8_t*>(image.raw_data());
  auto* to = reinterpret_cast<uint8_t*>(out.data());
  for (int64_t row = 0; row < image.dim(0); ++row)
    flip_row(from + row * row_bytes, to + row * row_bytes, image.dim(1), pixel);
  return Tensor::from_storage(std::move(out), image.spec());
}

}  // namespace isochron::data
