#include "isochron/observe/launch.h"

#include <fcntl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <poll.h>
#include <signal.h>
#include <sys/ioctl.h>
#include <sys/wait.h>
#include <termios.h>
#include <unistd.h>

#include <utility>

#include "isochron/base/error.h"
#include "isochron/observe/relay.h"

namespace isochron::observe {
namespace {

// Runs a command through launch and Relay in a process of its own, whose standard streams are either
// the ends of pipes or one pseudo-terminal.
class Session {
 public:
  explicit Session(std::vector<std::string> command, bool terminal) {
    int slave = -1;
    if (terminal) {
      out_ = posix_openpt(O_RDWR | O_NOCTTY);
      EXPECT_EQ(grantpt(out_), 0);
      EXPECT_EQ(unlockpt(out_), 0);
      slave = open(ptsname(out_), O_RDWR | O_NOCTTY);
      const winsize size{.ws_row = 33, .ws_col = 77, .ws_xpixel = 0, .ws_ypixel = 0};
      ioctl(slave, TIOCSWINSZ, &size);
      tcgetattr(slave, &before_);
      slave_ = slave;
    }
    int out[2] = {-1, -1}, err[2] = {-1, -1};
    if (!terminal) {
      EXPECT_EQ(pipe2(out, O_CLOEXEC) + pipe2(err, O_CLOEXEC), 0);
    }
    pid_ = fork();
    if (pid_ == 0) {
      if (terminal) {
        setsid();
        ioctl(slave, TIOCSCTTY, 0);
      }
      for (const int fd : {0, 1, 2})
        if (terminal) dup2(slave, fd);
      if (!terminal) dup2(open("/dev/null", O_RDONLY), 0), dup2(out[1], 1), dup2(err[1], 2);
      Relay::block_signals();
      int status = 99;
      try {
        Relay relay(launch(command), [](Relay::Stream, std::string_view) {});
        status = shell_status(relay.run());
      } catch (const Error& e) {
        status = 127;
      }
      _exit(status);
    }
    if (!terminal) close(out[1]), close(err[1]), out_ = out[0], err_ = err[0];
  }

  std::string read_until(const std::string& wanted, int fd = -1) {
    std::string& text = text_;
    fd = fd < 0 ? out_ : fd;
    pollfd ready{fd, POLLIN, 0};
    while (text.find(wanted) == std::string::npos && poll(&ready, 1, 10000) > 0) {
      char buffer[4096];
      const ssize_t got = read(fd, buffer, sizeof buffer);
      if (got <= 0) break;
      text.append(buffer, static_cast<size_t>(got));
    }
    return std::exchange(text, {});
  }
  std::string all_of(int fd) { return read_until(std::string("\0never", 6), fd); }
  void type(const std::string& keys) {
    EXPECT_EQ(write(out_, keys.data(), keys.size()), static_cast<ssize_t>(keys.size()));
  }
  int wait() {
    int status = 0;
    waitpid(pid_, &status, 0);
    return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
  }
  bool terminal_restored() const {
    termios now{};
    tcgetattr(slave_, &now);
    return now.c_lflag == before_.c_lflag && now.c_oflag == before_.c_oflag && now.c_iflag == before_.c_iflag;
  }
  bool raw() const {
    termios now{};
    tcgetattr(slave_, &now);
    return !(now.c_lflag & ICANON);
  }
  int pid() const { return pid_; }
  int out() const { return out_; }
  int err() const { return err_; }
  int slave() const { return slave_; }

 private:
  int pid_ = -1, out_ = -1, err_ = -1, slave_ = -1;
  termios before_{};
  std::string text_;
};

std::vector<std::string> shell(const std::string& script) { return {"sh", "-c", script}; }

TEST(Launch, PipesKeepStreamsApartAndPassTheExitCode) {
  Session session(shell("echo to out; echo to err >&2; test -t 1 && echo terminal; exit 37"), false);
  EXPECT_EQ(session.all_of(session.out()), "to out\n");
  EXPECT_EQ(session.all_of(session.err()), "to err\n");
  EXPECT_EQ(session.wait(), 37);
}

TEST(Launch, DeathBySignalIsToldAsTheShellDoes) {
  Session session(shell("kill -9 $$"), false);
  EXPECT_EQ(session.wait(), 128 + 9);
}

TEST(Launch, SignalsArePassedOn) {
  Session session(shell("trap 'echo got it; exit 5' TERM; echo ready; while :; do sleep 0.05; done"), false);
  EXPECT_EQ(session.read_until("ready\n"), "ready\n");
  kill(session.pid(), SIGTERM);
  EXPECT_EQ(session.read_until("got it\n"), "got it\n");
  EXPECT_EQ(session.wait(), 5);
}

TEST(Launch, AMissingCommandIsAnError) {
  EXPECT_THROW(launch({"/no/such/command"}), FileError);
  EXPECT_THROW(launch({}), ValueError);
}

TEST(Launch, OnATerminalTheCommandHasATerminalOfTheSameSize) {
  Session session(shell("test -t 0 && test -t 1 && test -t 2 && stty size"), true);
  EXPECT_EQ(session.read_until("33 77\r\n"), "33 77\r\n");
  EXPECT_EQ(session.wait(), 0);
  EXPECT_TRUE(session.terminal_restored());
}

TEST(Launch, WindowSizeFollows) {
  Session session(shell("trap 'stty size; exit' WINCH; echo ready; while :; do sleep 0.05; done"), true);
  session.read_until("ready\r\n");
  const winsize size{.ws_row = 50, .ws_col = 132, .ws_xpixel = 0, .ws_ypixel = 0};
  ioctl(session.slave(), TIOCSWINSZ, &size);
  EXPECT_EQ(session.read_until("50 132\r\n"), "50 132\r\n");
  session.wait();
}

TEST(Launch, KeysReachTheCommandAndItsTerminalTurnsControlCIntoASignal) {
  Session session(
      shell("trap 'echo interrupted; exit 3' INT; read line; echo \"read $line\"; while :; do sleep 0.05; done"), true);
  for (int i = 0; i < 1000 && !session.raw(); ++i) usleep(2000);
  session.type("hello\r");
  EXPECT_THAT(session.read_until("read hello\r\n"), testing::HasSubstr("read hello\r\n"));
  session.type("\x03");
  EXPECT_THAT(session.read_until("interrupted\r\n"), testing::HasSubstr("interrupted\r\n"));
  EXPECT_EQ(session.wait(), 3);
  EXPECT_TRUE(session.terminal_restored());
}

TEST(Launch, ControlZStopsBothAndRestoresTheTerminalUntilContinued) {
  Session session(shell("echo ready; read line; echo \"read $line\""), true);
  session.read_until("ready\r\n");
  for (int i = 0; i < 1000 && !session.raw(); ++i) usleep(2000);
  session.type("\x1a");
  int status = 0;
  ASSERT_EQ(waitpid(session.pid(), &status, WUNTRACED), session.pid());
  EXPECT_TRUE(WIFSTOPPED(status));
  EXPECT_TRUE(session.terminal_restored());
  kill(session.pid(), SIGCONT);
  for (int i = 0; i < 1000 && !session.raw(); ++i) usleep(2000);
  session.type("again\r");
  EXPECT_THAT(session.read_until("read again\r\n"), testing::HasSubstr("read again\r\n"));
  EXPECT_EQ(session.wait(), 0);
}

}  // namespace
}  // namespace isochron::observe
