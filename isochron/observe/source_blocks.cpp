#include "isochron/observe/source_blocks.h"

#include <algorithm>
#include <cctype>
#include <string_view>

namespace isochron::observe {
namespace {

constexpr std::string_view kBlocks[] = {"for ", "async ", "while ",  "with ", "if ",    "elif ",  "else:",
                                        "try:", "except", "finally", "def ",  "class ", "match ", "case "};
constexpr std::string_view kData[] = {"val",  "valid",   "validation", "eval",    "evaluation",
                                      "test", "testing", "dev",        "holdout", "heldout"};
// What such words are joined with: valloader, testset.
constexpr std::string_view kKinds[] = {"loader",  "dataloader", "dl",        "ds",   "set",    "data",
                                       "dataset", "gen",        "generator", "iter", "batches"};

std::string_view trimmed(std::string_view line) {
  const size_t begin = line.find_first_not_of(" \t\r");
  return begin == std::string_view::npos ? std::string_view() : line.substr(begin);
}

size_t indentation(std::string_view line) {
  constexpr size_t kTab = 8;
  size_t column = 0;
  for (const char c : line) {
    if (c != ' ' && c != '\t') break;
    column = c == '\t' ? (column / kTab + 1) * kTab : column + 1;
  }
  return column;
}

template <class Words>
bool is_one_of(std::string_view word, const Words& words) {
  return std::find(std::begin(words), std::end(words), word) != std::end(words);
}

}  // namespace

bool names_data(std::string_view word) {
  if (is_one_of(word, kData)) return true;
  return std::any_of(std::begin(kData), std::end(kData), [&](std::string_view data) {
    return word.starts_with(data) && is_one_of(word.substr(data.size()), kKinds);
  });
}

namespace {

std::vector<std::string> words_of(std::string_view text) {
  std::vector<std::string> words(1);
  for (const char c : text) {
    if (std::isalpha(static_cast<unsigned char>(c)))
      words.back() += static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
    else if (!words.back().empty())
      words.emplace_back();
  }
  return words;
}

// Of one that also names training it depends on more than the text: `for phase in ["train", "val"]`.
bool names_validation_data(std::string_view text) {
  std::vector<std::string> words = words_of(text);
  for (size_t i = 1; i < words.size(); ++i)
    if ((words[i - 1] == "held" || words[i - 1] == "hold") && words[i] == "out") words[i] = "heldout";
  const auto trains = [](const std::string& word) { return word.starts_with("train"); };
  return std::none_of(words.begin(), words.end(), trains) && std::any_of(words.begin(), words.end(), names_data);
}

// "run_epoch(loader, training=False)" does not train.
std::string without_denials(std::string text) {
  for (const std::string_view denial : {"training=False", "train=False", "is_train=False"})
    if (const size_t at = text.find(denial); at != std::string::npos) text.erase(at, denial.size());
  return text;
}

std::string without_texts(std::string_view code) {
  std::string out;
  char quote = 0;
  for (const char c : code) {
    if (quote ? c == quote : c == '"' || c == '\'')
      quote = quote ? 0 : c;
    else if (!quote)
      out += c;
  }
  return out;
}

// "range(1, args.epochs + 1)", "trange(NUM_EPOCH)"; range(steps_per_epoch) and range(epoch * n, …) count steps.
bool is_number_of_epochs(std::string_view iterable) {
  constexpr std::string_view kHowMany[] = {"n", "num", "nb", "no", "max", "total"};
  if (iterable.find("range(") == std::string_view::npos) return false;
  const std::string code = without_texts(iterable);
  constexpr auto kOfNames = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_";
  for (size_t at = code.find_first_of(kOfNames), end = 0; at != std::string::npos;
       at = code.find_first_of(kOfNames, end)) {
    end = std::min(code.find_first_not_of(kOfNames, at), code.size());
    const std::vector<std::string> words = words_of(code.substr(at, end - at));
    for (size_t i = 0; i < words.size(); ++i) {
      const std::string_view before = i > 0 ? std::string_view(words[i - 1]) : "";
      if (words[i] == "epochs" ? before != "per" : words[i] == "epoch" && is_one_of(before, kHowMany)) return true;
    }
  }
  return false;
}

// "i" of "for i, x in enumerate(xs):"
std::string variable_of(std::string_view loop) {
  const size_t begin = loop.find("for ") + 4;
  return std::string(loop.substr(begin, loop.find_first_of(" ,)", begin) - begin));
}

// By the name of its variable, or of what it goes through: `for i in range(n_epochs)`; of `while` by all of it.
bool counts_epochs(std::string_view header) {
  const size_t in = header.find(" in ");
  const bool loop = header.starts_with("for ") || header.starts_with(" for ");
  const std::vector<std::string> words = words_of(loop ? header.substr(0, in) : header);
  const auto named = [](const std::string& word) { return word == "epoch" || word == "ep" || word == "epochs"; };
  if (std::any_of(words.begin(), words.end(), named)) return true;
  if (!loop || in == std::string_view::npos) return false;
  // "for e in range(1, 9)": experts and edges are as many as something else says.
  const std::string_view iterable = header.substr(in + 4);
  const bool counted = iterable.starts_with("range(") &&
                       iterable.find_first_not_of("0123456789, ", 6) == std::min(iterable.find(')'), iterable.size());
  return (variable_of(header) == "e" && counted) || is_number_of_epochs(iterable);
}

// A loop over something, as it stands in a header, or in a line that is a list of what it gives; empty: none.
std::string_view loop_in(std::string_view header, bool line_itself) {
  const size_t begin = header.starts_with("for ") ? 0 : line_itself ? header.find(" for ") : std::string_view::npos;
  return begin == std::string_view::npos ? std::string_view() : header.substr(begin);
}

bool without_gradients(std::string_view header) {
  return header.starts_with("with ") && (header.find("no_grad(") != std::string_view::npos ||
                                         header.find("inference_mode(") != std::string_view::npos ||
                                         header.find("set_grad_enabled(False") != std::string_view::npos);
}

}  // namespace

namespace {

bool is_header(std::string_view text) {
  return std::any_of(std::begin(kBlocks), std::end(kBlocks), [&](std::string_view b) { return text.starts_with(b); });
}

bool begins_function(std::string_view text) {
  return text.starts_with("def ") || text.starts_with("class ") || text.starts_with("async def ");
}

}  // namespace

std::vector<std::string> enclosing_headers(const std::vector<std::string>& lines, size_t line) {
  std::vector<std::string> headers;
  if (line == 0 || line > lines.size()) return headers;
  headers.emplace_back(trimmed(lines[line - 1]));
  size_t column = indentation(lines[line - 1]);
  for (size_t i = line - 1; i-- > 0 && column > 0;) {
    const std::string_view text = trimmed(lines[i]);
    if (text.empty() || text.front() == '#' || indentation(lines[i]) >= column) continue;
    // The end of a statement of several lines may stand further left than its block.
    if (!is_header(text)) continue;
    column = indentation(lines[i]);
    if (begins_function(text)) break;
    headers.emplace_back(text);
  }
  return headers;
}

bool line_validates(const std::vector<std::string>& lines, size_t line) {
  bool looped = false, named = false;
  const std::vector<std::string> headers = enclosing_headers(lines, line);
  for (size_t i = 0; i < headers.size(); ++i) {
    const std::string_view header = headers[i];
    if (header.starts_with("for ")) {
      const size_t in = header.find(" in ");
      // All that trains lies within; beside the loop over its batches stands what is done once an epoch.
      if (counts_epochs(header)) return named && !looped;
      if (in != std::string_view::npos && names_validation_data(header.substr(in + 4))) return true;
      looped = true;
    } else if (header.starts_with("while ")) {
      looped = true;
    } else if (without_gradients(header)) {
      if (looped || named) return true;
    } else if (i == 0) {
      named = names_validation_data(without_denials(headers[0]));
    }
  }
  return false;
}

Loop loop_around(const std::vector<std::string>& lines, size_t line) {
  Loop loop = Loop::none;
  const std::vector<std::string> headers = enclosing_headers(lines, line);
  for (size_t i = 0; i < headers.size(); ++i) {
    const std::string_view header = headers[i], goes_through = loop_in(header, i == 0);
    if (goes_through.empty() && !header.starts_with("while ")) continue;
    if (counts_epochs(goes_through.empty() ? header : goes_through)) return Loop::epochs;
    loop = Loop::some;
  }
  return loop;
}

std::string epoch_variable(const std::vector<std::string>& lines, size_t line) {
  const std::vector<std::string> headers = enclosing_headers(lines, line);
  for (size_t i = 0; i < headers.size(); ++i)
    if (const std::string_view loop = loop_in(headers[i], i == 0); counts_epochs(loop)) return variable_of(loop);
  return "";
}

std::string loop_variable(const std::vector<std::string>& lines, size_t line) {
  const std::vector<std::string> headers = enclosing_headers(lines, line);
  for (size_t i = 0; i < headers.size(); ++i)
    if (const std::string_view loop = loop_in(headers[i], i == 0); !loop.empty()) return variable_of(loop);
  return "";
}

std::string split_variable(const std::vector<std::string>& lines, size_t line) {
  for (const std::string& header : enclosing_headers(lines, line)) {
    const size_t in = header.find(" in ");
    if (!header.starts_with("for ") || in == std::string::npos) continue;
    const std::vector<std::string> words = words_of(std::string_view(header).substr(in));
    const bool trains =
        std::any_of(words.begin(), words.end(), [](const std::string& word) { return word.starts_with("train"); });
    if (trains && std::any_of(words.begin(), words.end(), names_data))
      return header.substr(4, header.find_first_of(" ,", 4) - 4);
  }
  return "";
}

namespace {

GradientSwitch switch_in(std::string_view statement) {
  constexpr std::string_view kCall = "set_grad_enabled(", kNot = "not ";
  constexpr auto kOfNames = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_";
  const size_t call = statement.find(kCall);
  if (call == std::string_view::npos) return {};
  std::string_view argument = trimmed(statement.substr(call + kCall.size()));
  GradientSwitch found;
  if (argument.starts_with("mode=")) argument.remove_prefix(5);
  if (argument.starts_with(kNot)) argument.remove_prefix(kNot.size()), found.off = GradientSwitch::Off::if_true;
  const size_t end = std::min(argument.find_first_not_of(kOfNames), argument.size());
  const std::string_view name = argument.substr(0, end), rest = trimmed(argument.substr(end));
  if (rest.starts_with("==") || rest.starts_with("!="))
    found.off = GradientSwitch::Off::if_it_names_data;
  else if (!rest.starts_with(")"))
    return {};  // an attribute, a call
  if (name != "True" && name != "False") found.variable = name;
  return found;
}

}  // namespace

GradientSwitch gradient_switch(const std::vector<std::string>& lines, size_t line) {
  if (line == 0 || line > lines.size()) return {};
  size_t column = indentation(lines[line - 1]);
  for (size_t i = line - 1; i-- > 0;) {
    const std::string_view text = trimmed(lines[i]);
    const size_t place = indentation(lines[i]);
    if (text.empty() || text.front() == '#' || place > column) continue;
    const bool header = place < column && is_header(text);
    if (header ? text.starts_with("with ") : text.starts_with("torch.set_grad_enabled(") && place == column)
      if (text.find("set_grad_enabled(") != std::string_view::npos) return switch_in(text);
    if (!header) continue;
    column = place;
    if (begins_function(text)) break;
  }
  return {};
}

bool switches_off(const GradientSwitch& by, std::string_view value) {
  switch (by.off) {
    case GradientSwitch::Off::if_false:
      return value == "0";
    case GradientSwitch::Off::if_true:
      return value == "1";
    case GradientSwitch::Off::if_it_names_data:
      return names_data(value);
  }
  return false;
}

}  // namespace isochron::observe
