#include "isochron/base/run_folder.h"

#include <dirent.h>
#include <fcntl.h>
#include <signal.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <system_error>

#include "isochron/base/error.h"
#include "isochron/base/files.h"
#include "isochron/base/seconds_text.h"

namespace isochron {
namespace {

constexpr char kOwner[] = "owner";
constexpr int kDeepest = 32;

// Everything below the folder, by system calls alone: a signal handler may call it. Links are removed, not followed.
void remove_contents(int folder, int depth) {
  alignas(8) char buffer[4096];
  // Removing entries may move others: read again from the start until a pass finds nothing to remove.
  for (bool removed = true; removed;) {
    removed = false;
    lseek(folder, 0, SEEK_SET);
    for (;;) {
      const long bytes = syscall(SYS_getdents64, folder, buffer, sizeof buffer);
      if (bytes <= 0) break;
      for (long at = 0; at < bytes;) {
        struct Entry {
          uint64_t inode;
          int64_t offset;
          unsigned short length;
          unsigned char type;
          char name[1];
        };
        const auto* entry = reinterpret_cast<const Entry*>(buffer + at);
        at += entry->length;
        const char* name = reinterpret_cast<const char*>(entry) + offsetof(Entry, name);
        if (std::strcmp(name, ".") == 0 || std::strcmp(name, "..") == 0) continue;
        if (unlinkat(folder, name, 0) == 0) {
          removed = true;
        } else if (depth < kDeepest) {
          const int inner = openat(folder, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
          if (inner < 0) continue;
          remove_contents(inner, depth + 1);
          close(inner);
          removed = unlinkat(folder, name, AT_REMOVEDIR) == 0 || removed;
        }
      }
    }
  }
}

void remove_folder(const char* path) {
  const int folder = open(path, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
  if (folder < 0) return;
  remove_contents(folder, 0);
  close(folder);
  rmdir(path);
}

// The folder of this process, where a signal handler finds it.
char g_path[1024];
std::atomic<int> g_owner{0};  // the process that made it; 0: none

void remove_own_folder() {
  int self = getpid();
  if (g_owner.compare_exchange_strong(self, 0)) remove_folder(g_path);
}

void on_signal(int number) {
  remove_own_folder();
  signal(number, SIG_DFL);
  raise(number);
}

void remove_at_the_end() {
  std::atexit(remove_own_folder);
  for (const int number : {SIGINT, SIGTERM, SIGHUP, SIGQUIT}) {
    struct sigaction now {};
    if (sigaction(number, nullptr, &now) != 0 || now.sa_handler != SIG_DFL) continue;
    struct sigaction ours {};
    ours.sa_handler = on_signal;
    sigemptyset(&ours.sa_mask);
    sigaction(number, &ours, nullptr);
  }
}

std::string text_of(const char* path) {
  char text[4096];
  return std::string(text, read_short_file(path, text));
}

std::string boot_id() {
  std::string id = text_of("/proc/sys/kernel/random/boot_id");
  while (!id.empty() && id.back() == '\n') id.pop_back();
  return id;
}

// "pid 4711\nstart 8812345\nboot …\ncommand …\n".
std::string line_after(const std::string& text, const std::string& key) {
  size_t at = text.rfind("\n" + key + " ");
  at = at == std::string::npos ? (text.starts_with(key + " ") ? 0 : at) : at + 1;
  if (at == std::string::npos) return "";
  at += key.size() + 1;
  return text.substr(at, text.find('\n', at) - at);
}

bool own_folder(const std::string& path) {
  struct stat info {};
  return lstat(path.c_str(), &info) == 0 && S_ISDIR(info.st_mode) && info.st_uid == getuid();
}

void measure(int folder, RunFolderInfo& info, int depth) {
  DIR* entries = fdopendir(folder);
  if (!entries) {
    close(folder);
    return;
  }
  while (const dirent* entry = readdir(entries)) {
    if (std::strcmp(entry->d_name, ".") == 0 || std::strcmp(entry->d_name, "..") == 0) continue;
    struct stat item {};
    if (fstatat(dirfd(entries), entry->d_name, &item, AT_SYMLINK_NOFOLLOW) != 0) continue;
    if (S_ISDIR(item.st_mode) && depth < kDeepest) {
      const int inner = openat(dirfd(entries), entry->d_name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
      if (inner >= 0) measure(inner, info, depth + 1);
      continue;
    }
    ++info.files;
    info.bytes += static_cast<int64_t>(item.st_blocks) * 512;
  }
  closedir(entries);
}

// Holds the owner's lock, when it could be had: then nobody lives there.
class OwnerLock {
 public:
  explicit OwnerLock(const std::string& folder)
      : fd_(open((folder + "/" + kOwner).c_str(), O_RDONLY | O_NOFOLLOW | O_CLOEXEC)),
        held_(fd_ >= 0 && flock(fd_, LOCK_EX | LOCK_NB) == 0) {}
  ~OwnerLock() {
    if (fd_ >= 0) close(fd_);
  }
  OwnerLock(const OwnerLock&) = delete;
  bool missing() const { return fd_ < 0; }
  bool held() const { return held_; }

 private:
  const int fd_;
  const bool held_;
};

RunFolderInfo describe(const std::string& path, const OwnerLock& lock) {
  RunFolderInfo info{.path = path};
  const std::string owner = text_of((path + "/" + kOwner).c_str());
  info.pid = std::atoi(line_after(owner, "pid").c_str());
  info.command = line_after(owner, "command");
  struct stat item {};
  if (lstat(path.c_str(), &item) == 0) info.age_seconds = std::max<int64_t>(0, time(nullptr) - item.st_mtime);
  // A folder without an owner is being made, or being removed: given a minute to become one.
  constexpr int64_t kMaking = 60;
  const bool runs =
      info.pid > 0 && line_after(owner, "boot") == boot_id() && process_start(info.pid) == line_after(owner, "start");
  info.alive = lock.missing() || owner.empty() ? info.age_seconds < kMaking : !lock.held() || runs;
  if (const int folder = open(path.c_str(), O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC); folder >= 0)
    measure(folder, info, 0);
  return info;
}

std::vector<std::string> folders_in(const std::string& root) {
  std::vector<std::string> paths;
  if (!own_folder(root)) return paths;
  std::error_code ignored;
  for (const auto& entry : std::filesystem::directory_iterator(root, ignored))
    if (entry.path().filename().string().starts_with("run-") && own_folder(entry.path().string()))
      paths.push_back(entry.path().string());
  std::sort(paths.begin(), paths.end());
  return paths;
}

int64_t quota_of(const std::string& path) {
  if (const char* text = std::getenv("ISOCHRON_TMP_QUOTA")) {
    char* end = nullptr;
    const double number = std::strtod(text, &end);
    const std::string_view unit = end;
    const double scale = unit == "K" ? 1e3 : unit == "M" ? 1e6 : unit == "G" ? 1e9 : unit == "T" ? 1e12 : 1;
    if (end == text || !(number >= 0) || (scale == 1 && !unit.empty()))
      fail<ValueError>("ISOCHRON_TMP_QUOTA", "must be bytes, or a number with K, M, G or T, got \"{}\"", text);
    return static_cast<int64_t>(std::min(number * scale, 0x1p62));
  }
  struct statvfs disk {};
  if (statvfs(path.c_str(), &disk) != 0) return INT64_MAX;
  return static_cast<int64_t>(disk.f_bavail) * static_cast<int64_t>(disk.f_frsize) / 2;
}

[[noreturn]] void fail_with_errno(const std::string& path) {
  fail<FileError>("temporary files", "{}: {}; set ISOCHRON_TMPDIR to a folder that can be written", path,
                  std::generic_category().message(errno));
}

}  // namespace

std::string process_start(int pid) {
  const std::string stat = text_of(fmt::format("/proc/{}/stat", pid).c_str());
  size_t at = stat.rfind(')');
  if (at == std::string::npos || stat.substr(at).starts_with(") Z")) return "";
  for (int field = 0; field < 20 && at != std::string::npos; ++field) at = stat.find(' ', at + 1);
  return at == std::string::npos ? "" : stat.substr(at + 1, stat.find(' ', at + 1) - at - 1);
}

std::string run_folders_root() {
  for (const char* name : {"ISOCHRON_TMPDIR", "TMPDIR"})
    if (const char* folder = std::getenv(name); folder && *folder)
      return fmt::format("{}/isochron-{}", folder, getuid());
  return fmt::format("/tmp/isochron-{}", getuid());
}

RunFolder& RunFolder::global() {
  static RunFolder* folder = new RunFolder;
  return *folder;
}

bool RunFolder::exists() const {
  std::lock_guard lock(mutex_);
  return !path_.empty() && pid_ == getpid();
}

const std::string& RunFolder::path() {
  std::lock_guard lock(mutex_);
  if (path_.empty() || pid_ != getpid()) make();
  return path_;
}

void RunFolder::make() {
  const std::string root = run_folders_root();
  std::error_code error;
  std::filesystem::create_directories(std::filesystem::path(root).parent_path(), error);
  if (mkdir(root.c_str(), 0700) != 0 && errno != EEXIST) fail_with_errno(root);
  if (!own_folder(root)) fail<FileError>("temporary files", "{} is not a folder of this user's", root);
  remove_dead_run_folders(root);
  const int64_t quota = quota_of(root);  // one that is no number is refused before there is a folder
  const int pid = getpid();
  const std::string start = process_start(pid);
  std::string path;
  for (int attempt = 0;; ++attempt) {
    path = fmt::format("{}/run-{}-{}{}", root, pid, start, attempt ? fmt::format("-{}", attempt) : "");
    if (mkdir(path.c_str(), 0700) == 0) break;
    if (errno != EEXIST || attempt > 100) fail_with_errno(path);
  }
  const std::string owner = path + "/" + kOwner;
  const int fd = open(owner.c_str(), O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
  // A folder without an owner would lie there until somebody cleans.
  const auto give_up = [&] {
    const int why = errno;
    if (fd >= 0) close(fd);
    remove_folder(path.c_str());
    errno = why;
    fail_with_errno(owner);
  };
  if (fd < 0) give_up();
  flock(fd, LOCK_EX | LOCK_NB);
  std::string command = text_of("/proc/self/cmdline");
  if (command.ends_with('\0')) command.pop_back();
  std::replace(command.begin(), command.end(), '\0', ' ');
  std::replace(command.begin(), command.end(), '\n', ' ');
  const std::string text =
      fmt::format("pid {}\nstart {}\nboot {}\ncommand {}\n", pid, start, boot_id(), command.substr(0, 200));
  if (write(fd, text.data(), text.size()) != static_cast<ssize_t>(text.size())) give_up();
  path_ = path;
  owner_fd_ = fd;  // kept open: the lock goes with it
  pid_ = pid;
  taken_ = 0;
  quota_ = quota;
  if (path.size() < sizeof g_path) {
    g_owner.store(0);
    std::memcpy(g_path, path.c_str(), path.size() + 1);
    g_owner.store(pid);
    static const bool once = (remove_at_the_end(), true);
    static_cast<void>(once);
  }
}

void RunFolder::take(int64_t bytes) {
  path();
  std::lock_guard lock(mutex_);
  if (taken_ + bytes > quota_)
    fail<FileError>("temporary files",
                    "{} more would exceed the quota of {} of which {} are in use in {}; set "
                    "ISOCHRON_TMP_QUOTA, or ISOCHRON_TMPDIR to a larger disk",
                    bytes_text(bytes), bytes_text(quota_), bytes_text(taken_), path_);
  taken_ += bytes;
}

void RunFolder::give_back(int64_t bytes) {
  std::lock_guard lock(mutex_);
  taken_ = std::max<int64_t>(0, taken_ - bytes);
}

int64_t RunFolder::taken() const {
  std::lock_guard lock(mutex_);
  return taken_;
}

void RunFolder::remove() {
  std::lock_guard lock(mutex_);
  if (path_.empty() || pid_ != getpid()) return;
  remove_own_folder();
  close(owner_fd_);
  owner_fd_ = -1;
  path_.clear();
  taken_ = 0;
}

std::vector<RunFolderInfo> list_run_folders(const std::string& root) {
  std::vector<RunFolderInfo> all;
  for (const std::string& path : folders_in(root)) all.push_back(describe(path, OwnerLock(path)));
  return all;
}

std::vector<RunFolderInfo> remove_dead_run_folders(const std::string& root) {
  std::vector<RunFolderInfo> removed;
  for (const std::string& path : folders_in(root)) {
    // Held while it goes on: two that clean at the same time do not meet in one folder.
    const OwnerLock lock(path);
    RunFolderInfo info = describe(path, lock);
    if (info.alive) continue;
    remove_folder(path.c_str());
    if (!own_folder(path)) removed.push_back(std::move(info));
  }
  return removed;
}

}  // namespace isochron
