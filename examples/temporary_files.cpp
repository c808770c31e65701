// Temporary files: where they lie, that they go with their process, and what becomes of those of a process that was
// killed. `isochron clean` does from the command line what the last lines do.
#include <isochron/isochron.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include "isochron/base/files.h"
#include "isochron/base/run_folder.h"

namespace iso = isochron;

namespace {

void show(const char* title) {
  fmt::print("{}\n", title);
  for (const iso::RunFolderInfo& folder : iso::list_run_folders())
    fmt::print("  {}: {} files, process {} {}\n", folder.path, folder.files, folder.pid,
               folder.alive ? "lives" : "is dead");
}

}  // namespace

int main() {
  // A process that keeps a file and is killed.
  if (const pid_t child = fork(); child == 0) {
    iso::write_file(iso::RunFolder::global().file("shuffled.bin"), std::string(100'000, 'x'));
    raise(SIGKILL);
  } else {
    waitpid(child, nullptr, 0);
  }
  show("after another run was killed:");

  // This process makes its own folder when it first needs one, and clears away what dead ones left.
  const iso::TempFolder folder;
  iso::write_file(folder.file("vocabulary.txt"), "isochron\n");
  show("while this run has a file:");

  const size_t removed = iso::remove_dead_run_folders().size();
  fmt::print("left to remove: {}\n", removed);
}
