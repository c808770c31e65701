// Errors a user can cause, and errors only we can cause.
//
//   if (a.dim(-1) != b.dim(-2))
//     fail<ShapeError>("matmul", "inner dimensions must agree, got {} and {}", a.shape(), b.shape());
//   // what(): "[matmul] inner dimensions must agree, got (32, 784) and (100, 10)"
//
// Everything derived from Error is the user's to mend and names the operation, the rule and the
// values. InternalError is ours: it is no Error, so `catch (const iso::Error&)` never hides a bug.
#pragma once

#include <fmt/core.h>

#include <cstring>
#include <memory>
#include <stdexcept>
#include <string>
#include <string_view>

namespace isochron {

class Error : public std::runtime_error {
 public:
  Error(std::string operation, const std::string& message)
      : std::runtime_error(operation.empty() ? message : "[" + operation + "] " + message),
        operation_(std::move(operation)) {}
  // The operation, layer or command that refused, as it stands in brackets in what().
  const std::string& operation() const { return operation_; }
  virtual std::string_view kind() const { return "Error"; }
  // The message, and below it the notes.
  const char* what() const noexcept override { return noted_ ? noted_->c_str() : message(); }
  const char* message() const noexcept { return std::runtime_error::what(); }
  // A line below the message, for those the error passes on its way: catch (Error& e) { e.add_note("in …"); throw; }
  void add_note(std::string_view note) { append(fmt::format("\n  {}", note)); }
  // The notes of an error that this one is thrown in place of.
  void add_notes_of(const Error& other) { append(std::string_view(other.what()).substr(std::strlen(other.message()))); }

 private:
  void append(std::string_view text) { noted_ = std::make_shared<std::string>(fmt::format("{}{}", what(), text)); }

  std::string operation_;
  std::shared_ptr<const std::string> noted_;
};

#define ISO_ERROR_KIND(Name)                                 \
  class Name : public Error {                                \
   public:                                                   \
    using Error::Error;                                      \
    std::string_view kind() const override { return #Name; } \
  }

ISO_ERROR_KIND(ShapeError);    // shapes that do not fit together
ISO_ERROR_KIND(DTypeError);    // a dtype the operation does not take
ISO_ERROR_KIND(ValueError);    // a value out of range, an unknown name, an option that makes no sense
ISO_ERROR_KIND(IndexError);    // an index outside its axis
ISO_ERROR_KIND(StateError);    // right call, wrong moment: unbuilt model, history released, …
ISO_ERROR_KIND(MemoryError);   // would not fit into memory; nothing was allocated
ISO_ERROR_KIND(FileError);     // a file that can't be read, written or understood
ISO_ERROR_KIND(NumericError);  // NaN or Inf where the policy says raise
ISO_ERROR_KIND(StallError);    // a step that did not come to its end, where the policy says abort

#undef ISO_ERROR_KIND

// A defect in Isochron itself. what() carries the broken expectation, where it stands and a stack.
class InternalError : public std::logic_error {
 public:
  InternalError(const char* expectation, const char* file, int line, const std::string& detail = {});
};

template <class Kind, class... Args>
[[noreturn]] void fail(std::string_view operation, fmt::format_string<Args...> format, Args&&... args) {
  throw Kind(std::string(operation), fmt::format(format, std::forward<Args>(args)...));
}

}  // namespace isochron

// Checks an expectation of our own code; never a user's input.
#define ISO_CHECK(expectation)                                                             \
  do {                                                                                     \
    if (!(expectation)) throw ::isochron::InternalError(#expectation, __FILE__, __LINE__); \
  } while (0)
