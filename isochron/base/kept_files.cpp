#include "isochron/base/kept_files.h"

#include <sys/stat.h>

#include <filesystem>
#include <list>
#include <mutex>
#include <unordered_map>

namespace isochron {
namespace {

constexpr size_t kMost = 10'000;

struct Names {
  std::mutex mutex;
  std::list<std::string> latest;  // first
  std::unordered_map<std::string, std::list<std::string>::iterator> places;
};
Names& names() {
  static Names* all = new Names;
  return *all;
}

}  // namespace

void note_kept_file(const std::string& path) {
  std::error_code ignored;
  const std::string absolute = std::filesystem::absolute(path, ignored).lexically_normal().string();
  Names& all = names();
  std::lock_guard lock(all.mutex);
  if (const auto known = all.places.find(absolute); known != all.places.end()) {
    all.latest.splice(all.latest.begin(), all.latest, known->second);
    return;
  }
  all.latest.push_front(absolute);
  all.places[absolute] = all.latest.begin();
  if (all.latest.size() <= kMost) return;
  all.places.erase(all.latest.back());
  all.latest.pop_back();
}

KeptFiles kept_files() {
  KeptFiles kept;
  Names& all = names();
  std::lock_guard lock(all.mutex);
  for (auto it = all.latest.begin(); it != all.latest.end();) {
    struct stat info {};
    if (lstat(it->c_str(), &info) == 0) {
      ++kept.files;
      kept.bytes += info.st_size;
      ++it;
    } else {
      all.places.erase(*it);
      it = all.latest.erase(it);
    }
  }
  return kept;
}

}  // namespace isochron
