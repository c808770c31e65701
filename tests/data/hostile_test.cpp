// Every reader of files over thousands of damaged copies of good ones: an error or a result, never a crash, a hang, or
// memory beyond what the file's size allows. `make asan` runs it under AddressSanitizer.
#include <gtest/gtest.h>
#include <sys/mman.h>
#include <unistd.h>
#include <zstd.h>

#include <random>

#include "isochron/base/deflate.h"
#include "isochron/base/files.h"
#include "isochron/base/input_file.h"
#include "isochron/base/memory_info.h"
#include "isochron/data/files/csv.h"
#include "isochron/data/files/example.h"
#include "isochron/data/files/tfrecord.h"
#include "isochron/data/image/image.h"
#include "isochron/tensor/npy.h"
#include "tests/data/collect.h"
#include "tests/source_dir.h"

namespace isochron::data {
namespace {

std::string reference(const std::string& name) {
  return read_file(std::string(ISOCHRON_SOURCE_DIR) + "/tests/references/" + name);
}

// A copy with bits flipped, bytes set to extreme values, pieces cut out, doubled or put elsewhere.
std::string damaged(const std::string& good, std::mt19937_64& random) {
  std::string bytes = good;
  const auto below = [&](size_t n) { return n == 0 ? 0 : static_cast<size_t>(random() % n); };
  for (size_t times = 1 + below(4); times > 0 && !bytes.empty(); --times) {
    const size_t at = below(bytes.size()), length = std::min(bytes.size() - at, 1 + below(16));
    switch (random() % 6) {
      case 0:
        bytes[at] = static_cast<char>(bytes[at] ^ (1 << below(8)));
        break;
      case 1:
        for (size_t i = 0; i < std::min<size_t>(length, 8); ++i)
          bytes[at + i] = static_cast<char>(random() & 1 ? 0xFF : 0);
        break;
      case 2:
        bytes.resize(at);
        break;
      case 3:
        bytes.erase(at, length);
        break;
      case 4:
        bytes.insert(at, bytes.substr(below(bytes.size()), length));
        break;
      default:
        bytes[at] = static_cast<char>(random());
    }
  }
  return bytes;
}

template <class F>
void attack(const std::string& good, int copies, F&& read) {
  std::mt19937_64 random(42);
  const int64_t before = peak_resident_bytes();
  read(good);
  int refused = 0;
  for (int i = 0; i < copies; ++i) {
    const std::string bytes = damaged(good, random);
    try {
      read(bytes);
    } catch (const Error&) {
      ++refused;
    }
  }
  EXPECT_GT(refused, 0);
  EXPECT_LT(peak_resident_bytes() - before, int64_t{600} << 20);
}

class HostileFiles : public testing::Test {
 protected:
  HostileFiles() : fd_(memfd_create("hostile", MFD_CLOEXEC)), path_(fmt::format("/proc/self/fd/{}", fd_)) {}
  ~HostileFiles() override { close(fd_); }
  // A file with these bytes; thousands of them need no disk.
  const std::string& file(const std::string& bytes) {
    EXPECT_EQ(ftruncate(fd_, 0), 0);
    EXPECT_EQ(pwrite(fd_, bytes.data(), bytes.size(), 0), static_cast<ssize_t>(bytes.size()));
    return path_;
  }

 private:
  const int fd_;
  const std::string path_;
};

TEST_F(HostileFiles, Npy) {
  for (const char* name : {"npy/float32.npy", "npy/fortran3.npy", "npy/big_int16.npy"})
    attack(reference(name), 500, [&](const std::string& bytes) { read_npy(file(bytes)).to_vector<double>(); });
}

TEST_F(HostileFiles, Npz) {
  for (const char* name : {"npy/plain.npz", "npy/packed.npz"})
    attack(reference(name), 1000, [&](const std::string& bytes) {
      const NpzArrays arrays = read_npz(file(bytes));
      for (const auto& [key, tensor] : arrays) tensor.to_vector<double>();
    });
}

TEST_F(HostileFiles, TfRecord) {
  for (const char* name : {"tfrecord/plain.tfrecord", "tfrecord/packed.tfrecord.gz"})
    attack(reference(name), 500, [&](const std::string& bytes) {
      TfRecordReader reader(file(bytes));
      for (std::string_view record; reader.next(record);) continue;
    });
  attack(reference("tfrecord/plain.tfrecord"), 500, [&](const std::string& bytes) {
    const MappedFile mapped(file(bytes));
    for (uint64_t offset : tfrecord_offsets(mapped)) tfrecord_at(mapped, offset);
  });
}

TEST_F(HostileFiles, Example) {
  TfRecordReader reader(std::string(ISOCHRON_SOURCE_DIR) + "/tests/references/tfrecord/plain.tfrecord");
  std::string_view record;
  ASSERT_TRUE(reader.next(record) && reader.next(record));
  const ExampleParser parser({{"pixels", FixedLen(DType::float32, {6})},
                              {"label", FixedLen(DType::int64)},
                              {"tags", VarLen(DType::int32)},
                              {"name", Text("?")},
                              {"raw", RawBytes(DType::uint8, {4})}});
  attack(std::string(record), 20000, [&](const std::string& bytes) { parser.parse(bytes); });
}

TEST_F(HostileFiles, Csv) {
  const std::string good =
      "id,size,name,ok\n1,2.5,\"a \"\"b\"\", c\",true\n-7,1e-3,\"x\ny\",false\n,nan,z,true\n12,7,w,false\n";
  attack(good, 2000, [&](const std::string& bytes) { read_csv(file(bytes), {.label = "id"}).features(); });
}

TEST_F(HostileFiles, PackedInput) {
  std::string text, gzip, zstd;
  for (int i = 0; i < 3000; ++i) text += std::to_string(i * 7919) + "\n";
  Deflater deflater(Deflater::Format::gzip);
  deflater.add(text, gzip);
  deflater.finish(gzip);
  zstd.resize(ZSTD_compressBound(text.size()));
  zstd.resize(ZSTD_compress(zstd.data(), zstd.size(), text.data(), text.size(), 3));
  for (const std::string& good : {gzip, zstd})
    attack(good, 1000, [&](const std::string& bytes) { read_input_file(file(bytes), 1 << 24); });
}

TEST_F(HostileFiles, Images) {
  for (const char* name : {"images/420.jpg", "images/progressive.jpg", "images/cmyk.jpg", "images/rgb.png",
                           "images/palette.png", "images/sixteen.png"})
    attack(reference(name), 500, [&](const std::string& bytes) {
      // A header may honestly claim up to 512 MB; what is tested here is what happens with less.
      const ImageInfo info = image_info(bytes);
      if (info.height * info.width > 1 << 22) fail<FileError>("test", "large");
      decode_image(bytes);
      decode_augmented(bytes, {.height = 20, .width = 20}, 1);
    });
}

}  // namespace
}  // namespace isochron::data
