// The bytes of an input, piece by piece: a file, plain or gzipped, or standard input ("-").
//
//   ByteSource source(path);
//   std::string_view start = source.peek();                     // to recognise what it is
//   while (std::string_view piece = source.next(); !piece.empty()) …
//   if (!source.problem().empty()) …                            // cut short or damaged: what came is good
//
// Memory is two pieces. A gzip file that unpacks to absurdly more than its size is given up.
#pragma once

#include <cstddef>
#include <memory>
#include <string>
#include <string_view>

namespace isochron {

class GzipReader;

class ByteSource {
 public:
  static constexpr size_t kPiece = size_t{1} << 20;

  // Throws FileError if it can't be opened.
  explicit ByteSource(const std::string& path);
  ~ByteSource();

  // The first piece, without taking it.
  std::string_view peek();
  // The next piece; empty at the end.
  std::string_view next();

  const std::string& path() const { return path_; }
  const std::string& problem() const { return problem_; }
  size_t bytes_read() const { return bytes_read_; }

 private:
  void fill();

  std::string path_;
  std::unique_ptr<GzipReader> reader_;
  std::string buffer_;
  bool peeked_ = false;
  bool ended_ = false;
  size_t bytes_read_ = 0;
  size_t limit_ = 0;
  bool packed_ = false;
  std::string problem_;
};

}  // namespace isochron
