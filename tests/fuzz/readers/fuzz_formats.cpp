// One libFuzzer target for each format of data; FUZZ_READER chooses it. Whatever the bytes are, reading them ends in a
// result or in an isochron::Error; everything else is a defect.
#include <sys/mman.h>
#include <unistd.h>

#include <cstdint>
#include <string>
#include <string_view>

#include "isochron/base/error.h"
#include "isochron/checkpoint/hdf5.h"
#include "isochron/checkpoint/manifest.h"
#include "isochron/checkpoint/safetensors.h"
#include "isochron/data/files/csv.h"
#include "isochron/data/files/csv_parse.h"
#include "isochron/data/files/example.h"
#include "isochron/data/files/tfrecord.h"
#include "isochron/data/idx.h"
#include "isochron/data/image/image.h"
#include "isochron/tensor/npy.h"

namespace {

using namespace isochron;
using namespace isochron::data;

// A file with these bytes that needs no disk.
class MemoryFile {
 public:
  explicit MemoryFile(std::string_view bytes) : fd_(memfd_create("fuzz", MFD_CLOEXEC)) {
    if (write(fd_, bytes.data(), bytes.size()) != static_cast<ssize_t>(bytes.size())) __builtin_trap();
  }
  ~MemoryFile() { close(fd_); }
  std::string path() const { return "/proc/self/fd/" + std::to_string(fd_); }

 private:
  const int fd_;
};

// The first byte chooses options, the rest is the file: the way csv() goes, block by block.
[[maybe_unused]] void read_csv(std::string_view bytes) {
  const auto choice = static_cast<unsigned char>(bytes.empty() ? 0 : bytes[0]);
  const MemoryFile file(bytes.substr(bytes.empty() ? 0 : 1));
  CsvOptions options;
  if (choice & 1) options.delimiter = ';';
  if (choice & 2) options.header = false;
  if (choice & 4) options.defaults = {{"a", -1}};
  if (choice & 8) options.max_row_bytes = 64;
  csv_file::BlockReader reader(file.path(), options.max_row_bytes);
  csv_file::TextBlock block;
  if (!reader.next(block)) return;
  size_t data_at = 0;
  const csv_file::Schema schema = csv_file::infer_schema("fuzz", block.text(), options, (choice & 16) != 0, data_at);
  try {
    do {
      csv_file::parse_rows(schema, block, data_at);
      data_at = 0;
    } while (reader.next(block));
  } catch (const csv_file::FieldError& error) {
    csv_file::fail_field(file.path(), schema, error);
  }
}

const ExampleParser& parser() {
  static const ExampleParser all({{"pixels", FixedLen(DType::float32, {6})},
                                  {"label", FixedLen(DType::int64)},
                                  {"weight", FixedLen(DType::float32, {}, {1.0})},
                                  {"tags", VarLen(DType::int32)},
                                  {"name", Text("?")},
                                  {"raw", RawBytes(DType::uint8, {4})}});
  return all;
}

[[maybe_unused]] void read_example(std::string_view bytes) { parser().parse(bytes); }

// As a stream, packed or not, and by an index of its records.
[[maybe_unused]] void read_tfrecord(std::string_view bytes) {
  const MemoryFile file(bytes);
  try {
    TfRecordReader reader(file.path(), {.max_record_bytes = 1 << 20});
    for (std::string_view record; reader.next(record);) parser().parse(record);
  } catch (const Error&) {
  }
  const MappedFile mapped(file.path());
  for (const uint64_t offset : tfrecord_offsets(mapped)) tfrecord_at(mapped, offset);
}

[[maybe_unused]] void read_npy(std::string_view bytes) {
  isochron::read_npy(MemoryFile(bytes).path()).to_vector<double>();
}

[[maybe_unused]] void read_npz(std::string_view bytes) {
  const NpzArrays arrays = isochron::read_npz(MemoryFile(bytes).path());
  for (const auto& [name, tensor] : arrays) tensor.to_vector<double>();
}

[[maybe_unused]] void read_idx(std::string_view bytes) { data::read_idx(MemoryFile(bytes).path()).to_vector<double>(); }

// Of any kind: the first bytes say which.
[[maybe_unused]] void read_image(std::string_view bytes) {
  const ImageInfo info = image_info(bytes);
  if (info.height * info.width > 1 << 20) return;  // honest, and slow under a sanitizer
  decode_image(bytes);
  decode_image(bytes, {.channels = 1, .min_height = 4, .min_width = 4});
  decode_augmented(bytes, {.height = 20, .width = 20}, 1);
}

void touch(const NamedTensors& tensors) {
  for (const auto& [name, tensor] : tensors) tensor.to_vector<double>();
}

[[maybe_unused]] void read_hdf5(std::string_view bytes) { touch(isochron::read_hdf5(MemoryFile(bytes).path())); }

[[maybe_unused]] void read_safetensors(std::string_view bytes) {
  touch(isochron::read_safetensors(MemoryFile(bytes).path()).tensors);
}

// Its checksum is always right: without it nothing else would be looked at.
[[maybe_unused]] void read_manifest(std::string_view bytes) {
  parse_manifest("fuzz", sealed_manifest(std::string(bytes)), "state.safetensors");
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  try {
    FUZZ_READER(std::string_view(reinterpret_cast<const char*>(data), size));
  } catch (const Error&) {
  }
  return 0;
}
