// The engine's one team of threads.
//
//   ThreadTeam& team = ThreadTeam::global();
//   team.parallel(team.size(), [&](int thread, int threads) {
//     scale(rows.part(thread, threads));
//     team.barrier();                              // everyone's rows are scaled
//     add_neighbours(rows.part(thread, threads));
//   });
//
// A training step is one run(): every thread walks the whole plan (SPMD) and meets the others at
// barriers, which cost a fifth of a microsecond. It is our own pool and not OpenMP because GCC's
// OpenMP can't be seen by ThreadSanitizer, has no bound on its spinning that suits 2 shared cores (by
// default it either burns them for milliseconds or sleeps at once, 47 us to wake), and starts a second
// pool for every user thread.
//
// Contract
// - Nothing starts before start() or the first run() with more than one thread, and then only the threads needed.
// - A body takes the number of threads it is given: run() may use fewer than asked. It uses one inside
//   another run(), and while another user thread is in run().
// - Denormals are flushed in every thread of a run(); the caller's setting is restored afterwards.
// - After fork() the child starts a fresh team of the same size. A child forked inside run() must exec
//   or _exit.
#pragma once

#include <cstdint>
#include <type_traits>

namespace isochron {

class ThreadTeam {
 public:
  static ThreadTeam& global();

  // Threads a run may use, the caller included. Default: OMP_NUM_THREADS, else the CPUs this process
  // may use (affinity and cgroup quota). ValueError if OMP_NUM_THREADS is set to nonsense.
  int size() const;
  // 1 … 1024, else ValueError. Waits for a run() in another thread; StateError inside run().
  void resize(int threads);

  // Starts all threads, so that the first run() finds them; without it, it starts them itself.
  void start();

  // Runs body(context, thread, threads) on up to `threads` threads; the caller is thread 0. Returns
  // when all have finished and rethrows the first exception. Allocates nothing once threads exist.
  void run(int threads, void (*body)(void* context, int thread, int threads), void* context);

  template <class F>
  void parallel(int threads, F&& f) {
    run(
        threads,
        [](void* context, int thread, int of) { (*static_cast<std::remove_reference_t<F>*>(context))(thread, of); },
        const_cast<void*>(static_cast<const void*>(&f)));
  }

  // Inside run(): waits for all its threads that have not thrown. Writes before it are seen after it. Returns how many
  // nanoseconds that took, 0 for less than a microsecond or so.
  int64_t barrier();

 private:
  ThreadTeam() = default;
};

void set_num_threads(int threads);
int get_num_threads();

// CPUs this process may use: its affinity mask, cut down to the cgroup's CPU quota; at least 1.
int available_cpus();

}  // namespace isochron
