#include <csetjmp>
#include <cstdio>
//
#include <jerror.h>
#include <jpeglib.h>

#include <algorithm>
#include <cstring>

#include "isochron/data/image/codecs.h"

namespace isochron::data {
namespace {

// libjpeg reports errors by a function that must not return: it jumps back to where the call into the library began.
struct ErrorManager {
  jpeg_error_mgr manager;
  jmp_buf back;
  char message[JMSG_LENGTH_MAX];
};

void remember(j_common_ptr info) {
  auto* error = reinterpret_cast<ErrorManager*>(info->err);
  if (error->message[0] == '\0') (*info->err->format_message)(info, error->message);
}
void jump_back(j_common_ptr info) {
  remember(info);
  std::longjmp(reinterpret_cast<ErrorManager*>(info->err)->back, 1);
}
// Warnings (level -1) mean that data is damaged and guessed, except for bytes between markers, which many files have.
void note_warning(j_common_ptr info, int level) {
  const int code = info->err->msg_code;
  if (level < 0 && code != JWRN_EXTRANEOUS_DATA && code != JWRN_ADOBE_XFORM) jump_back(info);
}

void set_up(ErrorManager& error) {
  jpeg_std_error(&error.manager);
  error.manager.error_exit = jump_back;
  error.manager.emit_message = note_warning;
  error.manager.output_message = [](j_common_ptr) {};
  error.message[0] = '\0';
}

// Runs f, which calls into libjpeg and has no locals that need destroying; false after an error.
template <class F>
bool guarded(ErrorManager& error, F&& f) {
  if (setjmp(error.back)) return false;
  f();
  return true;
}

void cmyk_to_rgb(const uint8_t* in, uint8_t* out, int64_t pixels, bool inverted) {
  for (int64_t i = 0; i < pixels; ++i) {
    const int k = inverted ? in[4 * i + 3] : 255 - in[4 * i + 3];
    for (int c = 0; c < 3; ++c) {
      const int value = inverted ? in[4 * i + c] : 255 - in[4 * i + c];
      out[3 * i + c] = static_cast<uint8_t>(value * k / 255);
    }
  }
}

}  // namespace

bool is_jpeg(std::string_view bytes) { return bytes.starts_with("\xFF\xD8\xFF"); }

struct JpegDecoder::State {
  ErrorManager error;
  jpeg_decompress_struct info{};
  std::string name;

  [[noreturn]] void fail_decoding() const {
    fail<FileError>("decode_image", "{}: damaged JPEG: {}", name, error.message);
  }
};

JpegDecoder::JpegDecoder(std::string_view bytes, const std::string& name) : state_(std::make_unique<State>()) {
  State& s = *state_;
  s.name = name;
  set_up(s.error);
  s.info.err = &s.error.manager;
  const bool good = guarded(s.error, [&] {
    jpeg_create_decompress(&s.info);
    jpeg_mem_src(&s.info, reinterpret_cast<const unsigned char*>(bytes.data()), bytes.size());
    jpeg_read_header(&s.info, TRUE);
    jpeg_calc_output_dimensions(&s.info);
  });
  if (!good) {
    jpeg_destroy_decompress(&s.info);
    s.fail_decoding();
  }
}

JpegDecoder::~JpegDecoder() { jpeg_destroy_decompress(&state_->info); }

ImageInfo JpegDecoder::info() const {
  const jpeg_decompress_struct& info = state_->info;
  return {info.output_height, info.output_width, info.jpeg_color_space == JCS_GRAYSCALE ? 1 : 3};
}

void JpegDecoder::scale_down_to(int64_t height, int64_t width) {
  State& s = *state_;
  for (unsigned eighths = 1; eighths <= 8; ++eighths) {
    s.info.scale_num = eighths;
    s.info.scale_denom = 8;
    if (!guarded(s.error, [&] { jpeg_calc_output_dimensions(&s.info); })) s.fail_decoding();
    if (s.info.output_height >= height && s.info.output_width >= width) return;
  }
}

void JpegDecoder::decode(const Crop& crop, int channels, RowSink sink) {
  State& s = *state_;
  const ImageInfo size = info();
  ISO_CHECK(crop.top >= 0 && crop.left >= 0 && crop.top + crop.height <= size.height &&
            crop.left + crop.width <= size.width);
  const bool cmyk = s.info.jpeg_color_space == JCS_CMYK || s.info.jpeg_color_space == JCS_YCCK;
  s.info.out_color_space = channels == 1 ? JCS_GRAYSCALE : cmyk ? JCS_CMYK : JCS_RGB;
  if (cmyk && channels != 3) fail<FileError>("decode_image", "{}: a CMYK image is decoded to 3 channels only", s.name);
  std::vector<uint8_t> memory(static_cast<size_t>(size.width) * 4 * 5);
  uint8_t* const converted = memory.data() + static_cast<size_t>(size.width) * 16;
  const bool good = guarded(s.error, [&] {
    jpeg_start_decompress(&s.info);
    JDIMENSION left = static_cast<JDIMENSION>(crop.left), width = static_cast<JDIMENSION>(crop.width);
    if (crop.width < size.width) jpeg_crop_scanline(&s.info, &left, &width);
    if (crop.top > 0) jpeg_skip_scanlines(&s.info, static_cast<JDIMENSION>(crop.top));
    const size_t skip = (static_cast<size_t>(crop.left) - left) * static_cast<size_t>(s.info.output_components);
    const size_t row_bytes = static_cast<size_t>(s.info.output_width) * static_cast<size_t>(s.info.output_components);
    JSAMPROW rows[4];
    for (size_t i = 0; i < 4; ++i) rows[i] = memory.data() + i * row_bytes;
    for (int64_t row = 0; row < crop.height;) {
      const JDIMENSION got = jpeg_read_scanlines(&s.info, rows, 4);
      for (JDIMENSION i = 0; i < got && row < crop.height; ++i, ++row) {
        const uint8_t* pixels = rows[i] + skip;
        if (cmyk) {
          cmyk_to_rgb(pixels, converted, crop.width, s.info.saw_Adobe_marker);
          pixels = converted;
        }
        sink.take(sink.context, row, pixels);
      }
    }
    jpeg_abort_decompress(&s.info);
  });
  if (!good) s.fail_decoding();
}

std::string encode_jpeg(const Tensor& image, int quality) {
  const int64_t channels = image.rank() == 3 ? image.dim(2) : 0;
  if (image.dtype() != DType::uint8 || (channels != 1 && channels != 3) || quality < 1 || quality > 100)
    fail<ValueError>("encode_jpeg", "needs uint8 (height, width, 1 or 3) and a quality of 1 to 100, got {} and {}",
                     to_string(image.spec()), quality);
  const uint8_t* pixels = image.data<uint8_t>();
  ErrorManager error;
  set_up(error);
  jpeg_compress_struct info{};
  info.err = &error.manager;
  unsigned char* buffer = nullptr;
  unsigned long size = 0;
  const bool good = guarded(error, [&] {
    jpeg_create_compress(&info);
    jpeg_mem_dest(&info, &buffer, &size);
    info.image_height = static_cast<JDIMENSION>(image.dim(0));
    info.image_width = static_cast<JDIMENSION>(image.dim(1));
    info.input_components = static_cast<int>(channels);
    info.in_color_space = channels == 1 ? JCS_GRAYSCALE : JCS_RGB;
    jpeg_set_defaults(&info);
    jpeg_set_quality(&info, quality, TRUE);
    jpeg_start_compress(&info, TRUE);
    while (info.next_scanline < info.image_height) {
      auto* row = const_cast<uint8_t*>(pixels) + static_cast<int64_t>(info.next_scanline) * image.dim(1) * channels;
      jpeg_write_scanlines(&info, &row, 1);
    }
    jpeg_finish_compress(&info);
  });
  std::string out(reinterpret_cast<const char*>(buffer), good ? size : 0);
  jpeg_destroy_compress(&info);
  std::free(buffer);
  if (!good) fail<ValueError>("encode_jpeg", "{}: {}", to_string(image.spec()), error.message);
  return out;
}

}  // namespace isochron::data
