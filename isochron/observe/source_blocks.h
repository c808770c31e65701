// Where a line stands in its Python source: inside which loops and `with` blocks, told by indentation.
//
//   with torch.no_grad():
//       for x, y in loader:
//           loss = criterion(model(x), y)   // validates: a loop without gradients
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace isochron::observe {

// Headers of the statements that hold a line (1 is the first), the innermost first, up to its function; the line itself
// stands before them. Empty where there is no such line.
std::vector<std::string> enclosing_headers(const std::vector<std::string>& lines, size_t line);

// Whether a line evaluates: inside a loop over what is called validation data, inside a loop without gradients, or on
// such data without gradients or once an epoch. A forward pass without gradients alone may be a teacher's.
bool line_validates(const std::vector<std::string>& lines, size_t line);

// What goes round a line: nothing, some loop, or the loop that counts epochs.
enum class Loop : uint8_t { none, some, epochs };
Loop loop_around(const std::vector<std::string>& lines, size_t line);

// The variable of the loop that counts epochs around a line, `i` of `for i in range(n_epochs):`, and that of the
// innermost loop around it, whatever it counts. Empty where there is none.
std::string epoch_variable(const std::vector<std::string>& lines, size_t line);
std::string loop_variable(const std::vector<std::string>& lines, size_t line);

// The variable of the loop around a line that goes through training and validation in turn, `phase` of
// `for phase in ["train", "val"]:`; empty where there is none. Whether the line evaluates, its value says.
std::string split_variable(const std::vector<std::string>& lines, size_t line);

// The variable by which one loop serves training and validation, `train` of `with torch.set_grad_enabled(train):`
// around a line or of `torch.set_grad_enabled(train)` above it in its function. With such a value the line evaluates.
struct GradientSwitch {
  enum class Off : uint8_t { if_false, if_true, if_it_names_data };  // set_grad_enabled(not test), (phase == "train")
  std::string variable;                                              // empty: there is none
  Off off = Off::if_false;
};
GradientSwitch gradient_switch(const std::vector<std::string>& lines, size_t line);
// Whether gradients are off by a value of that variable: a text, or a number as text ("0": False).
bool switches_off(const GradientSwitch& by, std::string_view value);

// Whether a word is what people call validation data: "val", "testset".
bool names_data(std::string_view word);

}  // namespace isochron::observe
