#include "isochron/base/cache_folder.h"

#include <fmt/core.h>

#include <cstdint>
#include <cstdlib>
#include <filesystem>

#include "isochron/base/error.h"
#include "isochron/base/files.h"

namespace isochron {

std::string cache_folder() {
  if (const char* own = std::getenv("ISOCHRON_CACHE_DIR")) return own;
  if (const char* xdg = std::getenv("XDG_CACHE_HOME"); xdg && *xdg) return std::string(xdg) + "/isochron";
  if (const char* home = std::getenv("HOME"); home && *home) return std::string(home) + "/.cache/isochron";
  return {};
}

void write_kept(const std::string& path, std::string_view text) {
  std::error_code ignored;
  std::filesystem::create_directories(std::filesystem::path(path).parent_path(), ignored);
  try {
    write_file(path, text);
  } catch (const FileError&) {
  }
}

std::string hashed(std::string_view text) {
  uint64_t hash = 0xcbf29ce484222325u;  // FNV-1a
  for (const char c : text) hash = (hash ^ static_cast<uint8_t>(c)) * 0x100000001b3u;
  return fmt::format("{:016x}", hash);
}

}  // namespace isochron
