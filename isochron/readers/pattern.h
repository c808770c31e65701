// Patterns for log lines, in a small language made for them.
//
//   const Pattern mmcv(R"(epoch \[{epoch}\]\[{step}/{steps}\] ~ time: {step_time}, data_time: {data_time})");
//   if (auto event = mmcv.match(line)) …
//
//   abc      the text itself, in either case; a word must begin where the pattern's first word begins
//   (space)  any number of blanks, none too
//   ~        anything, as little as possible
//   {field}  a number, count or duration stored into the LogEvent member of that name; {} is stored nowhere
//   (a|b)    either; (a)? perhaps
//   ^ $      the line's first and last non-blank
//   \c       the character c
//
// Matching is bounded: a hostile line costs a fixed number of attempts and then does not match.
#pragma once

#include <bitset>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "isochron/readers/log_event.h"

namespace isochron {

class Pattern {
 public:
  // Throws InternalError for a pattern that is not well formed: patterns are ours.
  explicit Pattern(std::string_view source);
  ~Pattern();
  Pattern(Pattern&&) noexcept;

  // A piece of text every match contains, in lower case: a cheap first test.
  const std::string& required() const { return required_; }
  // `line_lower` is the line in lower case, of the same length.
  std::optional<LogEvent> match(std::string_view line, std::string_view line_lower) const;

 private:
  struct Node;
  using Sequence = std::vector<Node>;
  struct Attempt;
  static Sequence parse(std::string_view source, size_t& at);
  static bool run(const Sequence& nodes, size_t index, size_t at, Attempt& attempt);
  // Adds the bytes, in lower case, that a match of nodes from `index` on may begin with; true: it may also be empty.
  static bool add_beginnings(const Sequence& nodes, size_t index, std::bitset<256>& bytes);

  Sequence nodes_;
  std::string required_;
  std::bitset<256> beginnings_;
  bool may_be_empty_ = false;  // then it may begin anywhere
};

}  // namespace isochron
