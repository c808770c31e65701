#include "isochron/observe/python_layout.h"

namespace isochron::observe {
namespace {

constexpr PythonLayout kLayouts[] = {
    {.minor = 9,
     .lines = LineTable::lnotab,
     .runtime_interpreters = 32,
     .interpreter_threads = 8,
     .runtime_main_thread = 72,
     .thread_next = 8,
     .thread_id = 176,
     .thread_native_id = -1,
     .thread_frame = 24,
     .cframe_frame = -1,
     .thread_profiler = 56,
     .frame_previous = 24,
     .frame_code = 32,
     .frame_instruction = 104,
     .frame_owner = -1,
     .frame_locals = 360,
     .frame_globals = 48,
     .code_file = 104,
     .code_name = 112,
     .code_flags = 36,
     .code_first_line = 40,
     .code_lines = 120,
     .code_instructions = -1,
     .code_local_names = 72,
     .ascii_data = 48,
     .unicode_data = 72},
    {.minor = 10,
     .lines = LineTable::pairs,
     .runtime_interpreters = 32,
     .interpreter_threads = 8,
     .runtime_main_thread = 72,
     .thread_next = 8,
     .thread_id = 176,
     .thread_native_id = -1,
     .thread_frame = 24,
     .cframe_frame = -1,
     .thread_profiler = 56,
     .frame_previous = 24,
     .frame_code = 32,
     .frame_instruction = 96,
     .frame_owner = -1,
     .frame_locals = 352,
     .frame_globals = 48,
     .code_file = 104,
     .code_name = 112,
     .code_flags = 36,
     .code_first_line = 40,
     .code_lines = 120,
     .code_instructions = -1,
     .code_local_names = 72,
     .ascii_data = 48,
     .unicode_data = 72},
    {.minor = 11,
     .lines = LineTable::locations,
     .runtime_interpreters = 40,
     .interpreter_threads = 16,
     .runtime_main_thread = 80,
     .thread_next = 8,
     .thread_id = 152,
     .thread_native_id = 160,
     .thread_frame = 56,
     .cframe_frame = 8,
     .thread_profiler = 64,
     .frame_previous = 48,
     .frame_code = 32,
     .frame_instruction = 56,
     .frame_owner = 69,
     .frame_locals = 72,
     .frame_globals = 8,
     .code_file = 112,
     .code_name = 128,
     .code_flags = 48,
     .code_first_line = 72,
     .code_lines = 136,
     .code_instructions = 184,
     .code_local_names = 96,
     .ascii_data = 48,
     .unicode_data = 72},
    {.minor = 12,
     .lines = LineTable::locations,
     .runtime_interpreters = 40,
     .interpreter_threads = 72,
     .runtime_main_thread = 64,
     .thread_next = 8,
     .thread_id = 136,
     .thread_native_id = 144,
     .thread_frame = 56,
     .cframe_frame = 0,
     .thread_profiler = 64,
     .frame_previous = 8,
     .frame_code = 0,
     .frame_instruction = 56,
     .frame_owner = 70,
     .frame_locals = 72,
     .frame_globals = 24,
     .code_file = 112,
     .code_name = 128,
     .code_flags = 48,
     .code_first_line = 68,
     .code_lines = 136,
     .code_instructions = 192,
     .code_local_names = 96,
     .ascii_data = 40,
     .unicode_data = 56},
    {.minor = 13,
     .lines = LineTable::locations,
     .runtime_interpreters = -1,
     .interpreter_threads = -1,
     .runtime_main_thread = 656,
     .thread_next = 8,
     .thread_id = 152,
     .thread_native_id = 160,
     .thread_frame = 72,
     .cframe_frame = -1,
     .thread_profiler = 80,
     .frame_previous = 8,
     .frame_code = 0,
     .frame_instruction = 56,
     .frame_owner = 70,
     .frame_locals = 72,
     .frame_globals = 24,
     .code_file = 112,
     .code_name = 128,
     .code_flags = 48,
     .code_first_line = 68,
     .code_lines = 136,
     .code_instructions = 200,
     .code_local_names = 96,
     .ascii_data = 40,
     .unicode_data = 56},
};

// Reads a line table byte by byte, never past its end.
class Bytes {
 public:
  Bytes(const uint8_t* data, uint64_t size) : at_(data), end_(data + size) {}
  bool more() const { return at_ < end_; }
  int next() { return more() ? *at_++ : 0; }
  void skip(int count) {
    while (count-- > 0) next();
  }
  uint64_t varint() {
    uint64_t value = 0;
    for (int shift = 0; shift < 60; shift += 6) {
      const int byte = next();
      value |= static_cast<uint64_t>(byte & 63) << shift;
      if (!(byte & 64)) break;
    }
    return value;
  }
  int64_t signed_varint() {
    const uint64_t value = varint();
    return value & 1 ? -static_cast<int64_t>(value >> 1) : static_cast<int64_t>(value >> 1);
  }

 private:
  const uint8_t* at_;
  const uint8_t* end_;
};

int64_t line_in_lnotab(Bytes bytes, int64_t line, int64_t offset) {
  int64_t address = 0;
  while (bytes.more()) {
    address += bytes.next();
    const int delta = static_cast<int8_t>(bytes.next());
    if (address > offset) break;
    line += delta;
  }
  return line;
}

int64_t line_in_pairs(Bytes bytes, int64_t line, int64_t offset) {
  int64_t end = 0;
  while (bytes.more()) {
    end += bytes.next();
    const int delta = static_cast<int8_t>(bytes.next());
    if (delta != -128) line += delta;  // -128: instructions without a line
    if (end > offset) break;
  }
  return line;
}

int64_t line_in_locations(Bytes bytes, int64_t line, int64_t offset) {
  int64_t end = 0;
  while (bytes.more()) {
    const int head = bytes.next(), code = (head >> 3) & 15;
    end += ((head & 7) + 1) * 2;
    if (code == 14) {
      line += static_cast<int>(bytes.signed_varint());
      for (int i = 0; i < 3; ++i) bytes.varint();
    } else if (code == 13) {
      line += static_cast<int>(bytes.signed_varint());
    } else if (code >= 10 && code <= 12) {
      line += code - 10;
      bytes.skip(2);
    } else if (code < 10) {
      bytes.skip(1);
    }
    if (end > offset) break;
  }
  return line;
}

}  // namespace

const PythonLayout* python_layout(int minor) {
  for (const PythonLayout& layout : kLayouts)
    if (layout.minor == minor) return &layout;
  return nullptr;
}

int line_of(LineTable kind, const uint8_t* table, uint64_t size, int first_line, int64_t offset) {
  // Wide: what was read while the process changed it may be any number.
  const auto line = [&]() -> int64_t {
    switch (kind) {
      case LineTable::lnotab:
        return line_in_lnotab({table, size}, first_line, offset);
      case LineTable::pairs:
        return line_in_pairs({table, size}, first_line, offset);
      case LineTable::locations:
        return line_in_locations({table, size}, first_line, offset);
    }
    return first_line;
  };
  return static_cast<int>(line());
}

}  // namespace isochron::observe
