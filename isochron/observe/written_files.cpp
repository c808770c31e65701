#include "isochron/observe/written_files.h"

#include <dirent.h>
#include <sys/inotify.h>
#include <sys/stat.h>
#include <unistd.h>

#include <utility>

namespace isochron::observe {
namespace {
constexpr int kMaxDepth = 4;
constexpr size_t kMaxFolders = 256;
constexpr size_t kMaxFiles = 4096;
constexpr uint32_t kEvents = IN_CLOSE_WRITE | IN_MOVED_TO | IN_MOVED_FROM | IN_DELETE | IN_CREATE | IN_ONLYDIR;

bool worth_watching(const std::string& name) {
  return name != "." && name != ".." && name != ".git" && name != "node_modules" && name != "__pycache__" &&
         name != "site-packages" && name != ".venv";
}
}  // namespace

WrittenFiles::WrittenFiles(const std::vector<std::string>& folders, std::vector<std::string> ours)
    : inotify_(inotify_init1(IN_NONBLOCK | IN_CLOEXEC)), ours_(std::move(ours)) {
  for (const std::string& folder : folders) watch(folder, 0);
}

WrittenFiles::~WrittenFiles() {
  if (inotify_ >= 0) close(inotify_);
}

void WrittenFiles::watch(const std::string& folder, int depth) {
  if (inotify_ < 0 || depth > kMaxDepth || folders_.size() >= kMaxFolders) return;
  const int id = inotify_add_watch(inotify_, folder.c_str(), kEvents);
  if (id < 0 || folders_.contains(id)) return;
  folders_[id] = {folder, depth};
  DIR* dir = opendir(folder.c_str());
  if (!dir) return;
  while (const dirent* entry = readdir(dir))
    if (entry->d_type == DT_DIR && worth_watching(entry->d_name)) watch(folder + "/" + entry->d_name, depth + 1);
  closedir(dir);
}

void WrittenFiles::written(const std::string& path, double now, bool closed) {
  if (files_.size() >= kMaxFiles && !files_.contains(path)) return;
  for (const std::string& own : ours_)
    if (path.starts_with(own)) return;
  struct stat info {};
  if (stat(path.c_str(), &info) != 0 || !S_ISREG(info.st_mode)) return;
  auto [found, added] = files_.try_emplace(path);
  WrittenFile& file = found->second;
  if (added) file.first_time = now;
  file.last_time = now;
  file.exists = true;
  file.bytes = static_cast<double>(info.st_size);
  if (closed) {
    ++file.writes;
    file.bytes_written += file.bytes;
  }
}

void WrittenFiles::update(double now) {
  alignas(inotify_event) char buffer[16384];
  ssize_t got;
  while (inotify_ >= 0 && (got = read(inotify_, buffer, sizeof buffer)) > 0) {
    for (char* at = buffer; at < buffer + got;) {
      const auto* event = reinterpret_cast<const inotify_event*>(at);
      at += sizeof(inotify_event) + event->len;
      const auto folder = folders_.find(event->wd);
      if (folder == folders_.end() || event->len == 0) continue;
      const std::string name = event->name, path = folder->second.path + "/" + name;
      if (event->mask & IN_ISDIR) {
        if ((event->mask & (IN_CREATE | IN_MOVED_TO)) && worth_watching(name)) watch(path, folder->second.depth + 1);
      } else if (event->mask & (IN_DELETE | IN_MOVED_FROM)) {
        if (const auto gone = files_.find(path); gone != files_.end()) gone->second.exists = false;
      } else if (event->mask & (IN_CLOSE_WRITE | IN_MOVED_TO)) {
        written(path, now, true);
      }
    }
  }
}

void WrittenFiles::seen_open(const std::string& path, double now) { written(path, now, false); }

double WrittenFiles::total_bytes() const {
  double sum = 0;
  for (const auto& [path, file] : files_) sum += file.exists ? file.bytes : 0;
  return sum;
}

double WrittenFiles::total_bytes_written() const {
  double sum = 0;
  for (const auto& [path, file] : files_) sum += file.writes > 0 ? file.bytes_written : file.bytes;
  return sum;
}

int WrittenFiles::count() const {
  int sum = 0;
  for (const auto& [path, file] : files_) sum += file.exists;
  return sum;
}

}  // namespace isochron::observe
