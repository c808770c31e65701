// Data sets from files of records: TFRecord, lines of text, raw bytes, arrays of NumPy.
//
//   auto train = tfrecord("train-*.tfrecord", {{"image", RawBytes(DType::uint8, {28, 28})},
//                                              {"label", FixedLen(DType::int64)}})
//                    .shuffle(10000).batch(32).prefetch();
//   auto lines = text_lines("corpus.txt.zst");
//
// A path may be a pattern ("train-*.tfrecord"); files are read one after the other in the order of their names. Files
// that are not packed are mapped and indexed, so shuffles are complete and batches are decoded by several threads in
// place; packed ones are streams.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "isochron/data/dataset.h"
#include "isochron/data/files/example.h"

namespace isochron::data {

struct TfRecordOptions {
  // false: a stream even where files could be indexed. Indexing looks at every record's length once.
  bool indexed = true;
};
// One string a record.
Dataset tfrecord(const std::string& pattern, const TfRecordOptions& options = {});
// One component a feature, named. A type of its own, lest the braces of options be taken for it.
struct NamedFeatures {
  using Named = std::pair<std::string, Feature>;
  NamedFeatures(std::initializer_list<Named> features) : all(features) {}
  NamedFeatures(std::vector<Named> features) : all(std::move(features)) {}
  std::vector<Named> all;
};
Dataset tfrecord(const std::string& pattern, NamedFeatures features, const TfRecordOptions& options = {});

struct TextLinesOptions {
  int64_t skip = 0;  // lines at the start of each file
  int64_t max_line_bytes = int64_t{64} << 20;
};
// One string a line, without its end ("\n" or "\r\n").
Dataset text_lines(const std::string& pattern, const TextLinesOptions& options = {});

struct RecordOptions {
  int64_t header_bytes = 0, footer_bytes = 0;  // of each file, left out
};
// uint8 arrays of `record_bytes` each. FileError when a file does not hold whole records.
Dataset fixed_length_records(const std::string& pattern, int64_t record_bytes, const RecordOptions& options = {});

// The rows of mapped arrays: all members of an NPZ file, or of those with these names, in this order; or one NPY file.
Dataset npz(const std::string& path, const std::vector<std::string>& names = {});
Dataset npy(const std::string& path);

// The names of files, one string each, sorted.
Dataset list_files(const std::string& pattern);

}  // namespace isochron::data
