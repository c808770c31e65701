#include "isochron/base/log.h"

#include <fcntl.h>
#include <pthread.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include <array>
#include <atomic>
#include <condition_variable>
#include <cstdio>
#include <cstdlib>
#include <deque>
#include <map>
#include <mutex>
#include <thread>

#include "isochron/base/clock.h"
#include "isochron/base/error.h"
#include "isochron/base/names.h"
#include "isochron/base/signals_blocked.h"

namespace isochron {
namespace {

constexpr std::array<std::string_view, 5> kNames = {"debug", "info", "warning", "error", "off"};
constexpr size_t kMostWaiting = 1000;

std::string_view name_of(LogLevel level) { return kNames[static_cast<size_t>(level)]; }

void write_all(int fd, std::string_view text) {
  while (!text.empty()) {
    const ssize_t done = write(fd, text.data(), text.size());
    if (done <= 0 && errno != EINTR) return;  // a log must not fail a training
    if (done > 0) text.remove_prefix(static_cast<size_t>(done));
  }
}

std::string time_of_day() {
  timespec now{};
  clock_gettime(CLOCK_REALTIME, &now);
  tm parts{};
  localtime_r(&now.tv_sec, &parts);
  char text[32];
  strftime(text, sizeof text, "%Y-%m-%d %H:%M:%S", &parts);
  return fmt::format("{}.{:03}", text, now.tv_nsec / 1'000'000);
}

class Log {
 public:
  static Log& global() { return *instance().load(std::memory_order_acquire); }

  bool enabled(LogLevel level) {
    std::lock_guard lock(mutex_);
    return level != LogLevel::off && level >= options_.level;
  }

  void add(LogLevel level, std::string_view topic, std::string text) {
    std::lock_guard lock(mutex_);
    if (level == LogLevel::off || level < options_.level) return;
    if (!within_limits(topic)) return;
    if (waiting_.size() >= kMostWaiting) {
      ++dropped_;
      return;
    }
    waiting_.push_back(format(level, topic, text));
    start();
    more_.notify_one();
  }

  void flush() { at_rest(); }

  void set(LogOptions options) {
    if (options.rotate_bytes < 1 || options.kept < 0 || options.lines_of_a_topic < 1 || !(options.topic_seconds >= 0))
      fail<ValueError>("log",
                       "rotate_bytes and lines_of_a_topic must be at least 1, kept and topic_seconds not negative");
    const auto lock = at_rest();
    options_ = std::move(options);
    topics_.clear();
    close_file();
  }

 private:
  struct Topic {
    int64_t since_ns = 0;
    int64_t lines = 0, left_out = 0;
  };

  explicit Log(LogOptions options) : options_(std::move(options)) {}
  // Never destroyed: its thread may still be at work when the process ends.
  static std::atomic<Log*>& instance() {
    static std::atomic<Log*> log{from_environment()};
    return log;
  }
  // A wrong level is told, not thrown: it would come to whoever logs first, perhaps a thread for which nobody catches.
  static Log* from_environment() {
    try {
      return new Log(log_options_from_environment());
    } catch (const ValueError& wrong) {
      LogOptions options;
      if (const char* file = std::getenv("ISOCHRON_LOG_FILE")) options.file = file;
      Log* log = new Log(std::move(options));
      log->add(LogLevel::warning, "log",
               fmt::format("the level is {}: {}", name_of(log->options_.level), wrong.what()));
      return log;
    }
  }

  // Everything is written, and nothing more is while the lock is held.
  std::unique_lock<std::mutex> at_rest() {
    std::unique_lock lock(mutex_);
    written_.wait(lock, [&] { return !runs_ || (waiting_.empty() && !writing_); });
    return lock;
  }

  std::string format(LogLevel level, std::string_view topic, std::string_view text) const {
    return options_.file.empty() ? fmt::format("isochron: {}: {}: {}\n", name_of(level), topic, text)
                                 : fmt::format("{} {:<7} {}: {}\n", time_of_day(), name_of(level), topic, text);
  }

  bool within_limits(std::string_view name) {
    const int64_t now = monotonic_ns();
    Topic& topic = topics_[std::string(name)];
    if (topic.lines == 0 || seconds_between(topic.since_ns, now) >= options_.topic_seconds) {
      if (topic.left_out > 0)
        waiting_.push_back(format(LogLevel::info, name, fmt::format("{} lines were left out", topic.left_out)));
      topic = {now, 0, 0};
    }
    if (++topic.lines <= options_.lines_of_a_topic) return true;
    ++topic.left_out;
    return false;
  }

  void start() {
    if (runs_) return;
    const SignalsBlocked signals;
    try {
      std::thread([this] { run(); }).detach();
      runs_ = true;
      static const int once = std::atexit([] { global().flush(); }) + share_with_children();
      static_cast<void>(once);
    } catch (const std::system_error&) {
      waiting_.clear();
    }
  }

  // A forked child has no thread that writes: it starts with a log of its own, and leaves the lines that wait to its
  // parent.
  static int share_with_children() {
    return pthread_atfork([] { global().mutex_.lock(); }, [] { global().mutex_.unlock(); },
                          [] { instance().store(new Log(global().options_)); });
  }

  void run() {
    pthread_setname_np(pthread_self(), "isochron-log");
    std::unique_lock lock(mutex_);
    for (;;) {
      more_.wait(lock, [&] { return !waiting_.empty(); });
      std::string text;
      for (; !waiting_.empty(); waiting_.pop_front()) text += waiting_.front();
      if (dropped_ > 0) text += format(LogLevel::warning, "log", fmt::format("{} lines came too fast", dropped_));
      dropped_ = 0;
      writing_ = true;
      lock.unlock();
      write_out(text);
      lock.lock();
      writing_ = false;
      if (waiting_.empty()) written_.notify_all();
    }
  }

  // Of the writing thread; options_ change only while it rests.
  void write_out(const std::string& text) {
    if (options_.file.empty()) return write_all(STDERR_FILENO, text);
    if (fd_ >= 0 && size_ > 0 && size_ + static_cast<int64_t>(text.size()) > options_.rotate_bytes) rotate();
    if (fd_ < 0) {
      fd_ = open(options_.file.c_str(), O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0644);
      struct stat info {};
      size_ = fd_ >= 0 && fstat(fd_, &info) == 0 ? info.st_size : 0;
    }
    write_all(fd_ >= 0 ? fd_ : STDERR_FILENO, text);
    size_ += static_cast<int64_t>(text.size());
  }

  void rotate() {
    close_file();
    const auto numbered = [&](int i) { return i == 0 ? options_.file : fmt::format("{}.{}", options_.file, i); };
    for (int i = options_.kept; i > 0; --i) std::rename(numbered(i - 1).c_str(), numbered(i).c_str());
    if (options_.kept == 0) std::remove(options_.file.c_str());
  }

  void close_file() {
    if (fd_ >= 0) close(fd_);
    fd_ = -1;
  }

  std::mutex mutex_;
  std::condition_variable more_, written_;
  LogOptions options_;
  std::deque<std::string> waiting_;
  std::map<std::string, Topic> topics_;
  int64_t dropped_ = 0;
  bool runs_ = false, writing_ = false;
  int fd_ = -1;
  int64_t size_ = 0;
};

}  // namespace

LogOptions log_options_from_environment() {
  LogOptions options;
  if (const char* file = std::getenv("ISOCHRON_LOG_FILE")) options.file = file;
  const char* level = std::getenv("ISOCHRON_LOG");
  if (!level) return options;
  for (size_t i = 0; i < kNames.size(); ++i)
    if (level == kNames[i]) {
      options.level = static_cast<LogLevel>(i);
      return options;
    }
  fail<ValueError>("ISOCHRON_LOG", "unknown level \"{}\"{}", level,
                   did_you_mean(level, {kNames.begin(), kNames.end()}));
}

bool log_enabled(LogLevel level) { return Log::global().enabled(level); }
void log_line(LogLevel level, std::string_view topic, std::string text) {
  Log::global().add(level, topic, std::move(text));
}
void log_flush() { Log::global().flush(); }
void set_log_options(LogOptions options) { Log::global().set(std::move(options)); }

}  // namespace isochron
