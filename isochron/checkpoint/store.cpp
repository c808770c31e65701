#include "isochron/checkpoint/store.h"

#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <sys/stat.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <chrono>
#include <cmath>
#include <filesystem>
#include <system_error>

#include "isochron/base/crc32c.h"
#include "isochron/base/durable_file.h"
#include "isochron/base/files.h"
#include "isochron/base/mapped_file.h"
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

void rename_or_fail(const std::string& from, const std::string& to) {
  if (rename(from.c_str(), to.c_str()) != 0)
    fail<FileError>("checkpoint", "{}: {}", to, std::generic_category().message(errno));
}

// Names of what is under way: ".ckpt-0005.3fa2.4711.0.tmp" of host, process and count.
std::string host_mark() {
  char name[256] = {};
  gethostname(name, sizeof name - 1);
  return fmt::format("{:04x}", crc32c(name) & 0xFFFF);
}
struct TemporaryName {
  std::string target;
  int process = 0;
};
std::string temporary_name(const std::string& path, const char* end) {
  static std::atomic<uint64_t> count{0};
  const std::string name =
      fmt::format(".{}.{}.{}.{}.{}", name_of_last(path), host_mark(), getpid(), count.fetch_add(1), end);
  const std::string parent = parent_of(path);
  return parent.empty() ? name : (fs::path(parent) / name).string();
}
// Of this host only: nobody can tell whether a process elsewhere is alive.
std::optional<TemporaryName> parse_temporary(const std::string& name) {
  if (!name.starts_with('.') || (!name.ends_with(".tmp") && !name.ends_with(".old"))) return std::nullopt;
  std::string rest = name.substr(1, name.size() - 5);
  std::vector<std::string> parts;  // count, process, host
  for (int i = 0; i < 3; ++i) {
    const size_t dot = rest.rfind('.');
    if (dot == std::string::npos) return std::nullopt;
    parts.push_back(rest.substr(dot + 1));
    rest.resize(dot);
  }
  const std::string& process = parts[1];
  if (rest.empty() || parts[2] != host_mark() || process.empty() || process.size() > 9 ||
      process.find_first_not_of("0123456789") != std::string::npos)
    return std::nullopt;
  return TemporaryName{rest, std::stoi(process)};
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
  return read_file(manifest, kLargestManifest);
}

}  // namespace

bool is_checkpoint(const std::string& path) {
  const std::string manifest = path + "/" + kManifestFile;
  try {
    return exists(manifest) && is_manifest(read_file(manifest, kLargestManifest));
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

CheckpointInfo write_checkpoint(const std::string& given, std::span<const std::string_view> pieces,
                                CheckpointInfo info) {
  const std::string path = without_slash(given), parent = parent_of(path);
  std::error_code failed;
  if (exists(path) && !is_checkpoint(path) && !(fs::is_directory(path, failed) && fs::is_empty(path, failed)))
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
    int64_t bytes = 0;
    for (const std::string_view piece : pieces) bytes += static_cast<int64_t>(piece.size());
    DurableFile state(temporary + "/" + kStateFile, bytes);
    for (const std::string_view piece : pieces) state.write(piece);
    state.finish();
    info.path = path;
    info.bytes = state.bytes();
    info.crc32c = state.crc32c();
    info.saved_at_ns =
        std::chrono::duration_cast<std::chrono::nanoseconds>(std::chrono::system_clock::now().time_since_epoch())
            .count();
    const std::string text = manifest_text(info, kStateFile);
    DurableFile manifest(temporary + "/" + kManifestFile, static_cast<int64_t>(text.size()));
    manifest.write(text);
    manifest.finish();
    sync_folder(temporary);
    const std::string replaced = put_in_place(temporary, path);
    sync_folder(parent);
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
  std::vector<std::string_view> pieces{header};
  for (const auto& [name, tensor] : state)
    pieces.emplace_back(static_cast<const char*>(tensor.raw_data()), static_cast<size_t>(tensor.spec().bytes()));
  return write_checkpoint(path, pieces, std::move(info));
}

CheckpointInfo read_checkpoint_info(const std::string& given) {
  const std::string path = without_slash(given);
  CheckpointInfo info = parse_manifest(path, checked_manifest(path), kStateFile);
  info.path = path;
  struct stat state {};
  if (stat((path + "/" + kStateFile).c_str(), &state) != 0)
    fail<FileError>("checkpoint", "{}: {} is missing", path, kStateFile);
  if (state.st_size != info.bytes)
    fail<FileError>("checkpoint", "{}: {} has {} bytes, its manifest says {}", path, kStateFile, state.st_size,
                    info.bytes);
  return info;
}

CheckpointInfo verify_checkpoint(const std::string& path) {
  const CheckpointInfo info = read_checkpoint_info(path);
  const MappedFile state(info.path + "/" + kStateFile);
  if (static_cast<int64_t>(state.size()) != info.bytes || crc32c(state.bytes()) != info.crc32c)
    fail<FileError>("checkpoint", "{}: {} does not match its checksum: bytes have changed since it was written",
                    info.path, kStateFile);
  return info;
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
      struct stat info {};
      if (stat((folder + "/" + kManifestFile).c_str(), &info) == 0 || stat(folder.c_str(), &info) == 0)
        entry.when = int64_t{info.st_mtim.tv_sec} * 1'000'000'000 + info.st_mtim.tv_nsec;
    }
    found.push_back(std::move(entry));
  };
  const auto looks_like_one = [](const std::string& folder) {
    return exists(folder + "/" + kManifestFile) || exists(folder + "/" + kStateFile);
  };
  if (looks_like_one(path)) {
    add(path);
  } else {
    std::error_code failed;
    for (fs::directory_iterator entry(path, failed), end; !failed && entry != end; entry.increment(failed))
      if (entry->is_directory(failed) && looks_like_one(entry->path().string())) add(entry->path().string());
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
      } catch (const FileError& error) {
        // What a crash left under a temporary name was never announced: not worth a word.
        if (rejected && !name_of_last(listed.path).starts_with('.')) rejected->push_back(error.what());
      }
    }
    return std::nullopt;
  };
  if (auto found = newest_of(path, [](const std::string&) { return true; })) return found;
  const std::string parent = parent_of(path).empty() ? "." : parent_of(path), own = name_of_last(path);
  // A single one that is damaged; or one that was being replaced when the process ended.
  if (exists(path + "/" + kManifestFile) || exists(path + "/" + kStateFile))
    return newest_of(parent, [&](const std::string& name) { return name != own; });
  if (exists(path)) return std::nullopt;
  return newest_of(parent, [&](const std::string& name) {
    const auto temporary = parse_temporary(name);
    return temporary && temporary->target == own;
  });
}

void remove_leftovers(const std::string& folder) {
  std::vector<std::pair<std::string, TemporaryName>> left;
  std::error_code failed;
  for (fs::directory_iterator entry(folder.empty() ? "." : folder, failed), end; !failed && entry != end;
       entry.increment(failed))
    if (const auto name = parse_temporary(entry->path().filename().string()))
      if (fs::is_directory(entry->symlink_status(failed)) && name->process != getpid() && kill(name->process, 0) != 0 &&
          errno == ESRCH)
        left.emplace_back(entry->path().string(), *name);
  for (const auto& [path, name] : left) {
    const std::string target = (fs::path(folder) / name.target).string();
    if (!exists(target) && is_checkpoint(path))
      rename(path.c_str(), target.c_str());
    else
      remove_checkpoint(path);
  }
}

}  // namespace isochron
