#include "isochron/observe/launch.h"

#include <fcntl.h>
#include <signal.h>
#include <sys/ioctl.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <termios.h>
#include <unistd.h>

#include <cerrno>
#include <cstdlib>
#include <cstring>

#include "isochron/base/error.h"

namespace isochron::observe {
namespace {

bool same_file(int a, int b) {
  struct stat x {
  }, y{};
  return fstat(a, &x) == 0 && fstat(b, &y) == 0 && x.st_dev == y.st_dev && x.st_ino == y.st_ino;
}

struct Pipe {
  int read = -1, write = -1;
};

Pipe make_pipe() {
  int ends[2];
  if (pipe2(ends, O_CLOEXEC) != 0) fail<FileError>("watch", "can't make a pipe: {}", std::strerror(errno));
  return {ends[0], ends[1]};
}

struct PseudoTerminal {
  int master = -1, slave = -1;
};

// A new pseudo-terminal with the settings and size of the terminal `like`.
PseudoTerminal make_terminal(int like) {
  PseudoTerminal pty;
  char name[128];
  pty.master = posix_openpt(O_RDWR | O_NOCTTY | O_CLOEXEC);
  if (pty.master < 0 || grantpt(pty.master) != 0 || unlockpt(pty.master) != 0 ||
      ptsname_r(pty.master, name, sizeof name) != 0)
    fail<FileError>("watch", "can't open a pseudo-terminal: {}", std::strerror(errno));
  pty.slave = open(name, O_RDWR | O_NOCTTY | O_CLOEXEC);
  if (pty.slave < 0) fail<FileError>("watch", "can't open {}: {}", name, std::strerror(errno));
  termios settings{};
  if (tcgetattr(like, &settings) == 0) tcsetattr(pty.slave, TCSANOW, &settings);
  winsize size{};
  if (ioctl(like, TIOCGWINSZ, &size) == 0) ioctl(pty.slave, TIOCSWINSZ, &size);
  return pty;
}

void close_if(int fd) {
  if (fd >= 0) close(fd);
}

// In the child: signal state as a shell would leave it.
void reset_signals() {
  sigset_t none;
  sigemptyset(&none);
  sigprocmask(SIG_SETMASK, &none, nullptr);
  signal(SIGPIPE, SIG_DFL);
}

}  // namespace

Child launch(const std::vector<std::string>& command, const std::function<void(int pid)>& before_exec) {
  if (command.empty())
    fail<ValueError>("watch", "no command given; write it after --, as in: watch -- python train.py");
  const bool in_tty = isatty(STDIN_FILENO), out_tty = isatty(STDOUT_FILENO), err_tty = isatty(STDERR_FILENO);
  PseudoTerminal pty;
  Pipe out, err;
  if (out_tty || err_tty) pty = make_terminal(out_tty ? STDOUT_FILENO : STDERR_FILENO);
  if (!out_tty) out = make_pipe();
  const bool merged = !out_tty && !err_tty && same_file(STDOUT_FILENO, STDERR_FILENO);
  if (!err_tty && !merged) err = make_pipe();
  const Pipe go = make_pipe(), failure = make_pipe();

  std::vector<char*> words;
  for (const std::string& word : command) words.push_back(const_cast<char*>(word.c_str()));
  words.push_back(nullptr);

  const int pid = fork();
  if (pid < 0) fail<FileError>("watch", "can't start a process: {}", std::strerror(errno));
  if (pid == 0) {  // only async-signal-safe calls from here to exec
    reset_signals();
    char byte;
    close(go.write);
    while (read(go.read, &byte, 1) < 0 && errno == EINTR) {
    }
    if (pty.slave >= 0) {
      setsid();
      ioctl(pty.slave, TIOCSCTTY, 0);
      if (in_tty) dup2(pty.slave, STDIN_FILENO);
      if (out_tty) dup2(pty.slave, STDOUT_FILENO);
      if (err_tty) dup2(pty.slave, STDERR_FILENO);
    }
    if (out.write >= 0) dup2(out.write, STDOUT_FILENO);
    if (err.write >= 0)
      dup2(err.write, STDERR_FILENO);
    else if (merged)
      dup2(out.write, STDERR_FILENO);
    execvp(words[0], words.data());
    const int error = errno;
    [[maybe_unused]] const ssize_t told = write(failure.write, &error, sizeof error);
    _exit(error == ENOENT ? 127 : 126);
  }
  close(go.read);
  close_if(pty.slave);
  close_if(out.write);
  close_if(err.write);
  close(failure.write);
  if (before_exec) before_exec(pid);
  close(go.write);  // the child reads end of file and goes on
  int error = 0;
  ssize_t got;
  while ((got = read(failure.read, &error, sizeof error)) < 0 && errno == EINTR) {
  }
  close(failure.read);
  if (got == sizeof error) {
    waitpid(pid, nullptr, 0);
    for (const int fd : {pty.master, out.read, err.read}) close_if(fd);
    fail<FileError>("watch", "can't run \"{}\": {}", command[0], std::strerror(error));
  }
  return {.pid = pid, .terminal = pty.master, .out = out.read, .err = err.read, .stdin_tty = in_tty && pty.slave >= 0};
}

int shell_status(int wait_status) {
  if (WIFSIGNALED(wait_status)) return 128 + WTERMSIG(wait_status);
  return WEXITSTATUS(wait_status);
}

}  // namespace isochron::observe
