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

}  // namespace isochron
