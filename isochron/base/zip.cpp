#include "isochron/base/zip.h"

#include <zlib.h>

#include <algorithm>
#include <climits>
#include <cstring>

#include "isochron/base/deflate.h"
#include "isochron/base/error.h"

namespace isochron {
namespace {

constexpr uint32_t kLocalHeader = 0x04034b50, kDirectoryHeader = 0x02014b50, kDirectoryEnd = 0x06054b50;
constexpr uint32_t kDirectoryEnd64 = 0x06064b50, kLocator64 = 0x07064b50;
constexpr uint16_t kZip64Extra = 1, kPaddingExtra = 0xD935;
constexpr size_t kLocalBytes = 30, kDirectoryBytes = 46, kEndBytes = 22, kEnd64Bytes = 56, kLocatorBytes = 20;
constexpr uint64_t kLargestDeflateRatio = 1032;
constexpr uint32_t kSeeZip64 = 0xFFFFFFFFu;

class Cursor {
 public:
  Cursor(const MappedFile& file, uint64_t at, uint64_t end) : file_(file), at_(at), end_(end) {}
  template <class T>
  T take() {
    need(sizeof(T));
    T value;
    std::memcpy(&value, file_.data() + at_, sizeof value);
    at_ += sizeof value;
    return value;
  }
  std::string_view take_bytes(uint64_t bytes) {
    need(bytes);
    const std::string_view out(file_.data() + at_, bytes);
    at_ += bytes;
    return out;
  }
  void skip(uint64_t bytes) { take_bytes(bytes); }
  uint64_t at() const { return at_; }
  uint64_t left() const { return end_ - at_; }

 private:
  void need(uint64_t bytes) const {
    if (at_ > end_ || bytes > end_ - at_)
      fail<FileError>("read_zip", "{}: the archive ends too early, at offset {}", file_.path(), at_);
  }
  const MappedFile& file_;
  uint64_t at_, end_;
};

struct Directory {
  uint64_t offset, bytes, members;
};

Directory find_directory(const MappedFile& file) {
  const std::string_view bytes = file.bytes();
  // The end record lies before a comment of up to 65,535 bytes.
  const size_t furthest = bytes.size() > kEndBytes + 65535 ? bytes.size() - kEndBytes - 65535 : 0;
  for (size_t at = bytes.size() < kEndBytes ? 0 : bytes.size() - kEndBytes; bytes.size() >= kEndBytes; --at) {
    uint32_t signature;
    std::memcpy(&signature, bytes.data() + at, 4);
    if (signature == kDirectoryEnd) {
      Cursor end(file, at + 10, bytes.size());
      Directory found{};
      found.members = end.take<uint16_t>();
      found.bytes = end.take<uint32_t>();
      found.offset = end.take<uint32_t>();
      if ((found.members == 0xFFFF || found.bytes == kSeeZip64 || found.offset == kSeeZip64) && at >= kLocatorBytes) {
        Cursor locator(file, at - kLocatorBytes, at);
        if (locator.take<uint32_t>() == kLocator64) {
          locator.skip(4);
          Cursor end64(file, locator.take<uint64_t>(), bytes.size());
          if (end64.take<uint32_t>() != kDirectoryEnd64)
            fail<FileError>("read_zip", "{}: the ZIP64 directory is not where offset {} says", file.path(), at - 12);
          end64.skip(28);
          found.members = end64.take<uint64_t>();
          found.bytes = end64.take<uint64_t>();
          found.offset = end64.take<uint64_t>();
        }
      }
      return found;
    }
    if (at == furthest) break;
  }
  fail<FileError>("read_zip", "{}: no ZIP archive: it has no directory at its end", file.path());
}

ZipMember read_directory_entry(const MappedFile& file, Cursor& cursor) {
  const uint64_t start = cursor.at();
  if (cursor.take<uint32_t>() != kDirectoryHeader)
    fail<FileError>("read_zip", "{}: damaged directory at offset {}", file.path(), start);
  cursor.skip(4);
  const auto flags = cursor.take<uint16_t>();
  const auto method = cursor.take<uint16_t>();
  cursor.skip(4);
  ZipMember member;
  member.crc = cursor.take<uint32_t>();
  member.packed_bytes = cursor.take<uint32_t>();
  member.bytes = cursor.take<uint32_t>();
  const auto name = cursor.take<uint16_t>(), extra = cursor.take<uint16_t>(), comment = cursor.take<uint16_t>();
  cursor.skip(8);
  uint64_t header = cursor.take<uint32_t>();
  member.name = cursor.take_bytes(name);
  Cursor extras(file, cursor.at(), cursor.at() + std::min<uint64_t>(extra, cursor.left()));
  cursor.skip(extra);
  cursor.skip(comment);
  while (extras.left() >= 4) {
    const auto id = extras.take<uint16_t>(), size = extras.take<uint16_t>();
    Cursor field(file, extras.at(), extras.at() + std::min<uint64_t>(size, extras.left()));
    extras.skip(size);
    if (id != kZip64Extra) continue;
    if (member.bytes == kSeeZip64) member.bytes = field.take<uint64_t>();
    if (member.packed_bytes == kSeeZip64) member.packed_bytes = field.take<uint64_t>();
    if (header == kSeeZip64) header = field.take<uint64_t>();
  }
  if (flags & 1) fail<FileError>("read_zip", "{}: {} is encrypted", file.path(), member.name);
  if (method != 0 && method != 8)
    fail<FileError>("read_zip", "{}: {} is packed by method {}, only stored and deflated are read", file.path(),
                    member.name, method);
  member.deflated = method == 8;
  Cursor local(file, header, file.size());
  if (local.take<uint32_t>() != kLocalHeader)
    fail<FileError>("read_zip", "{}: {} is not where the directory says, at offset {}", file.path(), member.name,
                    header);
  local.skip(22);
  const auto local_name = local.take<uint16_t>(), local_extra = local.take<uint16_t>();
  local.skip(local_name);
  local.skip(local_extra);
  member.offset = local.at();
  const bool fits = member.packed_bytes <= file.size() - member.offset;
  if (!fits || (member.deflated ? member.bytes / kLargestDeflateRatio > member.packed_bytes
                                : member.bytes != member.packed_bytes))
    fail<FileError>("read_zip", "{}: {} claims {} bytes in {} at offset {}, which can't be", file.path(), member.name,
                    member.bytes, member.packed_bytes, member.offset);
  return member;
}

uint32_t checksum(std::string_view bytes, uint32_t before = 0) {
  return static_cast<uint32_t>(crc32_z(before, reinterpret_cast<const Bytef*>(bytes.data()), bytes.size()));
}

void check(const MappedFile& file, const ZipMember& member, std::string_view bytes) {
  if (checksum(bytes) != member.crc)
    fail<FileError>("read_zip", "{}: {} at offset {} is damaged: its checksum is wrong", file.path(), member.name,
                    member.offset);
}

template <class T>
void put(std::string& out, T value) {
  out.append(reinterpret_cast<const char*>(&value), sizeof value);
}

std::string deflated(std::initializer_list<std::string_view> pieces) {
  std::string out;
  Deflater deflater(Deflater::Format::raw);
  for (std::string_view piece : pieces) deflater.add(piece, out);
  deflater.finish(out);
  return out;
}

}  // namespace

std::vector<ZipMember> zip_members(const MappedFile& file) {
  const Directory directory = find_directory(file);
  if (directory.offset > file.size() || directory.bytes > file.size() - directory.offset ||
      directory.members > directory.bytes / kDirectoryBytes)
    fail<FileError>("read_zip", "{}: a directory of {} members and {} bytes at offset {} does not fit into {} bytes",
                    file.path(), directory.members, directory.bytes, directory.offset, file.size());
  Cursor cursor(file, directory.offset, directory.offset + directory.bytes);
  std::vector<ZipMember> members;
  members.reserve(directory.members);
  uint64_t packed_bytes = 0;
  for (uint64_t i = 0; i < directory.members; ++i) {
    members.push_back(read_directory_entry(file, cursor));
    packed_bytes += members.back().packed_bytes;  // of each no more than the file has
    if (packed_bytes > file.size())
      fail<FileError>("read_zip", "{}: its members lie over each other, the last is {}", file.path(),
                      members.back().name);
  }
  return members;
}

std::string_view stored_zip_member(const MappedFile& file, const ZipMember& member) {
  ISO_CHECK(!member.deflated);
  const std::string_view bytes = file.bytes().substr(member.offset, member.bytes);
  check(file, member, bytes);
  return bytes;
}

std::string read_zip_member(const MappedFile& file, const ZipMember& member) {
  if (!member.deflated) return std::string(stored_zip_member(file, member));
  std::string out(member.bytes, '\0');
  z_stream stream{};
  if (inflateInit2(&stream, -MAX_WBITS) != Z_OK)
    fail<MemoryError>("read_zip", "{}: no memory to decompress", file.path());
  std::string_view input = file.bytes().substr(member.offset, member.packed_bytes);
  size_t filled = 0;
  int status = Z_OK;
  char beyond;  // takes the byte that would be too many
  while (status == Z_OK) {
    const size_t in = std::min<size_t>(input.size(), UINT_MAX), room = std::min<size_t>(out.size() - filled, UINT_MAX);
    stream.next_in = reinterpret_cast<Bytef*>(const_cast<char*>(input.data()));
    stream.avail_in = static_cast<uInt>(in);
    stream.next_out = reinterpret_cast<Bytef*>(room ? out.data() + filled : &beyond);
    stream.avail_out = room ? static_cast<uInt>(room) : 1;
    status = inflate(&stream, Z_NO_FLUSH);
    input.remove_prefix(in - stream.avail_in);
    if (room) filled += room - stream.avail_out;
    if (!room && stream.avail_out == 0) status = Z_DATA_ERROR;
  }
  inflateEnd(&stream);
  if (status != Z_STREAM_END || filled != out.size())
    fail<FileError>("read_zip", "{}: {} at offset {} is damaged: {} of {} bytes came out", file.path(), member.name,
                    member.offset, filled, out.size());
  check(file, member, out);
  return out;
}

void ZipWriter::write(std::string_view bytes) {
  file_.write(bytes.data(), bytes.size());
  offset_ += bytes.size();
}

void ZipWriter::add(const std::string& name, std::initializer_list<std::string_view> pieces, bool deflate) {
  if (name.empty() || name.size() > 65000)
    fail<ValueError>("write_zip", "a member's name has 1 to 65000 bytes, got {}", name.size());
  uint64_t bytes = 0;
  uint32_t crc = 0;
  for (std::string_view piece : pieces) {
    bytes += piece.size();
    crc = checksum(piece, crc);
  }
  const std::string packed = deflate ? deflated(pieces) : std::string();
  const uint64_t packed_bytes = deflate ? packed.size() : bytes, header_offset = offset_;
  const bool large = bytes >= kSeeZip64 || packed_bytes >= kSeeZip64;
  const auto size32 = [&](uint64_t size) { return large ? kSeeZip64 : static_cast<uint32_t>(size); };

  std::string local_extra;
  if (large) {
    put<uint16_t>(local_extra, kZip64Extra);
    put<uint16_t>(local_extra, 16);
    put(local_extra, bytes);
    put(local_extra, packed_bytes);
  }
  if (!deflate) {
    const uint64_t data_at = offset_ + kLocalBytes + name.size() + local_extra.size() + 4;
    const auto padding = static_cast<uint16_t>((64 - data_at % 64) % 64);
    put<uint16_t>(local_extra, kPaddingExtra);
    put<uint16_t>(local_extra, padding);
    local_extra.append(padding, '\0');
  }
  // Version, flags, method, and the DOS form of 1980-01-01: archives of the same tensors are the same bytes.
  std::string common;
  put<uint16_t>(common, large ? 45 : 20);
  put<uint16_t>(common, 1 << 11);
  put<uint16_t>(common, deflate ? 8 : 0);
  put<uint32_t>(common, 0x00210000);
  put(common, crc);
  put(common, size32(packed_bytes));
  put(common, size32(bytes));
  put(common, static_cast<uint16_t>(name.size()));

  std::string local;
  put(local, kLocalHeader);
  local += common;
  put(local, static_cast<uint16_t>(local_extra.size()));
  write(local + name + local_extra);
  if (deflate) {
    write(packed);
  } else {
    for (std::string_view piece : pieces) write(piece);
  }

  const bool far = header_offset >= kSeeZip64;
  std::string extra;
  if (large || far) {
    put<uint16_t>(extra, kZip64Extra);
    put<uint16_t>(extra, static_cast<uint16_t>((large ? 16 : 0) + (far ? 8 : 0)));
    if (large) put(extra, bytes);
    if (large) put(extra, packed_bytes);
    if (far) put(extra, header_offset);
  }
  put(directory_, kDirectoryHeader);
  put<uint16_t>(directory_, large || far ? 45 : 20);
  directory_ += common;
  put(directory_, static_cast<uint16_t>(extra.size()));
  directory_.append(10, '\0');  // comment, disk, attributes
  put(directory_, far ? kSeeZip64 : static_cast<uint32_t>(header_offset));
  directory_ += name + extra;
  ++members_;
}

void ZipWriter::commit() {
  const uint64_t start = offset_, bytes = directory_.size();
  write(directory_);
  std::string end;
  if (members_ >= 0xFFFF || start >= kSeeZip64 || bytes >= kSeeZip64) {
    const uint64_t end64_at = offset_;
    put(end, kDirectoryEnd64);
    put<uint64_t>(end, kEnd64Bytes - 12);
    put<uint16_t>(end, 45);
    put<uint16_t>(end, 45);
    put<uint64_t>(end, 0);
    put(end, members_);
    put(end, members_);
    put(end, bytes);
    put(end, start);
    put(end, kLocator64);
    put<uint32_t>(end, 0);
    put(end, end64_at);
    put<uint32_t>(end, 1);
  }
  put(end, kDirectoryEnd);
  put<uint32_t>(end, 0);
  for (int i = 0; i < 2; ++i) put(end, static_cast<uint16_t>(std::min<uint64_t>(members_, 0xFFFF)));
  put(end, static_cast<uint32_t>(std::min<uint64_t>(bytes, kSeeZip64)));
  put(end, static_cast<uint32_t>(std::min<uint64_t>(start, kSeeZip64)));
  put<uint16_t>(end, 0);
  write(end);
  file_.commit();
}

}  // namespace isochron
