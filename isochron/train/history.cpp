#include "isochron/train/history.h"

#include "isochron/base/files.h"
#include "isochron/base/names.h"
#include "isochron/report/run_report.h"

namespace isochron {

const std::vector<double>& History::operator[](const std::string& name) const {
  const auto found = metrics_.find(name);
  if (found != metrics_.end()) return found->second;
  std::vector<std::string_view> known;
  for (const auto& [key, values] : metrics_) known.push_back(key);
  fail<ValueError>("History", "no metric \"{}\"{}", name, did_you_mean(name, known));
}

void History::save_html(const std::string& path) const { write_file(path, run_html(record_)); }
void History::save_record(const std::string& path) const { write_file(path, record_.to_json() + "\n"); }

StateDict History::state() const {
  StateDict out;
  out.put("epochs", std::vector<int64_t>(epochs_.begin(), epochs_.end()));
  out.put("skipped_steps", skipped_steps_);
  out.put("bad_loss", bad_loss_);
  for (const auto& [name, values] : metrics_) out.put("metrics/" + name, values);
  return out;
}

void History::restore(const StateDict& state) {
  const std::vector<int64_t> epochs = state.integers("epochs");
  epochs_.assign(epochs.begin(), epochs.end());
  skipped_steps_ = state.integer("skipped_steps");
  bad_loss_ = state.text("bad_loss");
  metrics_.clear();
  const StateDict metrics = state.part("metrics");
  for (const auto& [name, values] : metrics.tensors()) metrics_[name] = metrics.numbers(name);
}

}  // namespace isochron
