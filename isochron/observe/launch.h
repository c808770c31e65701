// Starting a foreign command exactly as the user would have, with its output passing through our hands.
//
//   Child child = launch({"python", "train.py"}, [](int pid) { /* attach counters before it runs */ });
//
// Each of stdin, stdout and stderr that is a terminal becomes one pseudo-terminal of the same size and
// settings (colours and progress bars stay as they were); every other one stays what it was, outputs
// through a pipe. stdout and stderr that go to the same file share one pipe, so their order is kept.
// Environment, working directory and stdin of a pipe are untouched; nothing is injected.
#pragma once

#include <functional>
#include <string>
#include <vector>

namespace isochron::observe {

struct Child {
  int pid = -1;
  int terminal = -1;       // master of the pseudo-terminal; -1: none
  int out = -1;            // pipe with stdout (and stderr where both go to one file); -1: on the terminal
  int err = -1;            // pipe with stderr
  bool stdin_tty = false;  // the command reads from the pseudo-terminal
};

// Throws FileError when the command can't be run. `before_exec` runs in the parent while the child
// waits, so that whatever it attaches sees the program from its first instruction.
Child launch(const std::vector<std::string>& command, const std::function<void(int pid)>& before_exec = {});

// The status the shell would show: exit code, or 128 + signal.
int shell_status(int wait_status);

}  // namespace isochron::observe
