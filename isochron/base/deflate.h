// Packs bytes by deflate, as ZIP archives and gzip files hold them.
//
//   Deflater gzip(Deflater::Format::gzip);
//   gzip.add(text, packed);   gzip.finish(packed);          // appends to `packed`
#pragma once

#include <memory>
#include <string>
#include <string_view>

namespace isochron {

class Deflater {
 public:
  enum class Format { raw, gzip };
  explicit Deflater(Format format);
  ~Deflater();
  void add(std::string_view bytes, std::string& packed);
  void finish(std::string& packed);

 private:
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace isochron
