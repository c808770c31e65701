#include "isochron/tensor/npy.h"

#include <gmock/gmock.h>

#include <cstring>
#include <fstream>
#include <nlohmann/json.hpp>

#include "isochron/base/files.h"
#include "isochron/base/zip.h"
#include "tests/message_of.h"
#include "tests/source_dir.h"

namespace isochron {
namespace {

using testing::HasSubstr;

std::string reference(const std::string& name) {
  return std::string(ISOCHRON_SOURCE_DIR) + "/tests/references/npy/" + name;
}

TEST(Npy, ReadsWhatNumpyWrote) {
  const auto expected = nlohmann::json::parse(read_file(reference("expected.json")));
  ASSERT_EQ(expected.size(), 19u);
  for (const auto& [name, array] : expected.items()) {
    const Tensor tensor = read_npy(reference(name + ".npy"));
    EXPECT_EQ(tensor.shape().to_vector(), array.at("shape").get<std::vector<int64_t>>()) << name;
    EXPECT_EQ(tensor.to_vector<double>(), array.at("values").get<std::vector<double>>()) << name;
  }
  EXPECT_EQ(read_npy(reference("bfloat16.npy")).dtype(), DType::bfloat16);
  EXPECT_EQ(read_npy(reference("uint32.npy")).dtype(), DType::int64);
  EXPECT_THAT(message_of([] { read_npy(reference("complex.npy")); }), HasSubstr("complex.npy: dtype \"<c8\""));
}

TEST(Npy, ReadsArchives) {
  for (const char* file : {"plain.npz", "packed.npz"}) {
    const NpzArrays arrays = read_npz(reference(file));
    ASSERT_EQ(arrays.size(), 2u);
    EXPECT_EQ(arrays.at("x").shape(), (Shape{3, 4}));
    EXPECT_EQ(arrays.at("x").item<float>({2, 3}), 14.f);
    EXPECT_THAT(message_of([&] { arrays.at("z"); }), HasSubstr("has no array \"z\"; it has x, y"));
  }
}

TEST(Npy, WritesWhatItReads) {
  const TempFolder folder;
  std::vector<std::pair<std::string, Tensor>> all;
  for (const char* name :
       {"float32", "float64", "float16", "bfloat16", "int32", "int64", "uint8", "bool", "scalar", "empty"})
    all.emplace_back(name, read_npy(reference(std::string(name) + ".npy")));
  for (const bool compress : {false, true}) {
    write_npz(folder.file("all.npz"), all, {.compress = compress});
    const NpzArrays back = read_npz(folder.file("all.npz"));
    for (const auto& [name, tensor] : all) EXPECT_TRUE(same_elements(back.at(name), tensor)) << name;
  }
  for (const auto& [name, tensor] : all) {
    write_npy(folder.file(name), tensor);
    // Byte for byte what NumPy wrote.
    EXPECT_EQ(read_file(folder.file(name)), read_file(reference(name + ".npy"))) << name;
  }
}

TEST(Npy, WritingToAMappedArrayLeavesTheFileAlone) {
  const TempFolder folder;
  write_npy(folder.file("a.npy"), Tensor::from_buffer(std::vector<float>{1, 2, 3}, {3}));
  Variable weights(read_npy(folder.file("a.npy")));
  weights.assign(Tensor::from_buffer(std::vector<float>{4, 5, 6}, {3}));
  EXPECT_EQ(weights.to_vector<float>(), (std::vector<float>{4, 5, 6}));
  EXPECT_EQ(read_npy(folder.file("a.npy")).to_vector<float>(), (std::vector<float>{1, 2, 3}));
}

std::string npy_with(const std::string& header, const std::string& data) {
  std::string out("\x93NUMPY\x01\x00", 8);
  out += static_cast<char>(header.size() & 0xFF);
  out += static_cast<char>(header.size() >> 8);
  return out + header + data;
}

TEST(Npy, RefusesHeadersThatDoNotFit) {
  const TempFolder folder;
  const std::pair<std::string, const char*> cases[] = {
      {"PK", "does not begin with"},
      {npy_with("{'descr': '<f4', 'fortran_order': False, 'shape': (4,), }", "1234"), "needs more than the 4 bytes"},
      {npy_with("{'descr': '<f8', 'fortran_order': False, 'shape': (4611686018427387904, 4), }", ""),
       "needs more than"},
      {npy_with("{'descr': '<f8', 'fortran_order': False, 'shape': (), }", "1234"), "cut short"},
      {npy_with("{'descr': '<f4', 'shape': (1,), }", "1234"), "missing"},
      {npy_with("{'descr': '<f4", "1234"), "a string has no end"},
      {npy_with("{'descr': [('a', '<f4')], ", ""), "structured dtypes"},
      {npy_with("{'descr': '<f4', 'fortran_order': False, 'shape': (-1,), }", "1234"), "expected an extent"},
      {npy_with("", ""), "no NPY file"},
  };
  for (const auto& [bytes, rule] : cases) {
    write_file(folder.file("bad.npy"), bytes);
    EXPECT_THAT(message_of([&] { read_npy(folder.file("bad.npy")); }), HasSubstr(rule)) << bytes;
  }
}

TEST(Zip, DamageIsFoundWhereverItIs) {
  const std::string whole = read_file(reference("packed.npz"));
  const TempFolder folder;
  int refused = 0;
  for (size_t i = 0; i < whole.size(); ++i) {
    std::string damaged = whole;
    damaged[i] = static_cast<char>(damaged[i] ^ 0x55);
    write_file(folder.file("bad.npz"), damaged);
    // Names, dates and attributes may change unnoticed; the arrays may not.
    try {
      const NpzArrays arrays = read_npz(folder.file("bad.npz"));
      for (const auto& [name, tensor] : arrays)
        EXPECT_TRUE(tensor.shape() == (Shape{3, 4}) || tensor.shape() == (Shape{100, 100})) << i;
    } catch (const FileError&) {
      ++refused;
    }
  }
  EXPECT_GT(refused, static_cast<int>(whole.size()) / 2);
  for (size_t length = 0; length < whole.size(); length += 7) {
    write_file(folder.file("bad.npz"), whole.substr(0, length));
    EXPECT_THAT(message_of([&] { read_npz(folder.file("bad.npz")); }), HasSubstr("bad.npz")) << length;
  }
}

// A few bytes that are unpacked again and again fill any memory.
TEST(Zip, MembersThatShareTheirBytesAreRefused) {
  const TempFolder folder;
  write_npz(folder.file("one.npz"), {{"x", Tensor::from_buffer(std::vector<float>(1000, 1.f), {1000})}});
  const std::string bytes = read_file(folder.file("one.npz"));
  const size_t directory = bytes.find("PK\x01\x02"), end = bytes.find("PK\x05\x06");
  const std::string member = bytes.substr(directory, end - directory);
  std::string last = bytes.substr(end);
  const uint16_t members = 3;
  const auto size = static_cast<uint32_t>(members * member.size());
  for (const size_t at : {8, 10}) std::memcpy(last.data() + at, &members, 2);
  std::memcpy(last.data() + 12, &size, 4);
  write_file(folder.file("three.npz"), bytes.substr(0, directory) + member + member + member + last);
  EXPECT_THAT(message_of([&] { read_npz(folder.file("three.npz")); }),
              HasSubstr("three.npz: its members lie over each other, the last is x.npy"));
}

TEST(Zip, ASizeThatCannotBeIsRefusedBeforeAllocating) {
  const TempFolder folder;
  std::string bytes = read_file(reference("packed.npz"));
  const size_t directory = bytes.find("PK\x01\x02");
  const uint32_t huge = 0xFFFFFFF0u;
  std::memcpy(bytes.data() + directory + 24, &huge, 4);
  write_file(folder.file("bomb.npz"), bytes);
  EXPECT_THAT(message_of([&] { read_npz(folder.file("bomb.npz")); }), HasSubstr("which can't be"));
}

}  // namespace
}  // namespace isochron
