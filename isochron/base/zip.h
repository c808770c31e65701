// ZIP archives as NumPy and Keras write them: members stored or deflated, ZIP64, read from a mapped file.
//
//   MappedFile file("weights.npz");
//   for (const ZipMember& member : zip_members(file)) std::string bytes = read_zip_member(file, member);
//
//   ZipWriter archive(path);                       // appears complete or not at all
//   archive.add("kernel.npy", header, data);
//   archive.commit();
//
// Sizes are checked against the file before anything is allocated (deflate can't grow data more than 1032 times), and
// checksums when it is read. Throws FileError naming the file, the member and the offset.
#pragma once

#include <cstdint>
#include <initializer_list>
#include <string>
#include <string_view>
#include <vector>

#include "isochron/base/files.h"
#include "isochron/base/mapped_file.h"

namespace isochron {

struct ZipMember {
  std::string name;
  uint64_t offset = 0;        // of its data in the file
  uint64_t packed_bytes = 0;  // in the file
  uint64_t bytes = 0;         // unpacked
  uint32_t crc = 0;
  bool deflated = false;
};

std::vector<ZipMember> zip_members(const MappedFile& file);
std::string read_zip_member(const MappedFile& file, const ZipMember& member);
// The bytes of a stored member in place, with the checksum verified.
std::string_view stored_zip_member(const MappedFile& file, const ZipMember& member);

class ZipWriter {
 public:
  explicit ZipWriter(const std::string& path) : file_(path) {}
  // One member made of the pieces one after the other. Stored members begin at a multiple of 64 bytes of the file, so
  // that they can be used where they are mapped.
  void add(const std::string& name, std::initializer_list<std::string_view> pieces, bool deflate = false);
  void commit();

 private:
  void write(std::string_view bytes);
  AtomicFile file_;
  uint64_t offset_ = 0;
  std::string directory_;
  uint64_t members_ = 0;
};

}  // namespace isochron
