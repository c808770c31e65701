#include "isochron/data/idx.h"

#include <gtest/gtest.h>

#include "isochron/base/files.h"
#include "tests/source_dir.h"

namespace isochron::data {
namespace {

std::string bundled(const char* name) { return std::string(ISOCHRON_SOURCE_DIR) + "/data/" + name; }

TEST(Idx, ReadsTheBundledMnist) {
  const Mnist mnist = read_mnist(bundled("mnist"));
  EXPECT_EQ(mnist.train_images.shape(), (Shape{60000, 28, 28}));
  EXPECT_EQ(mnist.test_labels.shape(), (Shape{10000}));
  // The first ten test labels of MNIST, known from everywhere it is shown.
  const std::vector<int> labels = mnist.test_labels.to_vector<int>();
  EXPECT_EQ(std::vector<int>(labels.begin(), labels.begin() + 10), (std::vector<int>{7, 2, 1, 0, 4, 1, 4, 9, 5, 9}));
  int64_t sum = 0;
  const uint8_t* pixels = mnist.test_images.data<uint8_t>();
  for (int64_t i = 0; i < mnist.test_images.elements(); ++i) sum += pixels[i];
  EXPECT_NEAR(static_cast<double>(sum) / static_cast<double>(mnist.test_images.elements()), 33.79, 0.01);
}

TEST(Digits, ReadsTheBundledFile) {
  const Digits digits = read_digits(bundled("digits.csv.gz"));
  EXPECT_EQ(digits.pixels.shape(), (Shape{1797, 64}));
  EXPECT_EQ(digits.labels.item<int64_t>({0}), 0);
  EXPECT_EQ(digits.labels.item<int64_t>({9}), 9);
}

TEST(Idx, BadFilesAreRefusedWithTheirPath) {
  const TempFolder folder;
  const auto refused = [&](const std::string& bytes, const char* part) {
    const std::string path = std::string(folder.path()) + "/x.idx";
    write_file(path, bytes);
    try {
      read_idx(path);
      ADD_FAILURE() << "read " << part;
    } catch (const FileError& e) {
      EXPECT_NE(std::string(e.what()).find(path), std::string::npos) << e.what();
      EXPECT_NE(std::string(e.what()).find(part), std::string::npos) << e.what();
    }
  };
  refused("", "no IDX file");
  refused("hello", "no IDX file");
  refused(std::string("\0\0\x0d\x01", 4), "type 13");
  refused(std::string("\0\0\x08\x09", 4), "9 axes");
  refused(std::string("\0\0\x08\x01\0\0\0\x05"
                      "abc",
                      11),
          "needs 5 bytes, the file has 3");
  refused(std::string("\0\0\x08\x03\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff", 16), "");
  EXPECT_THROW(read_idx(std::string(folder.path()) + "/missing"), FileError);
}

}  // namespace
}  // namespace isochron::data
