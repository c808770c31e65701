#include "isochron/base/deflate.h"

#include <zlib.h>

#include <algorithm>
#include <climits>

#include "isochron/base/error.h"

namespace isochron {

struct Deflater::State {
  z_stream stream{};

  void run(int flush, std::string& packed) {
    char buffer[32 << 10];
    do {
      stream.next_out = reinterpret_cast<Bytef*>(buffer);
      stream.avail_out = sizeof buffer;
      deflate(&stream, flush);
      packed.append(buffer, sizeof buffer - stream.avail_out);
    } while (stream.avail_out == 0);
  }
};

Deflater::Deflater(Format format) : state_(std::make_unique<State>()) {
  const int window = format == Format::gzip ? MAX_WBITS + 16 : -MAX_WBITS;
  if (deflateInit2(&state_->stream, Z_DEFAULT_COMPRESSION, Z_DEFLATED, window, 8, Z_DEFAULT_STRATEGY) != Z_OK)
    fail<MemoryError>("write", "no memory to compress");
}

Deflater::~Deflater() { deflateEnd(&state_->stream); }

void Deflater::add(std::string_view bytes, std::string& packed) {
  while (!bytes.empty()) {
    const size_t part = std::min<size_t>(bytes.size(), UINT_MAX / 2);
    state_->stream.next_in = reinterpret_cast<Bytef*>(const_cast<char*>(bytes.data()));
    state_->stream.avail_in = static_cast<uInt>(part);
    state_->run(Z_NO_FLUSH, packed);
    bytes.remove_prefix(part);
  }
}

void Deflater::finish(std::string& packed) { state_->run(Z_FINISH, packed); }

}  // namespace isochron
