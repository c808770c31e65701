#include "isochron/exec/kernel_choices.h"

#include <cpuid.h>
#include <fmt/core.h>

#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <sstream>

#include "isochron/base/cache_folder.h"
#include "isochron/base/error.h"
#include "isochron/base/files.h"
#include "isochron/kernels/isa.h"

namespace isochron {
namespace {

// To be raised when the variants of a kernel become others.
constexpr std::string_view kHeader = "isochron kernel choices, version 1";
constexpr size_t kMostChoices = 2000;
constexpr int64_t kMostBytes = 1 << 20;

std::string cpu_name() {
  constexpr unsigned kFirstLeaf = 0x80000002u, kLeaves = 3;
  if (__get_cpuid_max(0x80000000u, nullptr) < kFirstLeaf + kLeaves - 1) return "unknown";
  unsigned words[4 * kLeaves] = {};
  for (unsigned leaf = 0; leaf < kLeaves; ++leaf) {
    unsigned* w = words + leaf * 4;
    __cpuid(kFirstLeaf + leaf, w[0], w[1], w[2], w[3]);
  }
  char text[sizeof words + 1] = {};
  std::memcpy(text, words, sizeof words);
  return text;
}

std::string file_of_this_machine() {
  const std::string folder = cache_folder();
  if (folder.empty()) return {};
  return fmt::format("{}/kernels/{}", folder, hashed(fmt::format("{} {}", cpu_name(), kernels::current_isa())));
}

}  // namespace

KernelChoices& KernelChoices::global() {
  // Never destroyed: plans may still run while the program ends.
  static KernelChoices* choices = [] {
    std::atexit([] { global().save(); });
    return new KernelChoices(file_of_this_machine());
  }();
  return *choices;
}

KernelChoices::KernelChoices(std::string path) : path_(std::move(path)) { read(why_missing_, entries_); }

void KernelChoices::read(std::string& why_none, std::map<std::string, Entry>& into) const {
  std::error_code ignored;
  if (path_.empty()) {
    why_none = "nothing is kept: ISOCHRON_CACHE_DIR is empty, or there is no home";
  } else if (!std::filesystem::exists(path_, ignored)) {
    why_none = "no file yet for this kind of CPU";
  } else {
    try {
      std::istringstream lines(read_file(path_, kMostBytes));
      std::string line;
      if (!std::getline(lines, line) || line != kHeader) {
        why_none = "the file is of another version";
        return;
      }
      why_none = "the file has no such kernels";
      int variant = 0;
      while (into.size() < kMostChoices && lines >> variant && lines.get() && std::getline(lines, line))
        if (variant >= 0 && !line.empty()) into.try_emplace(line, Entry{variant, false});
    } catch (const FileError& error) {
      why_none = error.what();
    }
  }
}

std::optional<int> KernelChoices::find(const std::string& key) {
  std::lock_guard lock(mutex_);
  const auto found = entries_.find(key);
  if (found == entries_.end() || found->second.variant < 0) return std::nullopt;
  known_ += !found->second.learnt;
  return found->second.variant;
}

void KernelChoices::expect(const std::string& key) {
  std::lock_guard lock(mutex_);
  if (entries_.size() < kMostChoices) entries_.try_emplace(key);
}

void KernelChoices::learn(const std::string& key, int variant) {
  std::lock_guard lock(mutex_);
  if (const auto found = entries_.find(key); found != entries_.end()) found->second = {variant, true};
}

void KernelChoices::save() {
  std::lock_guard lock(mutex_);
  const bool news =
      std::any_of(entries_.begin(), entries_.end(), [](const auto& entry) { return entry.second.learnt; });
  if (path_.empty() || !news) return;
  // Another process may have saved since.
  std::map<std::string, Entry> all;
  std::string ignored;
  read(ignored, all);
  for (const auto& [key, entry] : entries_)
    if (entry.learnt && (all.size() < kMostChoices || all.contains(key))) all[key] = entry;
  std::string text = std::string(kHeader) + "\n";
  for (const auto& [key, entry] : all) text += fmt::format("{} {}\n", entry.variant, key);
  write_kept(path_, text);
}

std::string KernelChoices::report() const {
  std::lock_guard lock(mutex_);
  int64_t learnt = 0, expected = 0;
  for (const auto& [key, entry] : entries_) learnt += entry.learnt, expected += entry.variant < 0;
  return fmt::format("{} known from earlier processes, {} learnt in this one, {} not tried yet{}", known_, learnt,
                     expected, learnt + expected ? fmt::format(" ({})", why_missing_) : "");
}

}  // namespace isochron
