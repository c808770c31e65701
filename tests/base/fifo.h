// A named pipe, and a thread that writes a text into it as soon as somebody reads.
//
//   const Fifo fifo(folder.file("rows.csv"), "a,b\n1,2\n");
#pragma once

#include <gtest/gtest.h>
#include <signal.h>
#include <sys/stat.h>

#include <fstream>
#include <string>
#include <thread>

namespace isochron {

class Fifo {
 public:
  Fifo(const std::string& path, const std::string& text) {
    EXPECT_EQ(mkfifo(path.c_str(), 0600), 0);
    writer_ = std::thread([path, text] {
      // A reader that leaves at once is no reason to die.
      sigset_t broken;
      sigemptyset(&broken);
      sigaddset(&broken, SIGPIPE);
      pthread_sigmask(SIG_BLOCK, &broken, nullptr);
      std::ofstream(path, std::ios::binary) << text;
    });
  }
  ~Fifo() { writer_.join(); }
  Fifo(const Fifo&) = delete;
  Fifo& operator=(const Fifo&) = delete;

 private:
  std::thread writer_;
};

}  // namespace isochron
