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
  const std::vector<std::string> words = words_of(text);
  const auto trains = [](const std::string& word) { return word.starts_with("train"); };
  return std::none_of(words.begin(), words.end(), trains) && std::any_of(words.begin(), words.end(), names_data);
}

// "run_epoch(loader, training=False)" does not train.
std::string without_denials(std::string text) {
  for (const std::string_view denial : {"training=False", "train=False", "is_train=False"})
    if (const size_t at = text.find(denial); at != std::string::npos) text.erase(at, denial.size());
  return text;
}

bool counts_epochs(std::string_view variables) {
  const std::vector<std::string> words = words_of(variables);
  return std::any_of(words.begin(), words.end(),
                     [](const std::string& word) { return word == "epoch" || word == "ep" || word == "epochs"; });
}

bool without_gradients(std::string_view header) {
  return header.starts_with("with ") && (header.find("no_grad(") != std::string_view::npos ||
                                         header.find("inference_mode(") != std::string_view::npos ||
                                         header.find("set_grad_enabled(False") != std::string_view::npos);
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
    if (std::none_of(std::begin(kBlocks), std::end(kBlocks), [&](std::string_view b) { return text.starts_with(b); }))
      continue;
    column = indentation(lines[i]);
    if (text.starts_with("def ") || text.starts_with("class ") || text.starts_with("async def ")) break;
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
      if (counts_epochs(header.substr(0, in))) return named && !looped;
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
    const std::string_view header = headers[i];
    // The line itself may be a list of what epochs gave: "[train(epoch) for epoch in range(9)]".
    const size_t begin = header.starts_with("for ") ? 0 : i == 0 ? header.find(" for ") : std::string_view::npos;
    const bool goes_through = begin != std::string_view::npos;
    if (!goes_through && !header.starts_with("while ")) continue;
    const std::string_view counted = goes_through ? header.substr(begin, header.find(" in ", begin) - begin) : header;
    if (counts_epochs(counted)) return Loop::epochs;
    loop = Loop::some;
  }
  return loop;
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

}  // namespace isochron::observe
