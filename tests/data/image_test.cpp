#include "isochron/data/image/image.h"

#include <gmock/gmock.h>
#include <filesystem>

#include "isochron/base/files.h"
#include "isochron/tensor/npy.h"
#include "tests/data/collect.h"
#include "tests/message_of.h"
#include "tests/source_dir.h"

namespace isochron::data {
namespace {

using testing::HasSubstr;

std::string reference(const std::string& name) {
  return std::string(ISOCHRON_SOURCE_DIR) + "/tests/references/images/" + name;
}

int largest_difference(const Tensor& a, const Tensor& b) {
  EXPECT_EQ(a.shape(), b.shape());
  const auto x = a.to_vector<int>(), y = b.to_vector<int>();
  int out = 0;
  for (size_t i = 0; i < std::min(x.size(), y.size()); ++i) out = std::max(out, std::abs(x[i] - y[i]));
  return out;
}

TEST(DecodeImage, SeesWhatPillowSees) {
  for (const char* name : {"420.jpg", "444.jpg", "progressive.jpg", "grey.jpg", "rgb.png", "grey.png", "rgba.png",
                           "palette.png", "one_bit.png", "sixteen.png"})
    EXPECT_EQ(
        largest_difference(decode_image(read_file(reference(name))), read_npy(reference(name) + std::string(".npy"))),
        0)
        << name;
  // Against the picture it was made from.
  EXPECT_LE(largest_difference(decode_image(read_file(reference("cmyk.jpg"))), read_npy(reference("cmyk.jpg.npy"))),
            40);
}

TEST(DecodeImage, ChannelsAndInfo) {
  const ImageInfo info = image_info(read_file(reference("rgba.png")));
  EXPECT_EQ(info.height, 37);
  EXPECT_EQ(info.width, 45);
  EXPECT_EQ(info.channels, 4);
  EXPECT_EQ(decode_image(read_file(reference("rgba.png")), {.channels = 0}).shape(), (Shape{37, 45, 4}));
  EXPECT_EQ(decode_image(read_file(reference("grey.jpg")), {.channels = 0}).shape(), (Shape{37, 45, 1}));
  EXPECT_EQ(decode_image(read_file(reference("420.jpg")), {.channels = 1}).shape(), (Shape{37, 45, 1}));
}

TEST(DecodeImage, ScalesDownWhileDecoding) {
  const std::string bytes = read_file(reference("444.jpg"));
  EXPECT_EQ(decode_image(bytes, {.min_height = 10, .min_width = 10}).shape(), (Shape{10, 12, 3}));
  EXPECT_EQ(decode_image(bytes, {.min_height = 37, .min_width = 1}).shape(), (Shape{37, 45, 3}));
}

TEST(DecodeImage, APartIsThePartOfTheWhole) {
  for (const char* name : {"444.jpg", "420.jpg", "progressive.jpg", "rgb.png"}) {
    const std::string bytes = read_file(reference(name));
    const Tensor whole = decode_image(bytes);
    for (const Crop& crop : {Crop{0, 0, 37, 45}, Crop{5, 20, 17, 19}, Crop{30, 1, 7, 44}, Crop{13, 40, 20, 5}})
      EXPECT_LE(largest_difference(decode_and_crop(bytes, crop), crop_image(whole, crop)), 0)
          << name << " " << crop.left;
    EXPECT_THROW(decode_and_crop(bytes, {30, 0, 8, 45}), ValueError);
  }
}

TEST(ResizeImage, EqualsTensorflow) {
  const Tensor image = read_npy(reference("rgb.png.npy"));
  for (const auto& [height, width] : {std::pair{20, 60}, std::pair{64, 31}}) {
    const Tensor expected = read_npy(reference(fmt::format("resized_{}_{}.npy", height, width)));
    EXPECT_TRUE(
        allclose(resize_image(image.to(DType::float32), height, width), expected.to(DType::float32), 1e-3, 0.07));
    EXPECT_LE(largest_difference(resize_image(image, height, width), expected), 1);
  }
}

TEST(ImageHelpers, FlipAndCrop) {
  const Tensor image = Tensor::from_buffer(std::vector<uint8_t>{1, 2, 3, 4, 5, 6}, {1, 3, 2});
  EXPECT_EQ(flip_left_right(image).to_vector<int>(), (std::vector<int>{5, 6, 3, 4, 1, 2}));
  EXPECT_EQ(crop_image(image, {0, 1, 1, 2}).to_vector<int>(), (std::vector<int>{3, 4, 5, 6}));
}

TEST(DecodeAugmented, IsACropPerhapsMirroredNormalised) {
  const Augmentation augmentation{.height = 30, .width = 30, .mean = {0.5f, 0.25f, 0}, .stddev = {0.5f, 1, 2}};
  for (const char* name : {"444.jpg", "rgb.png"}) {
    const std::string bytes = read_file(reference(name));
    const Tensor whole = decode_image(bytes);
    int found = 0, mirrored = 0;
    for (uint64_t seed = 0; seed < 20; ++seed) {
      const Tensor out = decode_augmented(bytes, augmentation, seed);
      EXPECT_TRUE(same_elements(out, decode_augmented(bytes, augmentation, seed)));
      const auto values = out.to_vector<float>();
      for (int64_t top = 0; top <= 7; ++top)
        for (int64_t left = 0; left <= 15; ++left)
          for (const bool flip : {false, true}) {
            Tensor part = crop_image(whole, {top, left, 30, 30});
            if (flip) part = flip_left_right(part);
            const auto pixels = part.to_vector<float>();
            bool same = true;
            for (size_t i = 0; i < pixels.size() && same; ++i)
              same = std::abs(values[i] - (pixels[i] / 255 - augmentation.mean[i % 3]) / augmentation.stddev[i % 3]) <
                     1e-5f;
            found += same;
            mirrored += same && flip;
          }
    }
    EXPECT_EQ(found, 20) << name;
    EXPECT_GT(mirrored, 3) << name;
    EXPECT_LT(mirrored, 17) << name;
  }
  EXPECT_EQ(decode_augmented(read_file(reference("444.jpg")), {.height = 100, .width = 50}, 1).shape(),
            (Shape{100, 50, 3}));
}

TEST(DecodeImage, DamageIsAnErrorThatNamesTheFile) {
  for (const char* name : {"420.jpg", "progressive.jpg", "rgb.png", "palette.png"}) {
    const std::string whole = read_file(reference(name));
    EXPECT_THAT(message_of([&] { decode_image(whole.substr(0, whole.size() / 2), {}, "cut"); }),
                HasSubstr("cut: damaged"))
        << name;
    for (size_t i = 0; i < whole.size(); i += 3) {
      std::string bytes = whole;
      bytes[i] = static_cast<char>(~bytes[i]);
      try {
        decode_image(bytes);
      } catch (const FileError&) {
      }
    }
  }
  EXPECT_THAT(message_of([] { decode_image("GIF89a", {}, "a.gif"); }), HasSubstr("a.gif: neither JPEG nor PNG"));
}

TEST(DecodeImage, AHeaderThatClaimsTooMuchIsRefused) {
  std::string bytes = read_file(reference("420.jpg"));
  const size_t frame = bytes.find("\xFF\xC0");
  for (size_t i = 5; i < 9; ++i) bytes[frame + i] = '\xFA';
  EXPECT_THAT(message_of([&] { decode_image(bytes); }), HasSubstr("64250 x 64250 pixels"));
}

TEST(EncodeImage, ComesBack) {
  const Tensor image = read_npy(reference("rgb.png.npy"));
  EXPECT_EQ(largest_difference(decode_image(encode_png(image)), image), 0);
  const Tensor grey = decode_image(encode_png(image), {.channels = 1});
  EXPECT_LE(largest_difference(decode_image(encode_jpeg(grey, 100), {.channels = 1}), grey), 3);
  EXPECT_THROW(encode_jpeg(image.to(DType::float32)), ValueError);
}

TEST(ImageFolder, LabelsAreTheSortedNamesOfFolders) {
  const TempFolder folder;
  const std::string png = read_file(reference("rgb.png")), jpeg = read_file(reference("420.jpg"));
  for (const char* name : {"dog", "cat/inner"}) std::filesystem::create_directories(folder.file(name));
  write_file(folder.file("dog/1.png"), png);
  write_file(folder.file("cat/b.JPG"), jpeg);
  write_file(folder.file("cat/inner/a.jpeg"), jpeg);
  write_file(folder.file("cat/notes.txt"), "no image");
  const ImageListing listing = list_images(folder.path());
  EXPECT_EQ(listing.classes, (std::vector<std::string>{"cat", "dog"}));
  EXPECT_EQ(listing.labels, (std::vector<int64_t>{0, 0, 1}));
  for (const Element& batch : image_folder(folder.path(), {.height = 20, .width = 30}).batch(3)) {
    EXPECT_EQ(batch[0].shape(), (Shape{3, 20, 30, 3}));
    EXPECT_EQ(batch[1].tensor().to_vector<int64_t>(), listing.labels);
  }
  int seen = 0;
  for (const Element& e : image_files(folder.path())) seen += e[0].text().size() > 4 && e[1].item<int64_t>() < 2;
  EXPECT_EQ(seen, 3);
  write_file(folder.file("dog/2.png"), png.substr(0, 100));
  EXPECT_THAT(message_of([&] {
                for (const Element& e : image_folder(folder.path())) (void)e;
              }),
              HasSubstr("dog/2.png: damaged PNG"));
  EXPECT_THAT(message_of([&] { list_images(folder.file("dog")); }), HasSubstr("no .jpg, .jpeg or .png files"));
}

}  // namespace
}  // namespace isochron::data
