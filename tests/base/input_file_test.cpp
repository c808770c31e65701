#include "isochron/base/input_file.h"

#include <fcntl.h>
#include <gmock/gmock.h>
#include <unistd.h>
#include <zlib.h>
#include <zstd.h>

#include "isochron/base/crc32c.h"
#include "isochron/base/error.h"
#include "isochron/base/files.h"
#include "isochron/base/page_cache.h"
#include "tests/base/fifo.h"

namespace isochron {
namespace {

using testing::HasSubstr;
using testing::ThrowsMessage;

std::string gzipped(const std::string& text) {
  std::string out(compressBound(text.size()) + 64, '\0');
  z_stream stream{};
  deflateInit2(&stream, 6, Z_DEFLATED, MAX_WBITS + 16, 8, Z_DEFAULT_STRATEGY);
  stream.next_in = reinterpret_cast<Bytef*>(const_cast<char*>(text.data()));
  stream.avail_in = static_cast<uInt>(text.size());
  stream.next_out = reinterpret_cast<Bytef*>(out.data());
  stream.avail_out = static_cast<uInt>(out.size());
  deflate(&stream, Z_FINISH);
  out.resize(stream.total_out);
  deflateEnd(&stream);
  return out;
}

std::string zstd_packed(const std::string& text) {
  std::string out(ZSTD_compressBound(text.size()), '\0');
  out.resize(ZSTD_compress(out.data(), out.size(), text.data(), text.size(), 3));
  return out;
}

std::string sample() {
  std::string text;
  for (int i = 0; i < 100000; ++i) text += std::to_string(i * 7919) + "\n";
  return text;
}

std::string message_of(const std::string& path) {
  try {
    read_input_file(path, 1 << 30);
  } catch (const FileError& error) {
    return error.what();
  }
  return "nothing was thrown";
}

TEST(InputFile, RefusesPositionsBehindTheEnd) {
  const TempFolder folder;
  const std::string text = sample();
  for (const std::string& bytes : {text, gzipped(text), zstd_packed(text)}) {
    write_file(folder.file("data"), bytes);
    InputFile file(folder.file("data"));
    file.seek(static_cast<int64_t>(text.size()));
    EXPECT_THAT([&] { file.seek(static_cast<int64_t>(text.size()) + 1); },
                ThrowsMessage<FileError>(HasSubstr(fmt::format("ends at {}, before the position", text.size()))));
  }
}

TEST(InputFile, ReadsPlainGzipAndZstdAlikeFromAnyPosition) {
  const TempFolder folder;
  const std::string text = sample();
  for (const std::string& bytes : {text, gzipped(text), zstd_packed(text)}) {
    write_file(folder.file("data"), bytes);
    EXPECT_EQ(read_input_file(folder.file("data"), 1 << 30), text);
    InputFile file(folder.file("data"));
    for (const int64_t at : {500000, 3, 0, 700000}) {
      file.seek(at);
      std::string piece(100, '\0');
      EXPECT_EQ(file.read(piece.data(), piece.size()), 100u);
      EXPECT_EQ(piece, text.substr(static_cast<size_t>(at), 100));
      EXPECT_EQ(file.offset(), at + 100);
    }
  }
}

TEST(InputFile, FramesOneAfterTheOtherAreOneText) {
  const TempFolder folder;
  write_file(folder.file("a"), zstd_packed("one,") + zstd_packed("two"));
  EXPECT_EQ(read_input_file(folder.file("a"), 100), "one,two");
  write_file(folder.file("a"), gzipped("one,") + gzipped("two"));
  EXPECT_EQ(read_input_file(folder.file("a"), 100), "one,two");
}

TEST(InputFile, SaysWherePackedDataIsDamagedOrEnds) {
  const TempFolder folder;
  const std::string path = folder.file("data");
  for (const std::string& whole : {gzipped(sample()), zstd_packed(sample())}) {
    write_file(path, whole.substr(0, whole.size() / 2));
    EXPECT_THAT(message_of(path), HasSubstr("ends too early"));
    std::string damaged = whole;
    for (size_t i = whole.size() / 2; i < whole.size() / 2 + 40; ++i) damaged[i] = static_cast<char>(~damaged[i]);
    write_file(path, damaged);
    EXPECT_THAT(message_of(path), HasSubstr("damaged"));
  }
  EXPECT_THAT(message_of(folder.file("absent")), HasSubstr("No such file"));
  EXPECT_THAT(message_of(folder.path()), HasSubstr("Is a directory"));
}

TEST(InputFile, ABombStopsAtTheLimit) {
  const TempFolder folder;
  write_file(folder.file("bomb"), zstd_packed(std::string(50 << 20, '0')));
  try {
    read_input_file(folder.file("bomb"), 1 << 20);
    FAIL();
  } catch (const FileError& error) {
    EXPECT_THAT(error.what(), HasSubstr("more than the limit of 1048576 bytes"));
  }
}

TEST(Crc32c, KnownValues) {
  // RFC 3720, appendix B.4, and the usual check value.
  EXPECT_EQ(crc32c("123456789"), 0xe3069283u);
  EXPECT_EQ(crc32c(std::string(32, '\0')), 0x8a9136aau);
  EXPECT_EQ(crc32c(std::string(32, '\xff')), 0x62a8ab43u);
  const std::string text = sample();
  ASSERT_GT(text.size(), 100003u);
  for (size_t n : {0, 1, 7, 8, 9, 1000, 12287, 12288, 12289, 30000, 100000}) {
    const std::string_view part = std::string_view(text).substr(3, n);
    EXPECT_EQ(crc32c(part), crc32c_by_table(part));
    EXPECT_EQ(crc32c(part.substr(n / 2), crc32c(part.substr(0, n / 2))), crc32c(part));
    EXPECT_EQ(crc32c_joined(crc32c(part.substr(0, n / 3)), crc32c(part.substr(n / 3)), n - n / 3), crc32c(part));
  }
}

TEST(PageCache, TellsWhatIsResident) {
  const TempFolder folder;
  write_file(folder.file("data"), std::string(1 << 20, 'x'));
  read_file(folder.file("data"));
  const CacheResidency warm = cache_residency(folder.file("data"));
  EXPECT_EQ(warm.bytes, 1 << 20);
  EXPECT_EQ(warm.resident_bytes, warm.bytes);
  // A large file by samples: of this one the second half is not there, where the file system can forget it.
  const std::string large = folder.file("large");
  write_file(large, std::string(32 << 20, 'x'));
  EXPECT_EQ(cache_residency(large).fraction(), 1);
  ASSERT_TRUE(drop_from_page_cache(large));
  const int fd = open(large.c_str(), O_RDONLY);
  posix_fadvise(fd, 0, 0, POSIX_FADV_RANDOM);
  std::string half(16 << 20, ' ');
  ASSERT_EQ(pread(fd, half.data(), half.size(), 0), 16 << 20);
  close(fd);
  const CacheResidency cold = cache_residency(large);
  EXPECT_EQ(cold.bytes, 32 << 20);
  if (cold.resident_bytes < cold.bytes) {
    EXPECT_NEAR(cold.fraction(), 0.5, 0.1);
  }
  EXPECT_EQ(cache_residency(folder.file("absent")).bytes, 0);
  EXPECT_FALSE(drop_from_page_cache(folder.file("absent")));
  ASSERT_EQ(mkfifo(folder.file("pipe").c_str(), 0600), 0);
  EXPECT_EQ(cache_residency(folder.file("pipe")).bytes, 0) << "and nobody waits for a writer";
  const DiskReads before = disk_reads_of_this_thread();
  EXPECT_GE((disk_reads_of_this_thread() - before).bytes, 0);
}

TEST(InputFile, PipesAreReadOnceAndNotUnpacked) {
  const TempFolder folder;
  {
    const Fifo fifo(folder.file("plain"), "a pipe");
    InputFile file(folder.file("plain"));
    char text[16];
    EXPECT_EQ(std::string(text, file.read(text, sizeof text)), "a pipe");
    EXPECT_THAT([&] { file.seek(0); }, ThrowsMessage<FileError>(HasSubstr("a pipe can't be read again from 0")));
  }
  for (const std::string& packed : {gzipped("text"), zstd_packed("text")}) {
    const std::string path = folder.file(packed.substr(0, 1) == "\x1f" ? "gzip" : "zstd");
    const Fifo fifo(path, packed);
    InputFile file(path);
    char text[64];
    EXPECT_THAT([&] { file.read(text, sizeof text); }, ThrowsMessage<FileError>(HasSubstr("zcat")));
  }
}

}  // namespace
}  // namespace isochron
