#include "isochron/data/files/paths.h"

#include <glob.h>
#include <sys/stat.h>

#include "isochron/base/error.h"

namespace isochron::data {

std::vector<std::string> matching_files(const std::string& pattern) {
  if (pattern.find_first_of("*?[") == std::string::npos) return {pattern};
  struct stat info {};
  if (stat(pattern.c_str(), &info) == 0) return {pattern};  // a name that only looks like a pattern
  glob_t found{};
  const int status = glob(pattern.c_str(), GLOB_ERR, nullptr, &found);
  std::vector<std::string> paths(found.gl_pathv, found.gl_pathv + (status == 0 ? found.gl_pathc : 0));
  globfree(&found);
  if (paths.empty()) fail<FileError>("files", "no file matches \"{}\"", pattern);
  return paths;
}

std::string fingerprint_of_files(const std::vector<std::string>& paths) {
  std::string out;
  for (const std::string& path : paths) {
    struct stat info {};
    if (stat(path.c_str(), &info) != 0) info = {};
    out += fmt::format("{}:{}:{}.{:09};", path, static_cast<int64_t>(info.st_size),
                       static_cast<int64_t>(info.st_mtim.tv_sec), static_cast<int64_t>(info.st_mtim.tv_nsec));
  }
  return out;
}

}  // namespace isochron::data
