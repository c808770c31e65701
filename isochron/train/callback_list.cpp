#include "isochron/train/callback_list.h"

#include <cxxabi.h>

#include <cstdlib>
#include <mutex>
#include <set>
#include <typeinfo>

namespace isochron {
namespace {

// "CSVLogger": the class without its namespaces and template arguments.
std::string class_of(const Callback& callback) {
  const char* mangled = typeid(callback).name();
  int status = 0;
  char* text = abi::__cxa_demangle(mangled, nullptr, nullptr, &status);
  std::string name = status == 0 ? text : mangled;
  std::free(text);
  name = name.substr(0, name.find('<'));
  const size_t colon = name.rfind("::");
  return colon == std::string::npos ? name : name.substr(colon + 2);
}

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
    const std::string name = class_of(*callback);
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
