#include "isochron/train/progress.h"

#include <sys/ioctl.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <condition_variable>
#include <cstdio>
#include <mutex>
#include <thread>
#include <utility>

#include "isochron/base/clock.h"
#include "isochron/base/log.h"
#include "isochron/base/terminal.h"
#include "isochron/base/try_print.h"

namespace isochron {
namespace {

constexpr int64_t kRedrawNs = 100'000'000;
constexpr std::chrono::milliseconds kLinesTogether{50};
constexpr int kBarWidth = 20;

std::string duration(double seconds) {
  if (seconds < 1e-3) return fmt::format("{:.0f}us", seconds * 1e6);
  if (seconds < 1) return fmt::format("{:.0f}ms", seconds * 1e3);
  if (seconds < 60) return fmt::format("{:.0f}s", seconds);
  if (seconds < 3600) return fmt::format("{}:{:02}", static_cast<int>(seconds) / 60, static_cast<int>(seconds) % 60);
  return fmt::format("{}:{:02}:{:02}", static_cast<int>(seconds) / 3600, static_cast<int>(seconds) / 60 % 60,
                     static_cast<int>(seconds) % 60);
}

// As much of a line as one row of the terminal shows: what wraps is not taken back by the next redraw. A column a
// character; sequences that set colours take none.
std::string in_one_row(std::string text) {
  winsize size{};
  if (ioctl(STDOUT_FILENO, TIOCGWINSZ, &size) != 0 || size.ws_col == 0) return text;
  int column = 0;
  for (size_t at = 0; at < text.size();) {
    if (text[at] == '\x1b') {
      at = std::min(text.find('m', at), text.size() - 1) + 1;
      continue;
    }
    if (++column >= size.ws_col) {  // the last column stays free: terminals differ in what comes after it
      text.resize(at);
      break;
    }
    do ++at;
    while (at < text.size() && (static_cast<unsigned char>(text[at]) & 0xC0) == 0x80);
  }
  return text;
}

}  // namespace

// Writes to standard output so that a slow terminal never holds training up. Redraws that come too fast replace each
// other, and lines that do are written together: waking this thread takes as long as a tenth of a short step.
class ProgressLine::Writer {
 public:
  Writer() : thread_([this] { run(); }) {}
  ~Writer() {
    {
      std::lock_guard lock(mutex_);
      closed_ = true;
    }
    wake_.notify_one();
    thread_.join();
  }
  void write(std::string text, bool replaceable) {
    {
      std::lock_guard lock(mutex_);
      if (replaceable) {
        redraw_ = std::move(text);
      } else {
        redraw_.clear();
        lasting_ += text;
      }
      if (!idle_) return;
      idle_ = false;
    }
    wake_.notify_one();
  }

 private:
  void run() {
    std::unique_lock lock(mutex_);
    for (;;) {
      idle_ = lasting_.empty() && redraw_.empty();
      wake_.wait(lock, [&] { return closed_ || !idle_; });
      const std::string text = std::exchange(lasting_, {}) + std::exchange(redraw_, {});
      if (text.empty() && closed_) return;
      lock.unlock();
      std::fwrite(text.data(), 1, text.size(), stdout);
      std::fflush(stdout);
      lock.lock();
      wake_.wait_for(lock, kLinesTogether, [&] { return closed_; });
    }
  }
  std::mutex mutex_;
  std::condition_variable wake_;
  std::string lasting_, redraw_;
  bool idle_ = false;  // waits for text
  bool closed_ = false;
  std::thread thread_;
};

ProgressLine::ProgressLine(int verbose)
    : verbose_(verbose), terminal_(verbose > 0 && is_full_terminal(STDOUT_FILENO)) {}
ProgressLine::~ProgressLine() = default;

void ProgressLine::begin(const std::string& title, int64_t steps) {
  steps_ = steps;
  started_ns_ = monotonic_ns();
  next_ns_ = started_ns_ + kRedrawNs;
  if (shown() && !title.empty()) writer_->write(title + "\n", false);
}

bool ProgressLine::shown() {
  if (verbose_ > 0 && !writer_) writer_ = std::make_unique<Writer>();
  return writer_ != nullptr;
}

bool ProgressLine::due() {
  if (verbose_ != 1 || !terminal_) return false;
  const int64_t now = monotonic_ns();
  if (now < next_ns_) return false;
  next_ns_ = now + kRedrawNs;
  return true;
}

std::string ProgressLine::line(int64_t step, const Logs& logs, bool finished) const {
  const double seconds = seconds_between(started_ns_, monotonic_ns());
  const double per_step = step > 0 ? seconds / static_cast<double>(step) : 0;
  const int width = static_cast<int>(std::to_string(steps_).size());
  std::string text = fmt::format("{:>{}}/{} ", step, width, steps_);
  if (verbose_ == 1) {
    const auto filled = static_cast<int>(steps_ > 0 ? step * kBarWidth / steps_ : kBarWidth);
    for (int i = 0; i < kBarWidth; ++i) text += i < filled ? "━" : (terminal_ ? "\x1b[2m─\x1b[0m" : "─");
    text += ' ';
    text += duration(finished ? seconds : per_step * static_cast<double>(steps_ - step));
  } else {
    text += "- " + duration(seconds);
  }
  text += fmt::format("{}{}/step", verbose_ == 1 ? " " : " - ", duration(per_step));
  // As Keras does: a learning rate of 1e-5 is not 0.0000.
  constexpr double kLeastPlain = 1e-3;
  for (const auto& [name, value] : logs)
    text += fmt::format(" - {}: {}", name,
                        std::isnan(value)                             ? "nan"  // whatever its sign
                        : std::abs(value) > kLeastPlain || value == 0 ? fmt::format("{:.4f}", value)
                                                                      : fmt::format("{:.4e}", value));
  return text;
}

void ProgressLine::update(int64_t step, const Logs& logs) {
  if (writer_ && terminal_) writer_->write("\r\x1b[2K" + in_one_row(line(step, logs, false)), true);
}

void ProgressLine::end(int64_t steps, const Logs& logs) {
  if (!writer_) return;
  steps_ = steps;
  writer_->write((terminal_ ? "\r\x1b[2K" : "") + line(steps, logs, true) + "\n", false);
}

void ProgressLine::say(const std::string& text) {
  if (shown()) writer_->write((terminal_ ? "\r\x1b[2K" : "") + text + "\n", false);
}

namespace {

thread_local ProgressLine* t_current = nullptr;

}  // namespace

ProgressLine::Scope::Scope(ProgressLine& line) : before_(std::exchange(t_current, &line)) {}
ProgressLine::Scope::~Scope() { t_current = before_; }

void ProgressLine::tell(const std::string& text) {
  t_current && t_current->shown() ? t_current->say(text) : try_print(stdout, "{}\n", text);
}

void ProgressLine::warn(const std::string& text) {
  shown() ? say("warning: " + text) : log_line(LogLevel::warning, "fit", text);
}

}  // namespace isochron
