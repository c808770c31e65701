// Prints the default number of threads, or the error that OMP_NUM_THREADS causes.
#include <cstdio>

#include "isochron/base/error.h"
#include "isochron/base/threads.h"

int main() {
  try {
    std::printf("%d", isochron::get_num_threads());
  } catch (const isochron::ValueError& e) {
    std::printf("%s", e.what());
  }
}
