// Where threads of this process stand: their native stacks, taken from outside.
//
//   for (const ThreadState& thread : threads_of_process())
//     for (const std::string& frame : stack_of_thread(thread.tid)) …     // innermost first
//
// The thread is interrupted by a signal for some microseconds and writes down its return addresses; a thread asleep in
// a system call goes back to sleep. Names come from the dynamic symbols and, where a file still has it, its symbol
// table. Slow (milliseconds) and meant for reports about threads that do not go on. One caller at a time; thread-safe.
#pragma once

#include <string>
#include <vector>

namespace isochron {

struct ThreadState {
  int tid = 0;
  std::string name;
  char state = '?';     // as ps shows it: R running, S asleep, D waits for a disk
  std::string channel;  // the kernel function it sleeps in; empty: unknown
  double cpu_seconds = 0;
};

std::vector<ThreadState> threads_of_process();
ThreadState thread_state(int tid);
int this_thread_id();

// "matmul_rows(…) in libisochron.so". Empty when the thread does not answer within a tenth of a second.
std::vector<std::string> stack_of_thread(int tid, int most_frames = 24);

}  // namespace isochron
