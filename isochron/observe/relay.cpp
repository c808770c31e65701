#include "isochron/observe/relay.h"

#include <poll.h>
#include <signal.h>
#include <sys/eventfd.h>
#include <sys/ioctl.h>
#include <sys/signalfd.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <utility>

#include "isochron/base/clock.h"
#include "isochron/base/error.h"

namespace isochron::observe {
namespace {

constexpr int kSignals[] = {SIGINT, SIGTERM, SIGHUP, SIGQUIT, SIGUSR1, SIGUSR2, SIGWINCH, SIGCHLD, SIGCONT, SIGTSTP};
// A signal sent to the whole process group reaches a command on pipes by itself; only what it has not
// answered after this time is passed on, so that it never gets one twice.
constexpr double kGroupSignalGrace = 0.1;
constexpr double kDrainSilence = 0.3;  // orphans may hold the output open for ever
constexpr int kPollMilliseconds = 50;

double seconds_now() { return static_cast<double>(monotonic_ns()) * 1e-9; }

sigset_t watched_signals() {
  sigset_t set;
  sigemptyset(&set);
  for (const int signal : kSignals) sigaddset(&set, signal);
  return set;
}

// 0, or why not all of it could be written.
int write_all(int fd, std::string_view bytes) {
  while (!bytes.empty()) {
    const ssize_t wrote = write(fd, bytes.data(), bytes.size());
    if (wrote > 0) {
      bytes.remove_prefix(static_cast<size_t>(wrote));
    } else if (errno == EAGAIN) {
      pollfd ready{fd, POLLOUT, 0};
      poll(&ready, 1, 1000);
    } else if (errno != EINTR) {
      return errno;
    }
  }
  return 0;
}

bool no_room(int why) { return why == ENOSPC || why == EDQUOT || why == EFBIG; }

}  // namespace

void Relay::block_signals() {
  const sigset_t set = watched_signals();
  pthread_sigmask(SIG_BLOCK, &set, nullptr);
  signal(SIGPIPE, SIG_IGN);
}

Relay::Relay(const Child& child, Tap tap)
    : child_(child), tap_(std::move(tap)), raw_(child.stdin_tty ? STDIN_FILENO : -1) {
  if (child.terminal >= 0)
    sources_.push_back({child.terminal, Stream::out, isatty(STDOUT_FILENO) ? STDOUT_FILENO : STDERR_FILENO, true});
  if (child.out >= 0) sources_.push_back({child.out, Stream::out, STDOUT_FILENO, isatty(STDOUT_FILENO) != 0});
  if (child.err >= 0) sources_.push_back({child.err, Stream::err, STDERR_FILENO, true});
  const sigset_t set = watched_signals();
  signals_ = signalfd(-1, &set, SFD_CLOEXEC | SFD_NONBLOCK);
  wake_ = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
  if (signals_ < 0 || wake_ < 0) fail<FileError>("watch", "no descriptors left for signals");
}

Relay::~Relay() {
  for (const Source& source : sources_)
    if (source.fd >= 0) close(source.fd);
  close(signals_);
  close(wake_);
}

int Relay::run() {
  while (!ended_) {
    std::vector<pollfd> polled{{signals_, POLLIN, 0}, {wake_, POLLIN, 0}};
    const size_t first_source = polled.size();
    for (const Source& source : sources_) polled.push_back({source.fd, POLLIN, 0});
    if (raw_.active()) polled.push_back({STDIN_FILENO, POLLIN, 0});
    if (poll(polled.data(), polled.size(), kPollMilliseconds * (pending_signal_ ? 1 : 20)) < 0 && errno != EINTR) break;
    for (size_t i = 0; i < sources_.size(); ++i)
      if (polled[first_source + i].revents && !pump(sources_[i])) {
        close(sources_[i].fd);
        sources_[i].fd = -1;  // poll ignores negative descriptors
      }
    if (raw_.active() && polled.back().fd == STDIN_FILENO && polled.back().revents) pump_stdin();
    if (polled[0].revents) on_signal();
    if (polled[1].revents) flush_notes();
    if (pending_signal_ && !ended_ && seconds_now() - pending_since_ > kGroupSignalGrace)
      kill(child_.pid, std::exchange(pending_signal_, 0));
  }
  drain();
  flush_notes();
  raw_.leave();
  return status_;
}

bool Relay::pump(Source& source) {
  char buffer[65536];
  const ssize_t got = read(source.fd, buffer, sizeof buffer);
  if (got < 0) return errno == EAGAIN || errno == EINTR;  // EIO: the terminal's last user has gone
  if (got == 0) return false;
  const std::string_view bytes(buffer, static_cast<size_t>(got));
  // With no reader left the command shall meet the closed pipe itself, as it would without us.
  const int why = write_all(source.target, bytes);
  if (why != 0 && !no_room(why)) return false;
  // A pipe can't pass on that a disk is full, which may have room again; closed, it would end the command.
  if (why != 0 && !std::exchange(told_no_room_, true))
    note(fmt::format("isochron: output of the command is lost: {}\n", std::strerror(why)));
  if (source.shown) shown_.feed(bytes);
  tap_(source.stream, bytes);
  return true;
}

void Relay::pump_stdin() {
  char buffer[4096];
  const ssize_t got = read(STDIN_FILENO, buffer, sizeof buffer);
  if (got <= 0) return;
  termios inner{};
  const bool keys = tcgetattr(child_.terminal, &inner) == 0 && (inner.c_lflag & ISIG);
  std::string_view typed(buffer, static_cast<size_t>(got));
  if (keys && on_end_requested && typed.find(static_cast<char>(inner.c_cc[VINTR])) != std::string_view::npos)
    on_end_requested(SIGINT);
  // The kernel never stops a command whose session has no shell, so Ctrl-Z is ours to carry out.
  const size_t stop = keys ? typed.find(static_cast<char>(inner.c_cc[VSUSP])) : std::string_view::npos;
  write_all(child_.terminal, typed.substr(0, stop));
  if (stop != std::string_view::npos) stop_both();
}

void Relay::signal_command(int signal) {
  if (child_.terminal >= 0) {
    const pid_t group = tcgetpgrp(child_.terminal);
    if (kill(-(group > 0 ? group : child_.pid), signal) == 0) return;
  }
  kill(child_.pid, signal);
}

void Relay::on_signal() {
  signalfd_siginfo info{};
  while (read(signals_, &info, sizeof info) == sizeof info) {
    const int signal = static_cast<int>(info.ssi_signo);
    const bool by_terminal = info.ssi_code == SI_KERNEL;
    switch (signal) {
      case SIGCHLD:
        on_child_change();
        break;
      case SIGWINCH:
        copy_window_size();
        break;
      case SIGCONT:
        raw_.enter();
        copy_window_size();
        if (child_.terminal >= 0) signal_command(SIGCONT);
        break;
      case SIGTSTP:
        stop_both();
        break;
      default:
        if (on_end_requested && signal != SIGUSR1 && signal != SIGUSR2) on_end_requested(signal);
        if (child_.terminal >= 0) {
          signal_command(signal);
        } else if (!by_terminal) {  // the terminal has told the whole group already
          pending_signal_ = signal;
          pending_since_ = seconds_now();
        }
    }
  }
}

void Relay::on_child_change() {
  int status = 0;
  while (waitpid(child_.pid, &status, WNOHANG | WUNTRACED) > 0) {
    if (WIFSTOPPED(status)) {
      // Our own doing is told to us as well, and perhaps only after both were continued.
      const bool ours = std::exchange(stopped_by_us_, false);
      if (!ours && child_.terminal >= 0 && raw_.active()) suspend();
    } else {
      ended_ = true;
      status_ = status;
    }
  }
}

void Relay::stop_both() {
  if (child_.terminal >= 0) {  // without a terminal of its own it got the signal like us
    stopped_by_us_ = true;
    signal_command(SIGSTOP);
  }
  suspend();
}

void Relay::suspend() {
  raw_.leave();
  raise(SIGSTOP);  // until the user's shell continues us; SIGCONT is then read in on_signal
  raw_.enter();
}

void Relay::copy_window_size() {
  winsize size{};
  const int from = isatty(STDOUT_FILENO) ? STDOUT_FILENO : STDERR_FILENO;
  if (child_.terminal >= 0 && ioctl(from, TIOCGWINSZ, &size) == 0) ioctl(child_.terminal, TIOCSWINSZ, &size);
}

void Relay::note(std::string text) {
  {
    const std::lock_guard lock(mutex_);
    notes_.push_back(std::move(text));
  }
  const uint64_t one = 1;
  [[maybe_unused]] const ssize_t woken = write(wake_, &one, sizeof one);
}

void Relay::flush_notes() {
  uint64_t count;
  [[maybe_unused]] const ssize_t got = read(wake_, &count, sizeof count);
  std::vector<std::string> notes;
  {
    const std::lock_guard lock(mutex_);
    notes.swap(notes_);
  }
  for (const std::string& note : notes) write_all(STDERR_FILENO, shown_.with_note(note, isatty(STDERR_FILENO)));
}

void Relay::drain() {
  double last = seconds_now();
  while (seconds_now() - last < kDrainSilence) {
    std::vector<pollfd> polled;
    bool open = false;
    for (const Source& source : sources_) {
      polled.push_back({source.fd, POLLIN, 0});
      open = open || source.fd >= 0;
    }
    if (!open) break;
    if (poll(polled.data(), polled.size(), kPollMilliseconds) <= 0) continue;
    for (size_t i = 0; i < sources_.size(); ++i) {
      if (!polled[i].revents) continue;
      last = seconds_now();
      if (!pump(sources_[i])) {
        close(sources_[i].fd);
        sources_[i].fd = -1;
      }
    }
  }
}

}  // namespace isochron::observe
