#include <png.h>

#include <algorithm>
#include <cstring>

#include "isochron/data/image/codecs.h"

namespace isochron::data {
namespace {

// libpng reports errors by a function that must not return: it jumps back to where the call into the library began.
struct Session {
  std::string_view left;
  std::string out;
  char message[200] = {};
};

void on_error(png_structp png, png_const_charp text) {
  auto* session = static_cast<Session*>(png_get_error_ptr(png));
  std::snprintf(session->message, sizeof session->message, "%s", text);
  png_longjmp(png, 1);
}
void on_warning(png_structp, png_const_charp) {}

void read_some(png_structp png, png_bytep to, size_t bytes) {
  auto* session = static_cast<Session*>(png_get_io_ptr(png));
  if (bytes > session->left.size()) png_error(png, "the data ends too early");
  std::memcpy(to, session->left.data(), bytes);
  session->left.remove_prefix(bytes);
}
void write_some(png_structp png, png_bytep from, size_t bytes) {
  static_cast<Session*>(png_get_io_ptr(png))->out.append(reinterpret_cast<const char*>(from), bytes);
}

struct Reader {
  Session session;
  png_structp png = nullptr;
  png_infop info = nullptr;

  explicit Reader(std::string_view bytes) {
    session.left = bytes;
    png = png_create_read_struct(PNG_LIBPNG_VER_STRING, &session, on_error, on_warning);
    if (png) info = png_create_info_struct(png);
    if (!info) fail<MemoryError>("decode_image", "no memory to read a PNG file");
    png_set_read_fn(png, &session, read_some);
    png_set_user_limits(png, 1 << 20, 1 << 20);
    png_set_chunk_malloc_max(png, 8 << 20);
  }
  ~Reader() { png_destroy_read_struct(&png, &info, nullptr); }
  Reader(const Reader&) = delete;

  // Runs f, which calls into libpng and has no locals that need destroying; false after an error.
  template <class F>
  bool guarded(F&& f) {
    if (setjmp(png_jmpbuf(png))) return false;
    f();
    return true;
  }
};

ImageInfo info_of(Reader& reader) {
  const int type = png_get_color_type(reader.png, reader.info);
  const bool alpha = type & PNG_COLOR_MASK_ALPHA || png_get_valid(reader.png, reader.info, PNG_INFO_tRNS);
  const int colors = type & PNG_COLOR_MASK_COLOR ? 3 : 1;
  return {png_get_image_height(reader.png, reader.info), png_get_image_width(reader.png, reader.info), colors + alpha};
}

[[noreturn]] void fail_decoding(const Reader& reader, const std::string& name) {
  fail<FileError>("decode_image", "{}: damaged PNG: {}", name, reader.session.message);
}

}  // namespace

bool is_png(std::string_view bytes) { return bytes.starts_with("\x89PNG\r\n\x1a\n"); }

ImageInfo png_info(std::string_view bytes, const std::string& name) {
  Reader reader(bytes);
  if (!reader.guarded([&] { png_read_info(reader.png, reader.info); })) fail_decoding(reader, name);
  return info_of(reader);
}

void decode_png(std::string_view bytes, const std::string& name, int channels, uint8_t* pixels) {
  Reader reader(bytes);
  png_structp png = reader.png;
  if (!reader.guarded([&] { png_read_info(png, reader.info); })) fail_decoding(reader, name);
  const ImageInfo size = info_of(reader);
  std::vector<png_bytep> rows(static_cast<size_t>(size.height));
  for (size_t i = 0; i < rows.size(); ++i) rows[i] = pixels + i * static_cast<size_t>(size.width * channels);
  const bool color = size.channels >= 3, alpha = size.channels % 2 == 0;
  const bool wants_color = channels >= 3, wants_alpha = channels % 2 == 0;
  const bool good = reader.guarded([&] {
    png_set_expand(png);
    png_set_scale_16(png);
    if (alpha && !wants_alpha) png_set_strip_alpha(png);
    if (!alpha && wants_alpha) png_set_add_alpha(png, 255, PNG_FILLER_AFTER);
    if (wants_color && !color) png_set_gray_to_rgb(png);
    if (!wants_color && color)
      png_set_rgb_to_gray(png, PNG_ERROR_ACTION_NONE, PNG_RGB_TO_GRAY_DEFAULT, PNG_RGB_TO_GRAY_DEFAULT);
    png_set_interlace_handling(png);
    png_read_update_info(png, reader.info);
    if (png_get_rowbytes(png, reader.info) != static_cast<size_t>(size.width * channels))
      png_error(png, "an unknown layout");
    png_read_image(png, rows.data());
    png_read_end(png, nullptr);
  });
  if (!good) fail_decoding(reader, name);
}

std::string encode_png(const Tensor& image) {
  const int64_t channels = image.rank() == 3 ? image.dim(2) : 0;
  if (image.dtype() != DType::uint8 || channels < 1 || channels > 4 || image.elements() == 0)
    fail<ValueError>("encode_png", "needs uint8 (height, width, 1 to 4), got {}", to_string(image.spec()));
  static constexpr int kTypes[] = {PNG_COLOR_TYPE_GRAY, PNG_COLOR_TYPE_GRAY_ALPHA, PNG_COLOR_TYPE_RGB,
                                   PNG_COLOR_TYPE_RGBA};
  const uint8_t* pixels = image.data<uint8_t>();
  Session session;
  png_structp png = png_create_write_struct(PNG_LIBPNG_VER_STRING, &session, on_error, on_warning);
  png_infop info = png ? png_create_info_struct(png) : nullptr;
  if (!info) fail<MemoryError>("encode_png", "no memory to write a PNG file");
  const auto write = [&] {
    if (setjmp(png_jmpbuf(png))) return false;
    png_set_write_fn(png, &session, write_some, nullptr);
    png_set_IHDR(png, info, static_cast<png_uint_32>(image.dim(1)), static_cast<png_uint_32>(image.dim(0)), 8,
                 kTypes[channels - 1], PNG_INTERLACE_NONE, PNG_COMPRESSION_TYPE_DEFAULT, PNG_FILTER_TYPE_DEFAULT);
    png_write_info(png, info);
    for (int64_t row = 0; row < image.dim(0); ++row) png_write_row(png, pixels + row * image.dim(1) * channels);
    png_write_end(png, nullptr);
    return true;
  };
  const bool good = write();
  png_destroy_write_struct(&png, &info);
  if (!good) fail<ValueError>("encode_png", "{}: {}", to_string(image.spec()), session.message);
  return std::move(session.out);
}

}  // namespace isochron::data
