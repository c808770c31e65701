#include "isochron/checkpoint/async_writer.h"

#include <pthread.h>
#include <sys/resource.h>
#include <sys/statvfs.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <filesystem>

#include "isochron/base/clock.h"
#include "isochron/base/native_stack.h"
#include "isochron/base/signals_blocked.h"
#include "isochron/checkpoint/safetensors.h"
#include "isochron/checkpoint/weights_file.h"

namespace isochron {
namespace {

struct Room {
  int64_t free_bytes, block_bytes;
};
Room room_at(std::filesystem::path path) {
  struct statvfs info {};
  do path = path.parent_path();
  while (statvfs(path.empty() ? "." : path.c_str(), &info) != 0 && !path.empty() && path != path.root_path());
  const auto block = static_cast<int64_t>(info.f_frsize);
  return {static_cast<int64_t>(info.f_bavail) * block, std::max<int64_t>(1, block)};
}

// A folder without a manifest is one whose removal was interrupted; one with another's manifest is left alone.
void remove_saved(const std::string& path) {
  std::error_code failed;
  if (is_checkpoint(path) || !std::filesystem::exists(path + "/manifest.json", failed)) remove_checkpoint(path);
  unlink(path.c_str());  // a file of weights
}

}  // namespace

AsyncWriter::AsyncWriter(double retry_seconds) : retry_seconds_(retry_seconds) {}

AsyncWriter::~AsyncWriter() {
  {
    std::lock_guard lock(mutex_);
    stop_ = true;
    wake_.notify_one();
  }
  if (thread_.joinable()) thread_.join();
}

void AsyncWriter::start() {
  if (thread_.joinable()) return;
  // Signals belong to the user's threads; a file-size limit then is an error of write(), not the end of the process.
  const SignalsBlocked blocked;
  thread_ = std::thread([this] { loop(); });
}

void AsyncWriter::reserve(int64_t bytes) {
  std::lock_guard lock(mutex_);
  reserve_bytes_ = std::max(reserve_bytes_, bytes);
  start();
  wake_.notify_one();
}

bool AsyncWriter::fresh() const {
  return std::any_of(pending_.begin(), pending_.end(), [](const Pending& pending) { return !pending.failed; });
}

bool AsyncWriter::busy() const {
  std::lock_guard lock(mutex_);
  return writing_ || fresh();
}

bool AsyncWriter::submit(const NamedTensors& state, std::vector<SaveTarget> targets) {
  std::unique_lock lock(mutex_);
  start();
  idle_.wait(lock, [this] { return !writing_ && !fresh() && reserve_bytes_ == 0; });
  pending_.clear();
  snapshot_.reserve(Snapshot::bytes_of(state));
  snapshot_.take(state, std::ranges::any_of(targets, [](const SaveTarget& target) { return target.weights.empty(); }));
  for (SaveTarget& target : targets) {
    std::erase(unwanted_, target.path);  // wanted again
    pending_.push_back({std::move(target), false});
  }
  wake_.notify_one();
  if (snapshot_.copied()) return true;
  idle_.wait(lock, [this] { return !writing_ && !fresh(); });
  pending_.clear();  // the tensors are about to change: there is nothing left to try again
  return false;
}

void AsyncWriter::remove(std::vector<std::string> paths) {
  if (paths.empty()) return;
  std::lock_guard lock(mutex_);
  unwanted_.insert(unwanted_.end(), std::make_move_iterator(paths.begin()), std::make_move_iterator(paths.end()));
  start();
  wake_.notify_one();
}

std::vector<SaveOutcome> AsyncWriter::take_outcomes() {
  std::lock_guard lock(mutex_);
  return std::exchange(outcomes_, {});
}

void AsyncWriter::finish() {
  std::unique_lock lock(mutex_);
  if (!thread_.joinable()) return;
  idle_.wait(lock, [this] { return !writing_ && !fresh(); });
  retry_now_ = !pending_.empty();
  wake_.notify_one();
  idle_.wait(lock, [this] { return !writing_ && !retry_now_ && !removing_ && unwanted_.empty(); });
}

void AsyncWriter::loop() {
  pthread_setname_np(pthread_self(), "isochron-saves");
  // Training goes first; much lower, and a tenth of a second of checksums takes seconds on a busy machine.
  setpriority(PRIO_PROCESS, static_cast<id_t>(this_thread_id()), 5);
  std::unique_lock lock(mutex_);
  const auto work = [this] { return stop_ || retry_now_ || fresh() || reserve_bytes_ > 0 || !unwanted_.empty(); };
  for (;;) {
    if (pending_.empty())
      wake_.wait(lock, work);
    else
      wake_.wait_for(lock, std::chrono::duration<double>(retry_seconds_), work);
    if (const int64_t bytes = std::exchange(reserve_bytes_, 0); bytes > 0) {
      writing_ = true;
      lock.unlock();
      snapshot_.reserve(bytes);
      lock.lock();
      writing_ = false;
    }
    // Removals first: they make room.
    if (!unwanted_.empty()) {
      const std::vector<std::string> paths = std::exchange(unwanted_, {});
      removing_ = true;
      lock.unlock();
      for (const std::string& path : paths) remove_saved(path);
      lock.lock();
      removing_ = false;
    }
    if (!pending_.empty() && (fresh() || !stop_)) write_all(lock);
    retry_now_ = false;
    idle_.notify_all();
    if (stop_ && !fresh() && unwanted_.empty()) return;
  }
}

void AsyncWriter::write_all(std::unique_lock<std::mutex>& lock) {
  writing_ = true;
  std::vector<Pending> left;
  for (Pending& pending : pending_) {
    lock.unlock();
    SaveOutcome outcome = write(pending.target);
    lock.lock();
    outcome.again = pending.failed;
    // Failing on is no news.
    const bool news = outcome.saved || !pending.failed;
    if (!outcome.saved) left.push_back({std::move(pending.target), true});
    if (news) outcomes_.push_back(std::move(outcome));
  }
  pending_ = std::move(left);
  writing_ = false;
}

SaveOutcome AsyncWriter::write(const SaveTarget& target) {
  SaveOutcome outcome{.id = target.id, .info = target.info};
  outcome.info.path = target.path;
  const int64_t begin = monotonic_ns();
  try {
    if (target.weights.empty()) {
      const StateImage image = snapshot_.image();
      outcome.need_bytes = image.bytes();
      outcome.info = write_checkpoint(target.path, image, target.info);
    } else {
      const NamedTensors weights = snapshot_.views(target.weights);
      for (const auto& [name, tensor] : weights) outcome.need_bytes += tensor.spec().bytes();
      std::error_code failed;
      if (const auto parent = std::filesystem::path(target.path).parent_path(); !parent.empty())
        std::filesystem::create_directories(parent, failed);
      if (failed) fail<FileError>("write", "{}: {}", target.path, failed.message());
      if (target.metadata.empty())
        write_weights_file(target.path, weights);
      else
        write_safetensors(target.path, weights, target.metadata);
      outcome.info.bytes = outcome.need_bytes;
    }
    outcome.saved = true;
    outcome.written_bytes = outcome.need_bytes;
  } catch (const std::exception& error) {
    outcome.problem = error.what();
    const Room room = room_at(target.path);
    outcome.free_bytes = room.free_bytes;
    // Files take whole blocks, a manifest one more.
    const int64_t blocks = (outcome.need_bytes + room.block_bytes - 1) / room.block_bytes;
    outcome.need_bytes = (blocks + (target.weights.empty() ? 1 : 0)) * room.block_bytes;
  }
  outcome.seconds = seconds_between(begin, monotonic_ns());
  return outcome;
}

}  // namespace isochron
