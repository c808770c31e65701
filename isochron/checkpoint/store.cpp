#include "isochron/checkpoint/store.h"

#include <fcntl.h>
#include <stdio.h>
#include <sys/stat.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <chrono>
#include <cmath>
#include <filesystem>
#include <mutex>
#include <set>
#include <system_error>

#include "isochron/base/clock.h"
#include "isochron/base/crc32c.h"
#include "isochron/base/durable_file.h"
#include "isochron/base/files.h"
#include "isochron/base/kept_files.h"
#include "isochron/base/mapped_file.h"
#include "isochron/base/temporary_name.h"
#include "isochron/checkpoint/manifest.h"

namespace isochron {
namespace {

namespace fs = std::filesystem;

constexpr const char* kStateFile = "state.safetensors";
constexpr const char* kManifestFile = "manifest.json";

std::string without_slash(std::string path) {
  while (path.size() > 1 && path.ends_with('/')) path.pop_back();
  return path;
}
std::string parent_of(const std::string& path) { return fs::path(without_slash(path)).parent_path().string(); }
std::string name_of_last(const std::string& path) { return fs::path(without_slash(path)).filename().string(); }

bool exists(const std::string& path) {
  struct stat info {};
  return lstat(path.c_str(), &info) == 0;
}

// A pipe of that name would be waited for.
bool is_file(const std::string& path) {
  std::error_code ignored;
  return fs::is_regular_file(path, ignored);
}

void rename_or_fail(const std::string& from, const std::string& to) {
  if (rename(from.c_str(), to.c_str()) != 0)
    fail<FileError>("checkpoint", "{}: {}", to, std::generic_category().message(errno));
}

// A process elsewhere that has not written for a day does not live any more.
bool untouched_for_a_day(const fs::path& path) {
  const auto before = fs::file_time_type::clock::now() - std::chrono::hours(24);
  std::error_code failed;
  if (const auto when = fs::last_write_time(path, failed); failed || when > before) return false;
  const auto when = fs::last_write_time(path / kStateFile, failed);
  return failed || when < before;
}

// Puts the complete folder `from` in the place of `path`; returns where what was there is now, if anything was.
std::string put_in_place(const std::string& from, const std::string& path) {
  if (!exists(path)) {
    rename_or_fail(from, path);
    return {};
  }
  if (renameat2(AT_FDCWD, from.c_str(), AT_FDCWD, path.c_str(), RENAME_EXCHANGE) == 0) return from;
  // File systems that can't exchange: for a moment the old one has another name, under which it is found, too.
  const std::string old = temporary_name(path, "old");
  rename_or_fail(path, old);
  rename_or_fail(from, path);
  return old;
}

std::string checked_manifest(const std::string& path) {
  if (!exists(path)) fail<FileError>("checkpoint", "{}: there is no such folder", path);
  const std::string manifest = path + "/" + kManifestFile;
  if (!exists(manifest))
    fail<FileError>("checkpoint", "{}: {}", path,
                    exists(path + "/" + kStateFile) ? "incomplete: the manifest, which is written last, is missing"
                                                    : "no checkpoint: it has no manifest.json");
  if (!is_file(manifest)) fail<FileError>("checkpoint", "{}: foreign: its manifest.json is no file", path);
  return read_file(manifest, kLargestManifest);
}

// Of the newest checkpoint that this process has written or looked at.
std::atomic<int64_t> newest_ns{0};

void note_stamp(int64_t saved_at_ns) {
  int64_t known = newest_ns;
  while (known < saved_at_ns && !newest_ns.compare_exchange_weak(known, saved_at_ns)) {
  }
}

// What lies in the folder is looked at once.
void note_stamps_in(const std::string& folder) {
  static std::mutex mutex;
  static std::set<std::string> seen;
  {
    std::lock_guard lock(mutex);
    if (!seen.insert(folder).second) return;
  }
  try {
    (void)list_checkpoints(folder.empty() ? "." : folder);
  } catch (const FileError&) {
  }  // one may write into a folder that one may not list
}

// Whether a checkpoint may take its place: one of ours, sound or not, or what a crash may have left of one.
bool may_be_replaced(const std::string& path) {
  if (is_checkpoint(path)) return true;
  std::error_code failed;
  if (fs::symlink_status(path, failed).type() != fs::file_type::directory) return false;
  for (fs::directory_iterator entry(path, failed), end; !failed && entry != end; entry.increment(failed)) {
    const std::string name = entry->path().filename().string();
    if (name != kStateFile && name != kManifestFile) return false;
    const std::string file = entry->path().string();
    if (name == kManifestFile && !(is_file(file) && is_blank_manifest(read_file(file, kLargestManifest)))) return false;
  }
  return !failed;
}

}  // namespace

int64_t save_clock_ns(const std::string& folder) {
  note_stamps_in(folder);
  const int64_t newest = newest_ns;
  const int64_t now = std::max(unix_ns(), newest < INT64_MAX ? newest + 1 : newest);
  note_stamp(now);
  return now;
}

bool is_checkpoint(const std::string& path) {
  const std::string manifest = path + "/" + kManifestFile;
  try {
    return is_file(manifest) && is_manifest(read_file(manifest, kLargestManifest));
  } catch (const FileError&) {
    return false;
  }
}

void remove_checkpoint(const std::string& path) {
  // The manifest first: from then on this is no checkpoint.
  unlink((path + "/" + kManifestFile).c_str());
  unlink((path + "/" + kStateFile).c_str());
  rmdir(path.c_str());
}

CheckpointInfo write_checkpoint(const std::string& given, const StateImage& image, CheckpointInfo info) {
  const std::string path = without_slash(given), parent = parent_of(path);
  std::error_code failed;
  if (exists(path) && !may_be_replaced(path))
    fail<FileError>("checkpoint", "{} exists and is no checkpoint: it is left alone; choose another name", path);
  if (!parent.empty() && !exists(parent)) {
    fs::create_directories(parent, failed);
    if (failed) fail<FileError>("checkpoint", "{}: {}", parent, failed.message());
    sync_folder(parent_of(parent));
  }
  const std::string temporary = temporary_name(path, "tmp");
  if (mkdir(temporary.c_str(), 0777) != 0)
    fail<FileError>("checkpoint", "{}: {}", path, std::generic_category().message(errno));
  try {
    DurableFile state(temporary + "/" + kStateFile, image.bytes());
    uint32_t crc = 0;
    for (const std::string_view piece : image.pieces) {
      if (!image.crc32c) crc = crc32c(piece, crc);
      state.write(piece);
    }
    state.finish();
    info.path = path;
    info.bytes = state.bytes();
    info.crc32c = image.crc32c.value_or(crc);
    info.saved_at_ns = save_clock_ns(parent);
    const std::string text = manifest_text(info, kStateFile);
    DurableFile manifest(temporary + "/" + kManifestFile, static_cast<int64_t>(text.size()));
    manifest.write(text);
    manifest.finish();
    sync_folder(temporary);
    const std::string replaced = put_in_place(temporary, path);
    sync_folder(parent);
    for (const char* file : {kStateFile, kManifestFile}) note_kept_file(path + "/" + file);
    if (!replaced.empty()) remove_checkpoint(replaced);
  } catch (...) {
    if (is_checkpoint(path) || !is_checkpoint(temporary)) remove_checkpoint(temporary);
    throw;
  }
  return info;
}

CheckpointInfo write_checkpoint(const std::string& path, const NamedTensors& state, CheckpointInfo info) {
  std::vector<std::pair<std::string, TensorSpec>> specs;
  for (const auto& [name, tensor] : state) specs.emplace_back(name, tensor.spec());
  const std::string header = safetensors_header(specs);
  StateImage image{{header}};
  for (const auto& [name, tensor] : state)
    image.pieces.emplace_back(static_cast<const char*>(tensor.raw_data()), static_cast<size_t>(tensor.spec().bytes()));
  return write_checkpoint(path, image, std::move(info));
}

namespace {

// By its manifest; without a good one by the clock of the file system, which ticks every few milliseconds. A folder
// changes last when it is removed, of which its manifest is the first to go; the state tells when it was written.
int64_t saved_at_ns(const std::string& path) {
  try {
    return parse_manifest(path, checked_manifest(path), kStateFile).saved_at_ns;
  } catch (const FileError&) {
    struct stat info {};
    if (stat((path + "/" + kManifestFile).c_str(), &info) != 0 && stat((path + "/" + kStateFile).c_str(), &info) != 0 &&
        stat(path.c_str(), &info) != 0)
      return 0;
    return int64_t{info.st_mtim.tv_sec} * 1'000'000'000 + info.st_mtim.tv_nsec;
  }
}

// A living run may put its next checkpoint in the place of this one between two looks at it: then look again.
template <class F>
CheckpointInfo looked_at(const std::string& path, F look) {
  for (int more = 10;; --more) {
    const int64_t before = saved_at_ns(path);
    try {
      return look();
    } catch (const FileError&) {
      if (more == 0 || saved_at_ns(path) == before) throw;
    }
  }
}

}  // namespace

CheckpointInfo read_checkpoint_info(const std::string& given) {
  const std::string path = without_slash(given);
  return looked_at(path, [&] {
    CheckpointInfo info = parse_manifest(path, checked_manifest(path), kStateFile);
    note_stamp(info.saved_at_ns);
    info.path = path;
    struct stat state {};
    if (stat((path + "/" + kStateFile).c_str(), &state) != 0)
      fail<FileError>("checkpoint", "{}: {} is missing", path, kStateFile);
    if (state.st_size != info.bytes)
      fail<FileError>("checkpoint", "{}: {} has {} bytes, its manifest says {}", path, kStateFile, state.st_size,
                      info.bytes);
    return info;
  });
}

CheckpointInfo verify_checkpoint(const std::string& path) {
  return looked_at(without_slash(path), [&] {
    const CheckpointInfo info = read_checkpoint_info(path);
    const MappedFile state(info.path + "/" + kStateFile);
    if (static_cast<int64_t>(state.size()) != info.bytes || crc32c(state.bytes()) != info.crc32c)
      fail<FileError>("checkpoint", "{}: {} does not match its checksum: bytes have changed since it was written",
                      info.path, kStateFile);
    return info;
  });
}

Checkpoint read_checkpoint(const std::string& path) {
  Checkpoint out;
  out.info = verify_checkpoint(path);
  for (const auto& [name, tensor] : read_safetensors(out.info.path + "/" + kStateFile).tensors)
    out.state.put(name, tensor);
  return out;
}

std::vector<ListedCheckpoint> list_checkpoints(const std::string& given) {
  const std::string path = without_slash(given);
  struct Found {
    ListedCheckpoint listed;
    int64_t when;
  };
  std::vector<Found> found;
  const auto add = [&](const std::string& folder) {
    Found entry{{folder, std::nullopt, ""}, 0};
    try {
      entry.listed.info = read_checkpoint_info(folder);
      entry.when = entry.listed.info->saved_at_ns;
    } catch (const FileError& error) {
      entry.listed.problem = error.what();
      entry.when = saved_at_ns(folder);
    }
    found.push_back(std::move(entry));
  };
  const auto looks_like_one = [](const std::string& folder) {
    return exists(folder + "/" + kManifestFile) || exists(folder + "/" + kStateFile);
  };
  if (looks_like_one(path)) {
    add(path);
  } else {
    std::error_code failed, ignored;
    for (fs::directory_iterator entry(path, failed), end; !failed && entry != end; entry.increment(failed))
      if (entry->is_directory(ignored) && looks_like_one(entry->path().string())) add(entry->path().string());
    if (failed && fs::is_directory(path, ignored)) fail<FileError>("checkpoint", "{}: {}", path, failed.message());
  }
  std::stable_sort(found.begin(), found.end(), [](const Found& a, const Found& b) { return a.when > b.when; });
  std::vector<ListedCheckpoint> out;
  for (Found& entry : found) out.push_back(std::move(entry.listed));
  return out;
}

std::optional<Checkpoint> read_newest_checkpoint(const std::string& given, std::vector<std::string>* rejected) {
  const std::string path = without_slash(given);
  const auto newest_of = [&](const std::string& where, auto&& wanted) -> std::optional<Checkpoint> {
    for (const ListedCheckpoint& listed : list_checkpoints(where)) {
      if (!wanted(name_of_last(listed.path))) continue;
      try {
        return read_checkpoint(listed.path);
      } catch (const Error& error) {
        // What a crash left under a temporary name was never announced: not worth a word.
        if (rejected && !name_of_last(listed.path).starts_with('.')) rejected->push_back(error.what());
      }
    }
    return std::nullopt;
  };
  if (auto found = newest_of(path, [](const std::string&) { return true; })) return found;
  const std::string parent = parent_of(path).empty() ? "." : parent_of(path), own = name_of_last(path);
  const bool damaged = exists(path + "/" + kManifestFile) || exists(path + "/" + kStateFile);
  if (exists(path) && !damaged) return std::nullopt;
  // A single one that is damaged; or one that was being replaced when the process ended.
  try {
    return newest_of(parent, [&](const std::string& name) {
      const auto temporary = parse_temporary_name(name);
      return damaged ? name != own : temporary && temporary->target == own;
    });
  } catch (const FileError&) {
    return std::nullopt;  // nobody asked for what is beside it
  }
}

void remove_leftovers(const std::string& folder) {
  std::vector<std::pair<std::string, std::string>> left;  // path, and the name it was to get
  std::error_code failed;
  for (fs::directory_iterator entry(folder.empty() ? "." : folder, failed), end; !failed && entry != end;
       entry.increment(failed))
    if (const auto name = parse_temporary_name(entry->path().filename().string()))
      if (name->alive ? !*name->alive : untouched_for_a_day(entry->path()))
        left.emplace_back(entry->path().string(), (fs::path(folder) / name->target).string());
  for (const auto& [path, target] : left) {
    const fs::file_status what = fs::symlink_status(path, failed);
    if (fs::is_regular_file(what))
      unlink(path.c_str());  // a file of weights
    else if (fs::is_directory(what) && !exists(target) && is_checkpoint(path))
      rename(path.c_str(), target.c_str());
    else if (fs::is_directory(what))
      remove_checkpoint(path);
  }
}

}  // namespace isochron
