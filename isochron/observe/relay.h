// Carries a launched command's input, output, signals and window size between it and the user, and
// shows every piece of output to a tap with the time it came.
//
//   Relay relay(child, [&](std::string_view bytes) { console.feed(bytes, clock.seconds()); });
//   int status = relay.run();        // until the command has ended; wait status as of waitpid
//
// Signals must be blocked with Relay::block_signals() before any thread is started. note() may be
// called from any thread; everything else belongs to the thread that calls run().
#pragma once

#include <functional>
#include <mutex>
#include <string>
#include <string_view>
#include <vector>

#include "isochron/observe/launch.h"
#include "isochron/observe/terminal.h"

namespace isochron::observe {

class Relay {
 public:
  enum class Stream { out, err };
  using Tap = std::function<void(Stream stream, std::string_view bytes)>;

  // Blocks what run() wants to receive in this thread and those it starts later.
  static void block_signals();

  Relay(const Child& child, Tap tap);
  ~Relay();
  Relay(const Relay&) = delete;
  Relay& operator=(const Relay&) = delete;

  // Called when someone asks us by a signal to end (TERM, INT, HUP, QUIT), before it is passed on.
  std::function<void(int signal)> on_end_requested;

  int run();

  // Shows text beside the command's output: on stderr, on lines of its own.
  void note(std::string text);
  // Sends a signal to the command as the terminal would.
  void signal_command(int signal);

 private:
  struct Source {
    int fd;
    Stream stream;
    int target;
    bool shown;  // on a terminal, or beside our notes
  };

  bool pump(Source& source);
  void pump_stdin();
  void on_signal();
  void on_child_change();
  void stop_both();
  void suspend();
  void copy_window_size();
  void flush_notes();
  void drain();

  Child child_;
  Tap tap_;
  std::vector<Source> sources_;
  RawTerminal raw_;
  LineKeeper shown_;  // what stderr's terminal shows, or what went into stderr's file
  int signals_ = -1;
  int wake_ = -1;
  bool ended_ = false;
  bool stopped_by_us_ = false;
  bool told_no_room_ = false;
  int status_ = 0;
  int pending_signal_ = 0;  // to be passed on if the command does not end by itself
  double pending_since_ = 0;
  std::mutex mutex_;
  std::vector<std::string> notes_;
};

}  // namespace isochron::observe
