// What a thread that does not run waits for: its system call, and what that call's descriptor leads to.
//
//   Waiting main = waiting_of(pid, pid);
//   main.kind == WaitKind::socket;  main.on;   // "tcp 127.0.0.1:5000 -> 127.0.0.1:41822, established"
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "isochron/observe/open_files.h"

namespace isochron::observe {

enum class WaitKind { running, lock, pipe, socket, file, file_lock, child, sleep, disk, stopped, unknown };
std::string_view name_of(WaitKind kind);  // "a lock", "a pipe", …

struct Waiting {
  WaitKind kind = WaitKind::unknown;
  char state = '?';
  std::string on;       // path, pipe or socket; empty: none
  std::string target;   // the descriptor's link as /proc shows it
  std::string channel;  // the kernel function it sleeps in
};

Waiting waiting_of(int pid, int tid);

// The regular file a thread is writing or waits to have on the disk; empty: it does neither.
std::optional<OpenFile> written_now(int pid, int tid);

// A line of /proc/PID/task/TID/syscall: number and arguments; empty when it runs or sleeps outside a call.
struct SystemCall {
  long number = -1;
  unsigned long long arguments[6] = {};
};
std::optional<SystemCall> parse_system_call(std::string_view text);

}  // namespace isochron::observe
