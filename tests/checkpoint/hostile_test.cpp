// Damaged and hostile files: an error that names the file, never a crash and never a tensor.
#include <gmock/gmock.h>

#include <cstring>

#include "isochron/base/files.h"
#include "isochron/base/rng.h"
#include "isochron/checkpoint/hdf5.h"
#include "isochron/checkpoint/safetensors.h"
#include "isochron/isochron.h"
#include "tests/source_dir.h"

namespace isochron {
namespace {

class Hostile : public testing::Test {
 protected:
  void refuses(const std::string& header, const std::string& words, size_t data = 16) {
    std::string bytes(8, '\0');
    const uint64_t size = header.size();
    std::memcpy(bytes.data(), &size, 8);
    refuses_bytes(bytes + header + std::string(data, '\1'), words);
  }
  void refuses_bytes(const std::string& bytes, const std::string& words) {
    write_file(path, bytes);
    EXPECT_THAT([&] { read_safetensors(path); }, testing::ThrowsMessage<FileError>(testing::HasSubstr(words))) << bytes;
  }
  TempFolder folder;
  const std::string path = folder.file("w.safetensors");
};

TEST_F(Hostile, SafetensorsHeadersAreChecked) {
  refuses_bytes("", "has 0 bytes");
  refuses_bytes(std::string(8, '\xff'), "the header should take 18446744073709551615 bytes");
  refuses_bytes(std::string("\x10\0\0\0\0\0\0\0{", 9), "the header should take 16 bytes, the file has 9");
  refuses("{\"a\":", "no JSON");
  refuses("[1]", "no JSON object");
  refuses(std::string(5000, '['), "nested too deeply");
  refuses(R"({"a":{"dtype":"F32","shape":[2]}})", "needs dtype, shape and data_offsets");
  refuses(R"({"a":{"dtype":"F8_E4M3","shape":[16],"data_offsets":[0,16]}})", "dtype F8_E4M3, which is not supported");
  refuses(R"({"a":{"dtype":"F32","shape":[4],"data_offsets":[0,32]}})", "lies at bytes 0 to 32 of 16");
  refuses(R"({"a":{"dtype":"F32","shape":[4],"data_offsets":[16,0]}})", "lies at bytes 16 to 0");
  refuses(R"({"a":{"dtype":"F32","shape":[3],"data_offsets":[0,16]}})", "takes 12 bytes, its data_offsets hold 16");
  refuses(R"({"a":{"dtype":"F32","shape":[4611686018427387904,4611686018427387904],"data_offsets":[0,16]}})",
          "too many elements");
  refuses(R"({"a":{"dtype":"F32","shape":[-4],"data_offsets":[0,16]}})", "-4 where a count belongs");
  refuses(R"({"a":{"dtype":"F32","shape":[2.5],"data_offsets":[0,16]}})", "2.5 where a count belongs");
  refuses(R"({"a":{"dtype":"F32","shape":[1,1,1,1,1,1,1,1,4],"data_offsets":[0,16]}})", "9 axes");
  refuses(
      R"({"a":{"dtype":"F32","shape":[4],"data_offsets":[0,16]},"b":{"dtype":"F32","shape":[2],"data_offsets":[8,16]}})",
      "begins at byte 8, the one before it ends at 16");
  refuses(
      R"({"a":{"dtype":"F32","shape":[1],"data_offsets":[0,4]},"b":{"dtype":"F32","shape":[2],"data_offsets":[8,16]}})",
      "begins at byte 8, the one before it ends at 4");
  refuses(R"({"a":{"dtype":"F32","shape":[2],"data_offsets":[0,8]}})", "16 bytes of data, 8 belong to tensors");
  refuses(
      R"({"a":{"dtype":"F32","shape":[4],"data_offsets":[0,16]},"a":{"dtype":"F32","shape":[4],"data_offsets":[0,16]}})",
      "\"a\" is named twice");
  refuses(R"({"__metadata__":{"a":1}})", "\"a\" is no string", 0);
  refuses_bytes(std::string("\x3a\0\0\0\0\0\0\0", 8) + R"({"a":{"dtype":"BOOL","shape":[2],"data_offsets":[0,2]}}   )" +
                    std::string("\x01\x02"),
                "is BOOL and has a byte 2");
}

// Every cut, and thousands of changed bytes: read or refused, with the file named, and nothing else.
TEST_F(Hostile, DamageIsAnErrorInBothFormats) {
  const std::string safetensors = read_file(ISOCHRON_SOURCE_DIR "/tests/checkpoint/files/torch_net.safetensors");
  const std::string hdf5 = read_file(ISOCHRON_SOURCE_DIR "/tests/checkpoint/files/keras_functional.weights.h5");
  int refused = 0;
  const auto survives = [&](const std::string& bytes, bool is_hdf5) {
    write_file(path, bytes);
    try {
      const NamedTensors tensors = is_hdf5 ? read_hdf5(path) : read_safetensors(path).tensors;
      for (const auto& [name, tensor] : tensors) (void)tensor.to_vector<double>();
    } catch (const FileError& error) {
      EXPECT_THAT(error.what(), testing::HasSubstr("w.safetensors"));
      ++refused;
    }
  };
  for (size_t cut = 0; cut < safetensors.size(); cut += 97) survives(safetensors.substr(0, cut), false);
  for (size_t cut = 0; cut < hdf5.size(); cut += 997) survives(hdf5.substr(0, cut), true);
  EXPECT_GT(refused, 60);
  const RandomStream numbers{1, 2};
  for (int i = 0; i < 300; ++i) {
    std::string bytes = i % 2 ? safetensors : hdf5;
    for (int k = 0; k < 3; ++k) {
      const PhiloxBlock r = numbers.block(static_cast<uint64_t>(3 * i + k));
      bytes[r[0] % std::min<size_t>(bytes.size(), i % 2 ? 600 : 31000)] = static_cast<char>(r[1]);
    }
    survives(bytes, i % 2 == 0);
  }
}

TEST_F(Hostile, Hdf5OfOtherKindsIsNamed) {
  write_file(path, "no");
  EXPECT_THAT([&] { read_hdf5(path); }, testing::ThrowsMessage<FileError>(testing::HasSubstr("is no HDF5 file")));
  std::string newer(96, '\0');
  std::memcpy(newer.data(), "\x89HDF\r\n\x1a\n\x02", 9);
  write_file(path, newer);
  EXPECT_THAT([&] { read_hdf5(path); }, testing::ThrowsMessage<FileError>(testing::HasSubstr("newer layout")));
}

std::string number(uint64_t value) { return {reinterpret_cast<const char*>(&value), sizeof value}; }

// Puts `now` in all places of `was`; both are numbers of the file.
void renumber(std::string& bytes, uint64_t was, uint64_t now) {
  int places = 0;
  for (size_t at = 0; (at = bytes.find(number(was), at)) != std::string::npos; at += 8, ++places)
    bytes.replace(at, 8, number(now));
  ASSERT_GT(places, 0) << was;
}

TEST_F(Hostile, Hdf5DatasetsThatShareTheirBytesAreRefused) {
  write_hdf5(path, {{"a", ones({4096})}, {"b", ones({777})}});
  std::string bytes = read_file(path);
  // Where the data lie stands before their size.
  const std::string place = bytes.substr(bytes.find(number(4 * 4096)) - 8, 16);
  bytes.replace(bytes.find(number(4 * 777)) - 8, 16, place);
  renumber(bytes, 777, 4096);
  write_file(path, bytes);
  EXPECT_THAT([&] { read_hdf5(path); },
              testing::ThrowsMessage<FileError>(testing::HasSubstr("datasets that lie over each other")));
}

// 65,535 nodes of 65,535 links each, all of them the same one.
TEST_F(Hostile, Hdf5PartsAreCounted) {
  write_hdf5(path, {{"a", ones({2})}});
  std::string bytes = read_file(path);
  renumber(bytes, bytes.find("TREE"), bytes.size());
  const uint64_t children = 65535, links = bytes.size() + 24 + 16 * (children + 1);
  bytes += std::string("TREE\0\0\xff\xff", 8) + std::string(16, '\xff');
  for (uint64_t i = 0; i <= children; ++i) bytes += number(0) + number(links);
  bytes += std::string("SNOD\1\0\xff\xff", 8);
  for (uint64_t i = 0; i < children; ++i) bytes += number(0) + number(0) + number(2) + number(0) + number(0);
  write_file(path, bytes);
  EXPECT_THAT([&] { read_hdf5(path); },
              testing::ThrowsMessage<FileError>(testing::HasSubstr("more than 10000000 parts")));
}

TEST_F(Hostile, Hdf5PathsAreBounded) {
  const std::string longest(kLongestHdf5Path, 'n');
  write_hdf5(path, {{longest, ones({2})}});
  EXPECT_EQ(read_hdf5(path).at(0).first, longest);
  std::string bytes = read_file(path);
  bytes[bytes.find(longest) + longest.size()] = 'n';
  write_file(path, bytes);
  EXPECT_THAT([&] { read_hdf5(path); },
              testing::ThrowsMessage<FileError>(testing::HasSubstr("name has no end within 4097 bytes")));
  EXPECT_THAT(
      [&] {
        write_hdf5(path, {{longest + "n", ones({2})}});
      },
      testing::ThrowsMessage<ValueError>(testing::HasSubstr("at most 4096 bytes, got 4097")));
}

}  // namespace
}  // namespace isochron
