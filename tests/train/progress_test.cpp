#include "isochron/train/progress.h"

#include <gmock/gmock.h>
#include <pty.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include <algorithm>
#include <regex>

namespace isochron {
namespace {

TEST(ProgressLine, LinesThatComeTooFastAreWrittenTogetherAndNoneIsLost) {
  testing::internal::CaptureStdout();
  constexpr int kEpochs = 500;
  {
    ProgressLine line(2);
    for (int i = 1; i <= kEpochs; ++i) {
      line.begin(fmt::format("Epoch {}/{}", i, kEpochs), 10);
      line.end(10, {{"loss", i}});
    }
  }
  const std::string text = testing::internal::GetCapturedStdout();
  EXPECT_EQ(std::count(text.begin(), text.end(), '\n'), 2 * kEpochs);
  size_t at = 0;
  for (int i = 1; i <= kEpochs; ++i) {
    for (const std::string& part : {fmt::format("Epoch {}/", i), fmt::format("loss: {}.0000", i)}) {
      at = text.find(part, at);
      ASSERT_NE(at, std::string::npos) << part;
    }
  }
}

TEST(ProgressLine, SmallNumbersKeepTheirDigits) {
  testing::internal::CaptureStdout();
  {
    ProgressLine line(2);
    line.begin("", 10);
    line.end(10, {{"loss", 0.00012345}, {"rate", 1e-5}, {"none", 0}, {"accuracy", 0.5}});
  }
  EXPECT_THAT(testing::internal::GetCapturedStdout(),
              testing::HasSubstr("loss: 1.2345e-04 - rate: 1.0000e-05 - none: 0.0000 - accuracy: 0.5000"));
}

// Rows of a terminal, as a reader counts them.
size_t columns_of(std::string text) {
  text = std::regex_replace(text, std::regex("\x1b\\[[0-9]*[mK]"), "");
  return static_cast<size_t>(std::count_if(text.begin(), text.end(), [](char c) { return (c & 0xC0) != 0x80; }));
}

// What a line of progress writes to a terminal of 50 columns. `act` gets the line and waits until its text has a part.
template <class F>
std::string shown_on_terminal(const char* kind, F&& act) {
  setenv("TERM", kind, 1);
  const winsize size{.ws_row = 20, .ws_col = 50, .ws_xpixel = 0, .ws_ypixel = 0};
  int terminal = -1, shown = -1;
  EXPECT_EQ(openpty(&shown, &terminal, nullptr, nullptr, &size), 0);
  std::fflush(stdout);
  const int before = dup(STDOUT_FILENO);
  dup2(terminal, STDOUT_FILENO);
  std::string text;
  const auto read_until = [&](const char* part) {
    char buffer[4096];
    for (ssize_t got = 1; got > 0 && text.find(part) == std::string::npos;)
      if (got = read(shown, buffer, sizeof buffer); got > 0) text.append(buffer, static_cast<size_t>(got));
  };
  {
    ProgressLine line(1);
    act(line, read_until);
  }
  dup2(before, STDOUT_FILENO);
  for (const int fd : {before, terminal, shown}) close(fd);
  return text;
}

TEST(ProgressLine, ATerminalWithoutACursorGetsWholeLinesOnly) {
  const std::string text = shown_on_terminal("dumb", [](ProgressLine& line, const auto& read_until) {
    line.begin("Epoch 1/1", 10);
    line.update(5, {{"loss", 0.5}});
    line.end(10, {{"loss", 0.25}});
    read_until("0.2500");
  });
  EXPECT_EQ(text.find('\x1b'), std::string::npos) << text;
  EXPECT_THAT(text, testing::HasSubstr("Epoch 1/1"));
}

TEST(ProgressLine, RedrawsStayInOneRowOfANarrowTerminal) {
  const std::string text = shown_on_terminal("xterm", [](ProgressLine& line, const auto& read_until) {
    line.begin("", 1875);
    line.update(700, {{"loss", 0.25}, {"accuracy", 0.5}});
    read_until(" 700/1875 ");  // redraws that come too fast replace each other
    line.update(1200, {{"loss", 0.25}, {"accuracy", 0.5}});
    read_until("1200/1875 ");
    line.end(1875, {{"loss", 0.25}, {"accuracy", 0.5}});
    read_until("\n");
  });
  std::vector<std::string> rows;
  for (size_t at = text.find('\r'); at != std::string::npos;) {
    const size_t next = text.find('\r', at + 1);
    rows.push_back(text.substr(at + 1, next - at - 1));
    at = next;
  }
  ASSERT_EQ(rows.size(), 4u) << text;  // two redraws, the whole line, what ends it
  for (size_t i = 0; i < 2; ++i) {
    EXPECT_EQ(columns_of(rows[i]), 49u);
    EXPECT_THAT(rows[i], testing::HasSubstr(i == 0 ? " 700/1875 " : "1200/1875 "));
  }
  EXPECT_THAT(rows[2], testing::HasSubstr("- loss: 0.2500 - accuracy: 0.5000"));
}

}  // namespace
}  // namespace isochron
