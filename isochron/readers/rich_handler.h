// Lines of Rich's log handler: a time stands only where it is another one than above, and the place in the code at the
// right end of the line.
//
//   [17:52:31] INFO     Starting training                                    run.py:6
//              INFO     Epoch 1/5                                            run.py:8
//
//   RichHandlerLines lines;
//   stamp = lines.stamp_of(text, find_timestamp(text));   // that of the line above, where none stands
//   text = lines.without_place(text);
#pragma once

#include <optional>
#include <string_view>

#include "isochron/readers/timestamp.h"

namespace isochron {

class RichHandlerLines {
 public:
  std::optional<Timestamp> stamp_of(std::string_view line, std::optional<Timestamp> found);
  // The line as it is, unless lines of this handler were seen.
  std::string_view without_place(std::string_view line) const;

 private:
  std::optional<Timestamp> last_;
  size_t level_at_ = 0;  // the column of "INFO"
};

}  // namespace isochron
