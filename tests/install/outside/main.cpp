// A user's program, built against the installed library only.
#include <isochron/base/error.h>
#include <isochron/base/threads.h>
#include <isochron/timeline/run_record.h>

#include <atomic>
#include <cstdio>

namespace iso = isochron;

int main() {
  iso::set_num_threads(2);
  std::atomic<int> threads{0};
  iso::ThreadTeam::global().parallel(2, [&](int, int) { ++threads; });
  iso::RunRecord run;
  run.epochs.push_back({.index = 1, .seconds = 0.5});
  const iso::RunRecord copy = iso::RunRecord::from_json(run.to_json());
  try {
    iso::RunRecord::from_json("{}");
  } catch (const iso::FileError&) {  // thrown by the library, caught by its type here
    std::printf("%d threads, epoch 1 took %.1f s\n", threads.load(), copy.epochs.at(0).seconds);
    return 0;
  }
  return 1;
}
