// Images: JPEG and PNG to uint8 arrays (height, width, channels) and back; resizing, cropping, flipping, normalising.
//
//   Tensor image = decode_image(read_file("cat.jpg"));                       // uint8 (h, w, 3)
//   Tensor small = resize_image(image, 224, 224);
//
//   auto train = image_files("photos/train")                                 // (file name, label) by folder
//                    .shuffle(10000)
//                    .map([](const std::string& file, int64_t label, const ElementContext& at) {
//                      return std::pair(decode_augmented(read_file(file), {.height = 224, .width = 224},
//                      at.random_seed), label);
//                    }, {.num_parallel_calls = AUTOTUNE})
//                    .batch(32).prefetch();
//   auto test = image_folder("photos/test", {.height = 224, .width = 224});  // (uint8 (224, 224, 3), label)
//
// Files that are damaged, cut short, or larger than kLargestImageBytes when decoded throw FileError before memory is
// taken for them. All functions may be called from several threads at once.
#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "isochron/data/dataset.h"

namespace isochron::data {

inline constexpr int64_t kLargestImageBytes = int64_t{1} << 29;

struct ImageInfo {
  int64_t height = 0, width = 0;
  int channels = 3;  // 1 grey, 2 grey and alpha, 3 RGB, 4 RGBA
};
// From the header alone. `name` (of the file) is for errors, here and below.
ImageInfo image_info(std::string_view bytes, const std::string& name = "image");

struct DecodeOptions {
  int channels = 3;  // 1, 3, 4 (PNG) or 0: as the file has them
  // A JPEG file much larger than this is decoded at 1/8 … 7/8 of its size, no smaller than this, which is several times
  // faster. 0: at its size.
  int64_t min_height = 0, min_width = 0;
};
Tensor decode_image(std::string_view bytes, const DecodeOptions& options = {}, const std::string& name = "image");

struct Crop {
  int64_t top = 0, left = 0, height = 0, width = 0;
};
// Only this part; of a JPEG file little else is decoded.
Tensor decode_and_crop(std::string_view bytes, const Crop& crop, int channels = 3, const std::string& name = "image");

// What training does to images at random: a part of them, perhaps mirrored, as float32 (x * scale - mean) / stddev.
struct Augmentation {
  int64_t height = 224, width = 224;  // smaller images are enlarged first
  bool flip = true;                   // half of them, left to right
  float scale = 1.f / 255;
  std::array<float, 3> mean = {0, 0, 0}, stddev = {1, 1, 1};
};
// float32 (height, width, 3); the same for the same seed.
Tensor decode_augmented(std::string_view bytes, const Augmentation& augmentation, uint64_t seed,
                        const std::string& name = "image");

// Bilinear with pixel centres at halves, as tf.image.resize; uint8 stays uint8, rounded.
Tensor resize_image(const Tensor& image, int64_t height, int64_t width);
Tensor crop_image(const Tensor& image, const Crop& crop);
Tensor flip_left_right(const Tensor& image);

std::string encode_jpeg(const Tensor& image, int quality = 90);  // uint8, 1 or 3 channels
std::string encode_png(const Tensor& image);                     // uint8, 1 to 4 channels

// Images below a folder with one folder a class. The classes are the names of the folders, sorted; the files of a class
// are sorted by name and found in folders below it too. FileError when there are none.
struct ImageListing {
  std::vector<std::string> classes;
  std::vector<std::string> files;
  std::vector<int64_t> labels;
};
ImageListing list_images(const std::string& folder);
// (file name, label).
Dataset image_files(const std::string& folder);

struct ImageFolderOptions {
  int64_t height = 0, width = 0;  // resized to this; 0: every image has its own size
  int channels = 3;
};
// (uint8 (height, width, channels), label); batches are decoded in place by several threads.
Dataset image_folder(const std::string& folder, const ImageFolderOptions& options = {});

}  // namespace isochron::data
