#include "isochron/observe/sampler.h"

#include <fmt/core.h>
#include <sys/resource.h>
#include <unistd.h>

#include <algorithm>
#include <ctime>

#include "isochron/base/clock.h"
#include "isochron/observe/elf_symbols.h"
#include "isochron/observe/open_files.h"
#include "isochron/timeline/sample_keys.h"

namespace isochron::observe {
namespace {

constexpr int kThreadsEvery = 5;         // ticks between readings of threads and machine
constexpr int kSearchEvery = 3;          // ticks between searches for new processes,
constexpr double kYouth = 2;             // except in the first seconds, when launchers come and go
constexpr int kFilesEvery = 10;          // ticks between looks at descriptors
constexpr double kStrangersEvery = 2;    // seconds between looks at the machine's other processes in a run's beginning,
constexpr double kStrangersRarely = 10;  // and later
constexpr double kBusy = 0.05;           // core seconds per second of all others that are worth such a look
constexpr double kNumbersEvery = 2.5;    // seconds between looks at the numbers it computes with in a run's beginning;
constexpr double kNumbersCost = 3e-4;    // later the share of a core they cost
constexpr double kBeginning = 5;         // looks are dear: as time goes by, so many fit into what has passed
constexpr double kImporting = 10;        // seconds of imports in which numbers are not looked at: there are none
constexpr double kShare = 0.006;         // of a core that looking may cost before it becomes rarer,
constexpr double kStartUp = 0.15;        // and CPU seconds beside it for what is done once, as finding symbols;
constexpr double kSettling = 10;         // so long that may cost more: a short run has no looks to spare
constexpr double kSettlingCost = 0.5;
constexpr double kMemory = 30;      // seconds of counters kept for explaining a stall
constexpr double kCarryOver = 0.5;  // seconds a missing look may be taken for the last one

double wall_minus_monotonic() { return seconds_between(monotonic_ns(), unix_ns()); }

std::vector<std::string> first_folder(const std::vector<std::string>& folders) {
  return folders.empty() ? std::vector<std::string>{} : std::vector<std::string>{folders[0]};
}

}  // namespace

double own_cpu_seconds() {
  rusage usage{};
  getrusage(RUSAGE_SELF, &usage);
  const auto seconds = [](const timeval& t) {
    return static_cast<double>(t.tv_sec) + static_cast<double>(t.tv_usec) * 1e-6;
  };
  return seconds(usage.ru_utime) + seconds(usage.ru_stime);
}

double pace_for_cost(double cpu_seconds, double seconds) {
  const double allowed = seconds < kSettling ? kSettlingCost : kStartUp + kShare * seconds;
  return std::clamp(cpu_seconds / allowed, 1.0, 3.0);
}

Sampler::Sampler(int pid, const SamplerOptions& options)
    : pid_(pid),
      tree_(pid),
      machine_(pid, first_folder(options.folders)),
      files_(options.folders, options.own_files),
      counters_(options.counters) {
  first_reading_ = reading_ = machine_.read();
  own_cpu_at_start_ = own_cpu_seconds();
}

void Sampler::tick(double now) {
  const bool deep = ticks_ % kThreadsEvery == 0;
  const bool search = now < kYouth || ticks_ % kSearchEvery == 0;
  tree_.update(now, deep     ? ProcessTree::Detail::threads
                    : search ? ProcessTree::Detail::processes
                             : ProcessTree::Detail::known);
  totals_ = tree_.totals();
  note_events(now);
  look(now);
  if (ticks_ % kFilesEvery == 1) look_at_files(now);
  if (deep) {
    reading_ = machine_.read();
    // Everyone's CPU time without the command's and our own, from when the watch began.
    other_cpu_ = std::max(other_cpu_, reading_.busy_seconds - first_reading_.busy_seconds - totals_.cpu_seconds -
                                          (own_cpu_seconds() - own_cpu_at_start_));
  }
  look_for_strangers(now);
  look_at_numbers(now);
  store_.add(make_sample(now));
  work_.emplace_back(
      now, RecentWork{now, totals_.cpu_seconds, totals_.read_bytes, totals_.write_bytes, totals_.major_faults,
                      reading_.swap_in_pages * static_cast<double>(sysconf(_SC_PAGESIZE)), totals_.run_delay_seconds});
  while (!work_.empty() && work_.front().first < now - kMemory) work_.pop_front();
  last_tick_ = now;
  ++ticks_;
}

void Sampler::look(double now) {
  const double elapsed = ticks_ == 0 ? 0 : now - last_tick_;
  // Every look at an import finds code that was not seen before, which costs most: every other one does.
  const bool importing = !log_.empty() && trainer_.last_activity().phase == Phase::start;
  const auto look = importing && ticks_ % 2 ? std::nullopt : trainer_.look(tree_, now);
  if (trainer_.pid() == 0) why_no_stacks_ = trainer_.why_no_stacks();
  if (look) {
    log_.add(now, elapsed, look->activity);
    if (!look->framework.empty()) ++frameworks_seen_[std::string(look->framework)];
    if (look->epoch) last_epoch_look_ = now;
    if (look->activity.phase != Phase::start) left_epochs_ = !look->epoch && !epochs_seen_.empty();
    if (look->profiled != profiled_ && profiler_changes_.size() < 1000) profiler_changes_.push_back(now);
    profiled_ = look->profiled;
    if (look->epoch && (epochs_seen_.empty() || epochs_seen_.back().value != *look->epoch) &&
        epochs_seen_.size() < 100000)
      epochs_seen_.push_back({now - elapsed / 2, *look->epoch});
  } else if (!log_.empty() && elapsed < kCarryOver) {
    log_.add(now, elapsed, trainer_.last_activity());
  }
  if (const auto found = tree_.alive().find(trainer_.pid()); found != tree_.alive().end())
    for (const ThreadReading& thread : found->second.thread_list)
      if (thread.tid == trainer_.pid()) main_cpu_ = std::max(main_cpu_, thread.cpu_seconds);
}

void Sampler::note_events(double now) {
  for (const ProcessEvent& event : tree_.take_events()) {
    if (event.kind == ProcessEvent::Kind::started)
      children_started_ += event.process.pid != pid_;
    else if (trainer_.workers().contains(event.process.pid) || event.process.parent == trainer_.pid())
      ended_workers_[event.process.pid] = now;
  }
}

void Sampler::look_at_files(double now) {
  open_files_ = sockets_ = 0;
  for (const auto& [pid, process] : tree_.alive()) {
    const bool detail = pid == trainer_.pid() || trainer_.pid() == 0;
    for (const OpenFile& file : open_files(pid, detail)) {
      ++open_files_;
      sockets_ += file.target.starts_with("socket:");
      if (!detail || !file.regular()) continue;
      if (file.writable)
        files_.seen_open(file.target, now);
      else if (file.size > 1 << 20 && files_read_.size() < 64)
        files_read_[file.target] = file.size;
    }
  }
  files_.update(now);
}

std::vector<int> Sampler::pids() const {
  std::vector<int> out;
  for (const auto& [pid, process] : tree_.alive()) out.push_back(pid);
  return out;
}

void Sampler::look_for_strangers(double now) {
  const double elapsed = now - last_strangers_;
  if (ticks_ > 0 && elapsed < std::clamp(now / kBeginning, kStrangersEvery, kStrangersRarely)) return;
  if (ticks_ > 0 && other_cpu_ - other_cpu_then_ < kBusy * elapsed) return;
  last_strangers_ = now;
  other_cpu_then_ = other_cpu_;
  for (const BusyStranger& stranger : strangers_.look(now, pids()))
    if (busy_strangers_.size() < 64 || busy_strangers_.contains(stranger.command))
      busy_strangers_[stranger.command] += stranger.cores * elapsed;
}

void Sampler::look_at_numbers(double now) {
  if (!trainer_.pid() || now < next_numbers_) return;
  if (now < kImporting && trainer_.last_activity().phase == Phase::start) return;
  const double before = own_cpu_seconds();
  if (!numbers_ || numbers_->pid() != trainer_.pid()) numbers_.emplace(trainer_.pid());
  subnormal_share_ =
      numbers_->subnormal_share(tree_.contains(trainer_.pid()) ? tree_.alive().at(trainer_.pid()).rss_bytes : 0);
  if (loaded_framework_.empty()) {
    std::vector<std::string> files;
    for (MappedFile& file : mapped_files(trainer_.pid())) files.push_back(std::move(file.path));
    loaded_framework_ = loaded_framework(files);
  }
  const double cost = own_cpu_seconds() - before;
  next_numbers_ = now + std::max(kNumbersEvery, std::min(now / kBeginning, cost / kNumbersCost));
}

Sample Sampler::make_sample(double now) {
  namespace key = sample_key;
  Sample sample{now, {}};
  auto& v = sample.values;
  v[key::cpu_seconds] = totals_.cpu_seconds;
  v[key::system_seconds] = totals_.system_seconds;
  v[key::major_faults] = totals_.major_faults;
  v[key::minor_faults] = totals_.minor_faults;
  v[key::read_bytes] = totals_.read_bytes;
  v[key::write_bytes] = totals_.write_bytes;
  v[key::read_chars] = totals_.read_chars;
  v[key::write_chars] = totals_.write_chars;
  v[key::read_calls] = totals_.read_calls;
  v[key::write_calls] = totals_.write_calls;
  v[key::children_started] = children_started_;
  double rss = 0, swap = 0, threads = 0;
  for (const auto& [pid, process] : tree_.alive()) {
    rss += process.rss_bytes;
    swap += process.swap_bytes;
    threads += process.threads;
  }
  v[key::rss_bytes] = rss;
  v[key::threads] = threads;
  v[key::processes] = static_cast<double>(tree_.alive().size());
  v[key::workers] = static_cast<double>(trainer_.workers().size());
  if (ticks_ % kThreadsEvery != 0) return sample;
  // What is read only now and then stands only in the samples of those moments.
  v[key::main_cpu_seconds] = main_cpu_;
  v[key::run_delay_seconds] = totals_.run_delay_seconds;
  v[key::voluntary_switches] = totals_.voluntary_switches;
  v[key::involuntary_switches] = totals_.involuntary_switches;
  v[key::swap_bytes] = swap;
  v[key::open_files] = open_files_;
  v[key::sockets] = sockets_;
  v[key::output_bytes] = files_.total_bytes();
  v[key::output_files] = files_.count();
  v[key::output_written_bytes] = files_.total_bytes_written();
  for (const auto& [folder, bytes] : reading_.free_disk_bytes) v[key::disk_free_bytes] = bytes;
  v[key::cpus] = machine_.cpus();
  v[key::other_cpu_seconds] = other_cpu_;
  v[key::steal_seconds] = reading_.steal_seconds - first_reading_.steal_seconds;
  v[key::available_bytes] = reading_.memory_available_bytes;
  const auto page = static_cast<double>(sysconf(_SC_PAGESIZE));
  v[key::swap_in_bytes] = (reading_.swap_in_pages - first_reading_.swap_in_pages) * page;
  v[key::swap_out_bytes] = (reading_.swap_out_pages - first_reading_.swap_out_pages) * page;
  v[key::wall_minus_monotonic] = wall_minus_monotonic();
  const auto set = [&](const char* name, const std::optional<double>& value, const std::optional<double>& first = 0.0) {
    if (value) v[name] = *value - first.value_or(0);
  };
  set(key::throttled_seconds, reading_.throttled_seconds, first_reading_.throttled_seconds);
  set(key::quota_cpus, reading_.cpu_quota_cores);
  set(key::pressure_cpu_seconds, reading_.cpu_pressure_seconds, first_reading_.cpu_pressure_seconds);
  set(key::pressure_io_seconds, reading_.io_pressure_seconds, first_reading_.io_pressure_seconds);
  set(key::pressure_memory_seconds, reading_.memory_pressure_seconds, first_reading_.memory_pressure_seconds);
  set(key::mhz, reading_.cpu_mhz);
  set(key::subnormal_share, subnormal_share_);
  if (counters_)
    if (const auto counted = counters_->read()) {
      v[key::instructions] = counted->instructions;
      v[key::cycles] = counted->cycles;
    }
  return sample;
}

StallFinding Sampler::explain(double now, double silence) {
  StallSituation situation{.silence = silence};
  if (!work_.empty()) {
    // The later half of the silence: at its beginning the program may still have been at work.
    const double from = std::max(now - std::min(silence / 2, 10.0), work_.front().first);
    const auto first = std::find_if(work_.begin(), work_.end(), [&](const auto& w) { return w.first >= from; });
    if (first != work_.end()) {
      const RecentWork &a = first->second, &b = work_.back().second;
      situation.recent = {b.seconds - a.seconds,
                          b.cpu_seconds - a.cpu_seconds,
                          b.read_bytes - a.read_bytes,
                          b.write_bytes - a.write_bytes,
                          b.major_faults - a.major_faults,
                          b.swapped_in_bytes - a.swapped_in_bytes,
                          b.delay_seconds - a.delay_seconds};
    }
  }
  for (const auto& [pid, time] : ended_workers_)
    if (time > now - silence - 1) situation.dead_workers.push_back(pid);
  return explain_stall(situation, tree_, trainer_);
}

}  // namespace isochron::observe
