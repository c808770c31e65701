// Which of some native functions are on a thread's stack, without stopping the thread: a sleeping
// thread's stack stands still, and return addresses in it that lie inside a function say that it was
// called. TensorFlow exports the names of its input stages, so its waits for input can be told apart
// from its work.
//
//   auto scanner = StackScanner::find(pid, "libtensorflow_cc.so", {kGetNext});
//   if (scanner && scanner->look().contains(kGetNext)) … // it waits for a batch
//
// Needs the permission to trace the process (a child's is always given). Where a running thread's stack
// ends is not known, so only its outermost frames are looked at, once it was seen asleep. A thread that sleeps in the
// very call it slept in before is taken to have slept on; one that has for a long time, as most of a pool do, is looked
// at only now and then.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "isochron/observe/proc_text.h"
#include "isochron/observe/process_memory.h"

namespace isochron::observe {

class StackScanner {
 public:
  // `names` are mangled and whole. Empty when no such library or none of the functions is there.
  static std::optional<StackScanner> find(int pid, std::string_view library, std::vector<std::string> names);

  // Names found on the stack of any thread.
  std::set<std::string> look();

 private:
  struct Range {
    uint64_t begin, end;
    size_t name;
    bool operator<(const Range& other) const { return begin < other.begin; }
  };

  explicit StackScanner(int pid) : pid_(pid), memory_(pid) {}
  void scan(uint64_t from, size_t bytes, std::set<std::string>& found) const;
  uint64_t stack_top(int tid, uint64_t stack_pointer);

  int pid_;
  ProcessMemory memory_;
  std::vector<std::string> names_;
  std::vector<Range> ranges_;
  std::map<int, uint64_t> stack_tops_;  // by thread
  std::string maps_text_;
  struct Thread {
    ProcFile syscall;
    std::string call;            // what that file said when its stack was scanned last,
    std::set<std::string> seen;  // and which names were on it
    int asleep = 0;              // looks that found it in that call since
  };
  void list_threads();
  std::map<int, Thread> threads_;
  uint64_t thread_count_ = 0;  // when they were listed last; 0: list them anew
  int looks_ = 0;
};

// The stack pointer of a sleeping thread, from /proc/PID/task/TID/syscall.
std::optional<uint64_t> sleeping_stack_pointer(std::string_view syscall_text);

}  // namespace isochron::observe
