#include "isochron/train/callback_list.h"

#include <mutex>
#include <set>

#include "isochron/base/demangled.h"

namespace isochron {
namespace {

const char* kept_for_good(std::string name) {
  static std::mutex mutex;
  static std::set<std::string> names;
  std::lock_guard lock(mutex);
  return names.insert(std::move(name)).first->c_str();
}

}  // namespace

CallbackList::CallbackList(const std::vector<std::shared_ptr<Callback>>& callbacks)
    : callbacks_(callbacks), epoch_ns_(callbacks.size(), 0) {
  std::map<std::string, int> seen;
  for (const auto& callback : callbacks_) {
    const Callback& object = *callback;
    const std::string name = class_name_of(typeid(object));
    const int times = ++seen[name];
    names_.push_back(kept_for_good(times > 1 ? fmt::format("{} {}", name, times) : name));
    needs_batch_logs_ |= callback->needs_batch_logs();
  }
}

void CallbackList::add_times(size_t at, Epoch& epoch) const {
  if ((at + 1) * names_.size() > past_ns_.size()) return;
  for (size_t i = 0; i < names_.size(); ++i)
    epoch.callbacks[names_[i]] = static_cast<double>(past_ns_[at * names_.size() + i]) * 1e-9;
}

}  // namespace isochron
