#include "isochron/observe/sample_store.h"

#include <algorithm>
#include <utility>

namespace isochron::observe {

void SampleStore::add(Sample sample) {
  if (samples_.size() >= capacity_) thin_out();
  samples_.push_back(std::move(sample));
}

void SampleStore::thin_out() {
  // Borders are kept only as long as they take less than half of the room; then the older ones give way.
  const size_t most_pins = capacity_ / 8;
  if (pins_.size() > most_pins) {
    std::vector<double> kept;
    for (size_t i = 0; i < pins_.size(); i += 2) kept.push_back(pins_[i]);
    pins_ = std::move(kept);
  }
  std::sort(pins_.begin(), pins_.end());
  std::vector<bool> pinned(samples_.size(), false);
  for (const double pin : pins_) {
    const auto after = std::upper_bound(samples_.begin(), samples_.end(), pin,
                                        [](double time, const Sample& s) { return time < s.time; });
    const auto at = static_cast<size_t>(after - samples_.begin());
    if (at > 0) pinned[at - 1] = true;
    if (at < samples_.size()) pinned[at] = true;
  }
  std::vector<Sample> kept;
  bool drop = false;
  for (size_t i = 0; i < samples_.size(); ++i) {
    if (!pinned[i] && i != 0) drop = !drop;
    if (pinned[i] || !drop) kept.push_back(std::move(samples_[i]));
  }
  samples_ = std::move(kept);
}

}  // namespace isochron::observe
