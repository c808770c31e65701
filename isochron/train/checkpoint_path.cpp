#include "isochron/train/checkpoint_path.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <span>

#include "isochron/base/joined.h"

namespace isochron {
namespace {

namespace fs = std::filesystem;

// Plain text, or what stands in braces.
struct Part {
  std::string text, name = {}, format = {};
  bool filled() const { return !name.empty(); }
  bool counts() const { return name == "epoch" || name == "batch"; }
};

std::vector<Part> parts_of(const std::string& filepath) {
  std::vector<Part> parts;
  for (size_t at = 0; at < filepath.size();) {
    const char c = filepath[at];
    const bool doubled = at + 1 < filepath.size() && filepath[at + 1] == c;
    if (c == '{' && !doubled) {
      const size_t end = filepath.find('}', at);
      if (end == std::string::npos) fail<ValueError>("ModelCheckpoint", "\"{}\": a brace is not closed", filepath);
      const std::string inside = filepath.substr(at + 1, end - at - 1);
      const size_t colon = inside.find(':');
      if (colon == 0 || inside.empty())
        fail<ValueError>("ModelCheckpoint", "\"{}\": in braces stand epoch, batch or a metric", filepath);
      parts.push_back({"", inside.substr(0, colon), colon == std::string::npos ? "" : inside.substr(colon)});
      at = end + 1;
      continue;
    }
    if (parts.empty() || parts.back().filled()) parts.push_back({""});
    parts.back().text += c;
    at += (c == '{' || c == '}') && doubled ? 2 : 1;
  }
  return parts;
}

template <class T>
std::string formatted(const std::string& filepath, const std::string& format, T value) {
  try {
    return fmt::format(fmt::runtime("{" + format + "}"), value);
  } catch (const fmt::format_error& error) {
    fail<ValueError>("ModelCheckpoint", "\"{}\": the format \"{}\" does not fit: {}", filepath, format, error.what());
  }
}

bool is_number(std::string text, bool integer) {
  const size_t begin = text.find_first_not_of(' '), end = text.find_last_not_of(' ');
  if (begin == std::string::npos) return false;
  text = text.substr(begin, end - begin + 1);
  if (integer) return text.find_first_not_of("0123456789") == std::string::npos;
  char* rest = nullptr;
  std::strtod(text.c_str(), &rest);
  return *rest == '\0';
}

bool matches(std::span<const Part> parts, const std::string& name) {
  if (parts.empty()) return name.empty();
  const Part& part = parts.front();
  if (!part.filled()) return name.starts_with(part.text) && matches(parts.subspan(1), name.substr(part.text.size()));
  for (size_t length = 1; length <= name.size(); ++length)
    if (is_number(name.substr(0, length), part.counts()) && matches(parts.subspan(1), name.substr(length))) return true;
  return false;
}

}  // namespace

void check_checkpoint_path(const std::string& filepath) {
  for (const Part& part : parts_of(filepath)) {
    if (part.counts()) formatted(filepath, part.format, int64_t{1});
    if (part.filled() && !part.counts()) formatted(filepath, part.format, 0.5);
  }
}

bool names_batch(const std::string& filepath) {
  const std::vector<Part> parts = parts_of(filepath);
  return std::any_of(parts.begin(), parts.end(), [](const Part& part) { return part.name == "batch"; });
}

std::string checkpoint_path(const std::string& filepath, int epoch, int64_t batch, const Logs& logs) {
  std::string out;
  for (const Part& part : parts_of(filepath)) {
    out += part.text;
    if (part.counts()) out += formatted(filepath, part.format, part.name == "epoch" ? int64_t{epoch} : batch);
    if (!part.filled() || part.counts()) continue;
    if (!logs.contains(part.name)) {
      std::vector<std::string> known{"epoch", "batch"};
      for (const auto& [metric, value] : logs) known.push_back(metric);
      fail<ValueError>("ModelCheckpoint", "\"{}\": there is no \"{}\" to put into the name; there are {}", filepath,
                       part.name, joined(known));
    }
    out += formatted(filepath, part.format, logs[part.name]);
  }
  return out;
}

std::vector<std::string> paths_like(const std::string& filepath) {
  std::vector<fs::path> found{""};
  for (const fs::path& level : fs::path(filepath)) {
    const std::vector<Part> parts = parts_of(level.string());
    std::vector<fs::path> next;
    std::error_code failed;
    for (const fs::path& base : found) {
      if (std::none_of(parts.begin(), parts.end(), [](const Part& part) { return part.filled(); })) {
        if (const fs::path path = base / (parts.empty() ? "" : parts.front().text); fs::exists(path, failed))
          next.push_back(path);
        continue;
      }
      for (fs::directory_iterator entry(base.empty() ? "." : base, failed), end; !failed && entry != end;
           entry.increment(failed))
        if (const fs::path name = entry->path().filename(); matches(parts, name.string())) next.push_back(base / name);
    }
    found = std::move(next);
  }
  std::vector<std::string> out;
  for (const fs::path& path : found) out.push_back(path.string());
  return out;
}

}  // namespace isochron
