#include "isochron/data/files/record_sources.h"

#include <algorithm>

#include "isochron/base/input_file.h"
#include "isochron/base/mapped_file.h"
#include "isochron/data/files/file_stream.h"
#include "isochron/data/files/opening.h"
#include "isochron/data/files/paths.h"
#include "isochron/data/files/tfrecord.h"
#include "isochron/tensor/npy.h"

namespace isochron::data {
namespace {

// What becomes of a record.
class Decoder {
 public:
  explicit Decoder(std::shared_ptr<const ExampleParser> parser = nullptr) : parser_(std::move(parser)) {}
  void decode(std::string_view record, Element& out) const {
    if (parser_)
      parser_->parse(record, out);
    else
      out.add(Component(std::string(record)));
  }
  const ExampleParser* parser() const { return parser_.get(); }
  std::string fingerprint() const { return parser_ ? parser_->fingerprint() : "bytes"; }

  // Runs f; its errors get the place of the record.
  template <class F>
  void at(const std::string& path, int64_t offset, F&& f) const {
    try {
      f();
    } catch (const FileError& error) {
      if (!parser_ || error.operation() != "parse_example") throw;
      throw FileError("parse_example",
                      fmt::format("{}: record at offset {}: {}", path, offset,
                                  std::string_view(error.what()).substr(std::string_view("[parse_example] ").size())));
    }
  }

 private:
  std::shared_ptr<const ExampleParser> parser_;
};

class TfRecordStreamReader : public StreamReader {
 public:
  TfRecordStreamReader(const std::string& path, Decoder decoder) : reader_(path), decoder_(std::move(decoder)) {}
  bool next(Element& out) override {
    const int64_t offset = reader_.offset();
    std::string_view record;
    if (!reader_.next(record)) return false;
    decoder_.at(reader_.path(), offset, [&] { decoder_.decode(record, out); });
    return true;
  }
  void save(StateWriter& state) const override { state.put(reader_.offset()); }
  void restore(StateReader& state) override { reader_.seek(state.get_count()); }
  std::string file() const override { return reader_.path(); }

 private:
  TfRecordReader reader_;
  Decoder decoder_;
};

class IndexedTfRecords : public IndexedSource {
 public:
  IndexedTfRecords(std::vector<std::string> paths, Decoder decoder)
      : paths_(std::move(paths)), decoder_(std::move(decoder)), opening_(paths_) {
    starts_.push_back(0);
    for (const std::string& path : paths_) {
      files_.push_back(std::make_unique<MappedFile>(path));
      offsets_.push_back(tfrecord_offsets(*files_.back()));
      starts_.push_back(starts_.back() + static_cast<int64_t>(offsets_.back().size()));
    }
    opening_.done();
    if (decoder_.parser()) {
      names_ = decoder_.parser()->names();
      specs_ = decoder_.parser()->specs();
    } else {
      specs_ = {{DType::uint8, {}, true}};
    }
  }
  int64_t size() const override { return starts_.back(); }
  std::vector<ComponentSpec> specs() const override { return specs_; }
  Names names() const override { return names_; }
  void get(int64_t i, Element& out) const override {
    at(i, [&](std::string_view record) { decoder_.decode(record, out); });
  }
  void fill(int64_t i, std::span<std::byte* const> rows) const override {
    at(i, [&](std::string_view record) { decoder_.parser()->parse_into(record, rows); });
  }
  std::string describe() const override { return describe_files("tfrecord", paths_); }
  std::string fingerprint() const override {
    return "tfrecord:" + decoder_.fingerprint() + ":" + fingerprint_of_files(paths_);
  }
  std::string file_of(int64_t i) const override { return paths_[file_index(i)]; }
  std::string note() const override { return opening_.note(describe()); }

 private:
  size_t file_index(int64_t i) const {
    return static_cast<size_t>(std::upper_bound(starts_.begin(), starts_.end(), i) - starts_.begin()) - 1;
  }
  template <class F>
  void at(int64_t i, F&& f) const {
    const size_t file = files_.size() == 1 ? 0 : file_index(i);
    const uint64_t offset = offsets_[file][static_cast<size_t>(i - starts_[file])];
    decoder_.at(paths_[file], static_cast<int64_t>(offset), [&] { f(tfrecord_at(*files_[file], offset)); });
  }

  std::vector<std::string> paths_;
  Decoder decoder_;
  Opening opening_;
  std::vector<std::unique_ptr<MappedFile>> files_;
  std::vector<std::vector<uint64_t>> offsets_;
  std::vector<int64_t> starts_;
  std::vector<ComponentSpec> specs_;
  Names names_;
};

Dataset tfrecord_of(const std::string& pattern, const Decoder& decoder, const TfRecordOptions& options) {
  const std::vector<std::string> paths = matching_files(pattern);
  bool indexed = options.indexed;
  for (const std::string& path : paths) indexed = indexed && !InputFile(path).packed();
  if (indexed) return from_source(std::make_shared<const IndexedTfRecords>(paths, decoder));
  return from_source(std::make_shared<const FileStream>(
      "tfrecord", paths,
      [decoder](const std::string& path) { return std::make_unique<TfRecordStreamReader>(path, decoder); },
      decoder.fingerprint()));
}

class LineReader : public StreamReader {
 public:
  LineReader(const std::string& path, const TextLinesOptions& options) : file_(path), options_(options) {
    std::string dropped;
    for (int64_t i = 0; i < options_.skip; ++i)
      if (!take(dropped)) break;
  }
  bool next(Element& out) override {
    std::string line;
    if (!take(line)) return false;
    out.add(Component(std::move(line)));
    return true;
  }
  void save(StateWriter& state) const override { state.put(offset_); }
  void restore(StateReader& state) override {
    offset_ = state.get_count();
    file_.seek(offset_);
    begin_ = end_ = 0;
  }
  std::string file() const override { return file_.path(); }

 private:
  bool take(std::string& line) {
    line.clear();
    for (;;) {
      if (begin_ == end_) {
        buffer_.resize(kPiece);
        begin_ = 0;
        end_ = file_.read(buffer_.data(), kPiece);
        if (end_ == 0) {
          offset_ += static_cast<int64_t>(line.size());
          return !line.empty();
        }
      }
      const char* at = buffer_.data() + begin_;
      const auto* newline = static_cast<const char*>(std::memchr(at, '\n', end_ - begin_));
      const size_t length = newline ? static_cast<size_t>(newline - at) : end_ - begin_;
      if (static_cast<int64_t>(line.size() + length) > options_.max_line_bytes)
        fail<FileError>("text_lines", "{}: the line at offset {} has more than {} bytes", file_.path(), offset_,
                        options_.max_line_bytes);
      line.append(at, length);
      begin_ += length;
      if (!newline) continue;
      ++begin_;
      offset_ += static_cast<int64_t>(line.size()) + 1;
      if (line.ends_with('\r')) line.pop_back();
      return true;
    }
  }

  static constexpr size_t kPiece = 256 << 10;
  InputFile file_;
  TextLinesOptions options_;
  std::vector<char> buffer_;
  size_t begin_ = 0, end_ = 0;
  int64_t offset_ = 0;
};

class FixedRecords : public IndexedSource {
 public:
  FixedRecords(std::vector<std::string> paths, int64_t bytes, const RecordOptions& options)
      : paths_(std::move(paths)), bytes_(bytes), options_(options) {
    if (bytes < 1 || options.header_bytes < 0 || options.footer_bytes < 0)
      fail<ValueError>("fixed_length_records",
                       "records have at least 1 byte, headers and footers at least 0; got {}, {}, {}", bytes,
                       options.header_bytes, options.footer_bytes);
    starts_.push_back(0);
    for (const std::string& path : paths_) {
      if (InputFile(path).packed())
        fail<FileError>("fixed_length_records", "{}: packed files have no records that can be mapped; unpack it", path);
      files_.push_back(std::make_unique<MappedFile>(path));
      const auto size = static_cast<int64_t>(files_.back()->size()),
                 body = size - options.header_bytes - options.footer_bytes;
      if (body < 0 || body % bytes != 0)
        fail<FileError>("fixed_length_records",
                        "{}: {} bytes behind {} of header and before {} of footer are no whole records of {}", path,
                        body, options.header_bytes, options.footer_bytes, bytes);
      starts_.push_back(starts_.back() + body / bytes);
    }
  }
  int64_t size() const override { return starts_.back(); }
  void get(int64_t i, Element& out) const override {
    Storage copy = Storage::allocate(static_cast<size_t>(bytes_));
    std::memcpy(copy.data(), record(i), static_cast<size_t>(bytes_));
    const std::byte* data = copy.data();
    out.add(Component({DType::uint8, {bytes_}}, data, std::move(copy)));
  }
  bool view(int64_t i, std::span<const std::byte*> rows) const override {
    rows[0] = record(i);
    return true;
  }
  std::vector<ComponentSpec> specs() const override { return {{DType::uint8, {bytes_}}}; }
  std::string describe() const override { return describe_files("fixed_length_records", paths_); }
  std::string fingerprint() const override {
    return fmt::format("records:{}:{}:{}:{}", bytes_, options_.header_bytes, options_.footer_bytes,
                       fingerprint_of_files(paths_));
  }
  std::string file_of(int64_t i) const override { return paths_[file_index(i)]; }

 private:
  size_t file_index(int64_t i) const {
    return static_cast<size_t>(std::upper_bound(starts_.begin(), starts_.end(), i) - starts_.begin()) - 1;
  }
  const std::byte* record(int64_t i) const {
    const size_t file = file_index(i);
    return reinterpret_cast<const std::byte*>(files_[file]->data()) + options_.header_bytes +
           (i - starts_[file]) * bytes_;
  }
  std::vector<std::string> paths_;
  int64_t bytes_;
  RecordOptions options_;
  std::vector<std::unique_ptr<MappedFile>> files_;
  std::vector<int64_t> starts_;
};

}  // namespace

Dataset tfrecord(const std::string& pattern, const TfRecordOptions& options) {
  return tfrecord_of(pattern, Decoder(), options);
}

Dataset tfrecord(const std::string& pattern, NamedFeatures features, const TfRecordOptions& options) {
  return tfrecord_of(pattern, Decoder(std::make_shared<const ExampleParser>(std::move(features.all))), options);
}

Dataset text_lines(const std::string& pattern, const TextLinesOptions& options) {
  return from_source(std::make_shared<const FileStream>(
      "text_lines", matching_files(pattern),
      [options](const std::string& path) { return std::make_unique<LineReader>(path, options); },
      std::to_string(options.skip)));
}

Dataset fixed_length_records(const std::string& pattern, int64_t record_bytes, const RecordOptions& options) {
  return from_source(std::make_shared<const FixedRecords>(matching_files(pattern), record_bytes, options));
}

Dataset npz(const std::string& path, const std::vector<std::string>& names) {
  const NpzArrays arrays = read_npz(path);
  std::vector<std::pair<std::string, Component>> columns;
  if (names.empty())
    for (const auto& [name, array] : arrays) columns.emplace_back(name, array);
  for (const std::string& name : names) columns.emplace_back(name, arrays.at(name));
  return from_tensor_slices(std::move(columns));
}

Dataset npy(const std::string& path) { return from_tensor_slices(Component(read_npy(path))); }

Dataset list_files(const std::string& pattern) {
  const std::vector<std::string> paths = matching_files(pattern);
  const Shape shape{static_cast<int64_t>(paths.size())};
  return from_tensor_slices(Component(paths, shape));
}

}  // namespace isochron::data
