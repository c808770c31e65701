#include "isochron/observe/stack_scan.h"

#include <fmt/core.h>
#include <sys/stat.h>

#include <algorithm>
#include <charconv>

#include "isochron/observe/elf_symbols.h"
#include "isochron/observe/proc_text.h"
#include "isochron/observe/process_tree.h"

namespace isochron::observe {
namespace {
constexpr size_t kStackBytes = 16384;
constexpr size_t kOuterBytes = 8192;
constexpr uint64_t kMaxStack = 64 << 20;
constexpr size_t kMaxThreads = 128;
constexpr int kLongAsleep = 50;   // looks that found a thread in the same call,
constexpr int kSleeperEvery = 5;  // after which every so manieth looks at it

// End of the mapping that holds `address`, from the text of /proc/PID/maps.
std::optional<uint64_t> mapping_end(std::string_view maps, uint64_t address) {
  while (!maps.empty()) {
    const std::string_view line = maps.substr(0, maps.find('\n'));
    maps.remove_prefix(std::min(line.size() + 1, maps.size()));
    uint64_t begin = 0, end = 0;
    const auto [dash, error] = std::from_chars(line.data(), line.data() + line.size(), begin, 16);
    if (error != std::errc() || begin > address) continue;
    if (std::from_chars(dash + 1, line.data() + line.size(), end, 16).ec == std::errc() && address < end) return end;
  }
  return std::nullopt;
}
}  // namespace

std::optional<StackScanner> StackScanner::find(int pid, std::string_view library, std::vector<std::string> names) {
  for (const MappedFile& file : mapped_files(pid)) {
    if (file.path.find(library) == std::string::npos) continue;
    StackScanner scanner(pid);
    scanner.names_ = std::move(names);
    const auto symbols = exported_symbols(file, scanner.names_, fmt::format("/proc/{}/root", pid));
    for (size_t i = 0; i < scanner.names_.size(); ++i)
      if (const auto found = symbols.find(scanner.names_[i]); found != symbols.end())
        scanner.ranges_.push_back({found->second.begin, found->second.end, i});
    if (scanner.ranges_.empty()) return std::nullopt;
    std::sort(scanner.ranges_.begin(), scanner.ranges_.end());
    return scanner;
  }
  return std::nullopt;
}

std::optional<uint64_t> sleeping_stack_pointer(std::string_view text) {
  // "NUMBER ARG0 … ARG5 SP PC", "-1 SP PC" when it sleeps outside a system call, or "running"
  while (!text.empty() && (text.back() == '\n' || text.back() == ' ')) text.remove_suffix(1);
  const size_t last = text.rfind(' ');
  if (last == std::string_view::npos) return std::nullopt;
  const size_t before = text.rfind(' ', last - 1);
  if (before == std::string_view::npos) return std::nullopt;
  const std::string_view word = text.substr(before + 1, last - before - 1);
  if (!word.starts_with("0x")) return std::nullopt;
  uint64_t value = 0;
  const auto [end, error] = std::from_chars(word.data() + 2, word.data() + word.size(), value, 16);
  if (error != std::errc() || value == 0) return std::nullopt;
  return value;
}

void StackScanner::list_threads() {
  const std::string folder = fmt::format("/proc/{}/task", pid_);
  struct stat info {};
  if (stat(folder.c_str(), &info) != 0) info.st_nlink = 0;
  if (thread_count_ != 0 && info.st_nlink == thread_count_) return;  // a folder has a link from each one in it
  thread_count_ = info.st_nlink;
  std::vector<int> tids = list_numeric_entries(folder);
  if (tids.size() > kMaxThreads) tids.resize(kMaxThreads);
  std::erase_if(threads_,
                [&](const auto& item) { return std::find(tids.begin(), tids.end(), item.first) == tids.end(); });
  for (const int tid : tids)
    if (auto [thread, added] = threads_.try_emplace(tid); added)
      thread->second.syscall = ProcFile(fmt::format("{}/{}/syscall", folder, tid));
}

std::set<std::string> StackScanner::look() {
  list_threads();
  ++looks_;
  std::set<std::string> found;
  for (auto& [tid, thread] : threads_) {
    if (thread.asleep >= kLongAsleep && (looks_ + tid) % kSleeperEvery != 0) {
      found.insert(thread.seen.begin(), thread.seen.end());
      continue;
    }
    const std::string_view call = thread.syscall.read();
    if (call.empty()) thread_count_ = 0;
    if (const auto sp = sleeping_stack_pointer(call)) {
      ++thread.asleep;
      if (call != thread.call) {
        thread.asleep = 0;
        thread.call = call;
        thread.seen.clear();
        scan(*sp, std::min<uint64_t>(kStackBytes, stack_top(tid, *sp) - *sp), thread.seen);
      }
      found.insert(thread.seen.begin(), thread.seen.end());
    } else {
      thread.asleep = 0;
      if (const auto top = stack_tops_.find(tid); top != stack_tops_.end())
        scan(top->second - kOuterBytes, kOuterBytes, found);
    }
  }
  return found;
}

uint64_t StackScanner::stack_top(int tid, uint64_t stack_pointer) {
  uint64_t& top = stack_tops_[tid];
  if (stack_pointer < top && top - stack_pointer < kMaxStack) return top;
  top = stack_pointer + kStackBytes;
  std::string_view maps = maps_text_;
  for (int attempt = 0; attempt < 2; ++attempt) {
    if (const auto end = mapping_end(maps, stack_pointer)) {
      top = *end;
      break;
    }
    maps_text_ = read_small_file(fmt::format("/proc/{}/maps", pid_), 16 << 20);
    maps = maps_text_;
  }
  return top;
}

void StackScanner::scan(uint64_t from, size_t bytes, std::set<std::string>& found) const {
  uint64_t words[kStackBytes / 8];
  const size_t count = memory_.read_some(from, words, std::min(bytes, sizeof words)) / 8;
  const uint64_t lowest = ranges_.front().begin, highest = ranges_.back().end;
  for (size_t i = 0; i < count; ++i) {
    const uint64_t address = words[i];
    if (address < lowest || address > highest) continue;
    auto after = std::upper_bound(ranges_.begin(), ranges_.end(), Range{address, 0, 0});
    // A return address lies behind the call, so never at a function's first byte.
    if (after != ranges_.begin() && (--after)->begin < address && address <= after->end)
      found.insert(names_[after->name]);
  }
}

}  // namespace isochron::observe
