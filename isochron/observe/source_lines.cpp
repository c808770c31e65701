#include "isochron/observe/source_lines.h"

#include <algorithm>
#include <cctype>
#include <fstream>

namespace isochron::observe {
namespace {

constexpr size_t kLongestText = 100;
constexpr size_t kMaxKnownLines = 4096;

struct Named {
  std::string_view word;
  Store store;
};
// Whole words of identifiers: np.frombuffer() is no buffer.
constexpr Named kNamed[] = {{"shuffle", Store::shuffle_buffer},
                            {"shuffled", Store::shuffle_buffer},
                            {"buffer", Store::shuffle_buffer},
                            {"buf", Store::shuffle_buffer},
                            {"reservoir", Store::shuffle_buffer},
                            {"cache", Store::cache},
                            {"cached", Store::cache},
                            {"caches", Store::cache},
                            {"memo", Store::cache},
                            {"preload", Store::cache},
                            {"preloaded", Store::cache}};

std::string read_line(const std::string& path, int line) {
  std::ifstream file(path);
  std::string text;
  for (int i = 0; i < line; ++i)
    if (!std::getline(file, text)) return "";
  const size_t begin = text.find_first_not_of(" \t");
  return begin == std::string::npos ? "" : text.substr(begin);
}

}  // namespace

Store store_named_in(std::string_view line) {
  Store found = Store::none;
  std::string word;
  for (const char c : std::string(line) + ' ') {
    if (std::isalpha(static_cast<unsigned char>(c))) {
      word += static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
      continue;
    }
    const auto named =
        std::find_if(std::begin(kNamed), std::end(kNamed), [&](const Named& n) { return n.word == word; });
    if (named != std::end(kNamed) && (found == Store::none || word == "shuffle")) found = named->store;
    word.clear();
  }
  return found;
}

std::string source_line(const std::string& path, int line) { return read_line(path, line).substr(0, kLongestText); }

Store SourceLines::store_named(const std::vector<PythonFrame>& frames) {
  for (const PythonFrame& frame : frames) {
    if (!frame.code->user) continue;
    if (stores_.size() >= kMaxKnownLines) stores_.clear();
    const auto [known, added] = stores_.try_emplace({frame.code->file, frame.line}, Store::none);
    if (added) {
      known->second = store_named_in(read_line(frame.code->file, frame.line));
      if (known->second == Store::none) known->second = store_named_in(frame.code->function);
    }
    if (known->second != Store::none) return known->second;
  }
  return Store::none;
}

}  // namespace isochron::observe
