#include "isochron/base/native_stack.h"

#include <dirent.h>
#include <dlfcn.h>
#include <elf.h>
#include <execinfo.h>
#include <link.h>
#include <signal.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cstdlib>
#include <cstring>
#include <map>
#include <memory>
#include <mutex>
#include <thread>

#include "isochron/base/clock.h"
#include "isochron/base/demangled.h"
#include "isochron/base/error.h"
#include "isochron/base/files.h"
#include "isochron/base/mapped_file.h"
#include "isochron/base/signals_blocked.h"

namespace isochron {
namespace {

constexpr int kMostFrames = 64;

// What a signal handler fills in. `wanted` names the thread that may.
struct Capture {
  std::atomic<int> wanted{0};
  std::atomic<int> count{0};
  std::atomic<bool> done{false};
  void* frames[kMostFrames];
};
Capture g_capture;

void write_down(int) {
  const int saved = errno;
  int self = static_cast<int>(syscall(SYS_gettid));
  if (g_capture.wanted.compare_exchange_strong(self, 0)) {
    g_capture.count.store(backtrace(g_capture.frames, kMostFrames), std::memory_order_relaxed);
    g_capture.done.store(true, std::memory_order_release);
  }
  errno = saved;
}

// A real-time signal that nobody handles; 0: none.
int free_signal() {
  for (int i = 1; i <= kStackSignals; ++i) {
    const int number = SIGRTMAX - i;
    struct sigaction now {};
    if (sigaction(number, nullptr, &now) == 0 && (now.sa_handler == SIG_DFL || now.sa_handler == write_down))
      return number;
  }
  return 0;
}

// Functions of a file's symbol table by address; empty for a stripped one.
class SymbolTable {
 public:
  explicit SymbolTable(const std::string& path) {
    try {
      read(path);
    } catch (const Error&) {
    }
  }
  std::string name_of(uint64_t address) const {
    auto after = functions_.upper_bound(address);
    if (after == functions_.begin()) return "";
    const auto& [begin, function] = *std::prev(after);
    return address < begin + std::max<uint64_t>(function.size, 1) ? function.name : "";
  }

 private:
  struct Function {
    uint64_t size;
    std::string name;
  };
  void read(const std::string& path) {
    const MappedFile file(path);
    const std::string_view bytes = file.bytes();
    const auto at = [&]<class T>(T& out, uint64_t offset) {
      if (offset > bytes.size() || bytes.size() - offset < sizeof(T)) return false;
      std::memcpy(&out, bytes.data() + offset, sizeof(T));
      return true;
    };
    Elf64_Ehdr header;
    if (!at(header, 0) || std::memcmp(header.e_ident, ELFMAG, SELFMAG) != 0) return;
    for (int i = 0; i < header.e_shnum; ++i) {
      Elf64_Shdr section, names;
      if (!at(section, header.e_shoff + static_cast<uint64_t>(i) * header.e_shentsize)) return;
      if (section.sh_type != SHT_SYMTAB) continue;
      if (!at(names, header.e_shoff + uint64_t{section.sh_link} * header.e_shentsize)) return;
      for (uint64_t offset = 0; offset + sizeof(Elf64_Sym) <= section.sh_size; offset += sizeof(Elf64_Sym)) {
        Elf64_Sym symbol;
        if (!at(symbol, section.sh_offset + offset)) return;
        if (ELF64_ST_TYPE(symbol.st_info) != STT_FUNC || symbol.st_value == 0) continue;
        const uint64_t name = names.sh_offset + symbol.st_name;
        if (name >= bytes.size()) continue;
        const char* text = bytes.data() + name;
        functions_[symbol.st_value] = {symbol.st_size, std::string(text, strnlen(text, bytes.size() - name))};
      }
    }
  }
  std::map<uint64_t, Function> functions_;
};

std::string readable(const std::string& symbol) {
  std::string out = demangled(symbol.c_str());
  // Template arguments and parameters of a page each tell nobody anything.
  constexpr size_t kMost = 140;
  if (out.size() > kMost) out = out.substr(0, kMost) + "…";
  return out;
}

std::string describe(void* address) {
  Dl_info info{};
  link_map* map = nullptr;
  if (!dladdr1(address, &info, reinterpret_cast<void**>(&map), RTLD_DL_LINKMAP) || !info.dli_fname)
    return fmt::format("{}", address);
  std::string path = info.dli_fname;
  std::string name = info.dli_sname ? info.dli_sname : "";
  if (name.empty()) {
    static std::map<std::string, std::unique_ptr<SymbolTable>> tables;
    // The program itself is known by the name it was called by.
    const std::string file = map && map->l_name && *map->l_name ? path : "/proc/self/exe";
    auto& table = tables[file];
    if (!table) table = std::make_unique<SymbolTable>(file);
    name = table->name_of(reinterpret_cast<uint64_t>(address) - (map ? map->l_addr : 0));
  }
  const std::string file = path.substr(path.rfind('/') + 1);
  return name.empty() ? fmt::format("{} in {}", address, file) : fmt::format("{} in {}", readable(name), file);
}

std::string short_text(const std::string& path) {
  char text[1024];
  const size_t size = read_short_file(path.c_str(), text);
  std::string out(text, size);
  while (!out.empty() && out.back() == '\n') out.pop_back();
  return out;
}

}  // namespace

int this_thread_id() { return static_cast<int>(syscall(SYS_gettid)); }

ThreadState thread_state(int tid) {
  const std::string folder = fmt::format("/proc/self/task/{}/", tid);
  ThreadState thread{.tid = tid, .name = short_text(folder + "comm")};
  const std::string stat = short_text(folder + "stat");
  const size_t after_name = stat.rfind(')');  // a name may hold anything, also a bracket
  if (after_name != std::string::npos && after_name + 2 < stat.size()) {
    thread.state = stat[after_name + 2];
    long long user = 0, system = 0;
    if (std::sscanf(stat.c_str() + after_name + 2, "%*c %*d %*d %*d %*d %*d %*u %*u %*u %*u %*u %lld %lld", &user,
                    &system) == 2)
      thread.cpu_seconds = static_cast<double>(user + system) / static_cast<double>(sysconf(_SC_CLK_TCK));
  }
  thread.channel = short_text(folder + "wchan");
  if (thread.channel == "0") thread.channel.clear();
  return thread;
}

std::vector<ThreadState> threads_of_process() {
  std::vector<ThreadState> threads;
  DIR* folder = opendir("/proc/self/task");
  if (!folder) return threads;
  while (const dirent* entry = readdir(folder))
    if (const int tid = std::atoi(entry->d_name); tid > 0) threads.push_back(thread_state(tid));
  closedir(folder);
  std::sort(threads.begin(), threads.end(), [](const auto& a, const auto& b) { return a.tid < b.tid; });
  return threads;
}

std::vector<std::string> stack_of_thread(int tid, int most_frames) {
  static std::mutex mutex;
  std::lock_guard lock(mutex);
  void* frames[kMostFrames];
  int count = 0, skipped = 2;  // the handler, and what the kernel returns to
  if (tid == this_thread_id()) {
    count = backtrace(frames, kMostFrames);
    skipped = 1;
  } else {
    // The first backtrace() of a process loads a library, which a signal handler must not do.
    backtrace(frames, 1);
    const int number = free_signal();
    if (!number) return {};
    struct sigaction action {
    }, before{};
    action.sa_handler = write_down;
    action.sa_flags = SA_RESTART;
    sigemptyset(&action.sa_mask);
    if (sigaction(number, &action, &before) != 0) return {};
    g_capture.done.store(false);
    g_capture.wanted.store(tid);
    if (syscall(SYS_tgkill, getpid(), tid, number) == 0) {
      const int64_t until = monotonic_ns() + 100'000'000;
      while (!g_capture.done.load(std::memory_order_acquire) && monotonic_ns() < until)
        std::this_thread::sleep_for(std::chrono::microseconds(200));
    }
    // Too late now; a handler that has begun is waited for. The handler stays, should the signal come later.
    if (int expected = tid; !g_capture.wanted.compare_exchange_strong(expected, 0))
      while (!g_capture.done.load(std::memory_order_acquire)) std::this_thread::yield();
    if (!g_capture.done.load()) return {};
    count = g_capture.count.load();
    std::copy_n(g_capture.frames, count, frames);
  }
  std::vector<std::string> stack;
  for (int i = skipped; i < count && static_cast<int>(stack.size()) < most_frames; ++i)
    // A return address points behind the call; of a leaf this may name the next line, never another function.
    stack.push_back(describe(static_cast<char*>(frames[i]) - (i > skipped ? 1 : 0)));
  return stack;
}

}  // namespace isochron
