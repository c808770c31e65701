// Fields of plain CSV text: where they end, and the numbers in them, many bytes at a time.
//
//   const Ends found = find_ends(text.data(), text.size(), ',', ends.data(), rows.data());
//   take_floats(text.data(), starts, ends.data(), found.fields, numbers);
//
// Since ends are known before any number is read, fields do not wait for each other. The functions are chosen for the
// CPU at run time. 16 bytes in front of the text and 64 behind it must be readable.
#pragma once

#include <cstddef>
#include <cstdint>

namespace isochron::data::csv_file {

struct Survey {
  size_t row_ends = 0;  // newlines, and carriage returns that no newline follows
  bool quotes = false;
};
Survey survey(const char* text, size_t size);

// Offsets of all delimiters, newlines and carriage returns in front of the first quote, and the numbers of those among
// them that end rows. Both have room for size + kEndsRoom.
struct Ends {
  size_t fields = 0, rows = 0;  // found
};
inline constexpr size_t kEndsRoom = 64;
Ends find_ends(const char* text, size_t size, char delimiter, uint32_t* fields, uint32_t* rows);

// The numbers of fields, field k from starts[k] to ends[k]: how many there are before the first that needs more care.
// Equal to what std::from_chars gives, to the last bit.
size_t take_floats(const char* text, const uint32_t* starts, const uint32_t* ends, size_t count, float* out);

}  // namespace isochron::data::csv_file
