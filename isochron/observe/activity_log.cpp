#include "isochron/observe/activity_log.h"

#include <algorithm>
#include <map>

namespace isochron::observe {
namespace {
constexpr size_t kMaxEntries = 1 << 17;
constexpr size_t kMaxActivities = 4096;
constexpr double kFlicker = 0.35;  // seconds of something else that do not end a stretch

bool is_step(Phase phase) { return phase == Phase::forward || phase == Phase::backward || phase == Phase::update; }

}  // namespace

uint32_t ActivityLog::intern(const Activity& activity) {
  // Looks repeat what was seen last, so searching from the end is short.
  for (size_t i = activities_.size(); i-- > 0;)
    if (activities_[i] == activity) return static_cast<uint32_t>(i);
  if (activities_.size() >= kMaxActivities) {
    Activity plain{activity.phase, activity.what, "", activity.executing};
    if (!(plain == activity)) return intern(plain);
    return 0;
  }
  activities_.push_back(activity);
  return static_cast<uint32_t>(activities_.size() - 1);
}

void ActivityLog::add(double now, double seconds, const Activity& activity) {
  const uint32_t id = intern(activity);
  if (!entries_.empty()) {
    Entry& last = entries_.back();
    if (last.activity == id && now - seconds - (last.start + last.seconds) < 0.05) {
      last.seconds = static_cast<float>(now - last.start);
      return;
    }
  }
  if (entries_.size() >= kMaxEntries) {  // the older half at half the resolution
    std::vector<Entry> kept;
    const size_t half = entries_.size() / 2;
    for (size_t i = 0; i + 1 < half; i += 2) {
      Entry merged = entries_[i].seconds >= entries_[i + 1].seconds ? entries_[i] : entries_[i + 1];
      merged.start = entries_[i].start;
      merged.seconds = static_cast<float>(entries_[i + 1].start + entries_[i + 1].seconds - entries_[i].start);
      kept.push_back(merged);
    }
    kept.insert(kept.end(), entries_.begin() + static_cast<ptrdiff_t>(half / 2 * 2), entries_.end());
    entries_ = std::move(kept);
  }
  entries_.push_back({now - seconds, static_cast<float>(seconds), id});
}

template <class Visit>
void ActivityLog::between(double from, double to, Visit visit) const {
  auto entry = std::upper_bound(entries_.begin(), entries_.end(), from,
                                [](double time, const Entry& e) { return time < e.start + e.seconds; });
  for (; entry != entries_.end() && entry->start < to; ++entry) {
    const double begin = std::max(from, entry->start), end = std::min(to, entry->start + entry->seconds);
    if (end > begin) visit(activities_[entry->activity], end - begin);
  }
}

PhaseSeconds ActivityLog::phases(double from, double to) const {
  PhaseSeconds sum{};
  between(from, to, [&](const Activity& a, double seconds) { sum[static_cast<size_t>(a.phase)] += seconds; });
  return sum;
}

std::optional<double> ActivityLog::training_began() const {
  const auto phase_of = [&](const Entry& entry) { return activities_[entry.activity].phase; };
  auto first =
      std::find_if(entries_.begin(), entries_.end(), [&](const Entry& entry) { return is_step(phase_of(entry)); });
  if (first == entries_.end()) return std::nullopt;
  while (first != entries_.begin() && phase_of(*std::prev(first)) == Phase::input) --first;
  return first->start;
}

ActivityLog::Lead ActivityLog::lead(double from, double to) const {
  Lead lead;
  std::map<Store, double> named;
  bool training = false;
  between(from, to, [&](const Activity& a, double seconds) {
    training = training || is_step(a.phase);
    if (training || a.phase != Phase::input || a.executing) return;
    lead.seconds += seconds;
    named[a.store] += seconds;
  });
  if (!training) return {};  // where no step was seen, nothing is known to come before one
  for (const auto& [store, seconds] : named)
    if (seconds > 0.5 * lead.seconds) lead.store = store;
  return lead;
}

std::vector<ActivityLog::Share> ActivityLog::shares(double from, double to) const {
  std::map<const Activity*, double> sum;
  between(from, to, [&](const Activity& a, double seconds) { sum[&a] += seconds; });
  std::vector<Share> out;
  for (const auto& [activity, seconds] : sum) out.push_back({*activity, seconds});
  std::sort(out.begin(), out.end(), [](const Share& a, const Share& b) { return a.seconds > b.seconds; });
  return out;
}

double ActivityLog::seconds_of(std::string_view what) const {
  double sum = 0;
  for (const Entry& entry : entries_)
    if (activities_[entry.activity].what == what) sum += entry.seconds;
  return sum;
}

std::vector<Span> ActivityLog::spans(double shortest) const {
  std::vector<Span> out;
  Span open;
  double last_seen = 0;
  const auto close = [&] {
    open.seconds = last_seen - open.start;
    if (last_seen > 0 && open.seconds >= shortest) out.push_back(open);
  };
  for (const Entry& entry : entries_) {
    const Activity& activity = activities_[entry.activity];
    const std::string name = activity.what.empty() ? std::string(name_of(activity.phase)) : activity.what;
    const bool same = name == open.name && activity.phase == open.phase;
    if (last_seen > 0 && same && entry.start - last_seen < kFlicker) {
      last_seen = entry.start + entry.seconds;
    } else if (last_seen == 0 || entry.start + entry.seconds - last_seen >= kFlicker || !same) {
      if (!same && last_seen > 0 && entry.seconds < kFlicker && entry.start - last_seen < kFlicker) continue;
      close();
      open = {name, activity.phase, entry.start, 0, 0, 0};
      last_seen = entry.start + entry.seconds;
    }
  }
  close();
  return out;
}

}  // namespace isochron::observe
