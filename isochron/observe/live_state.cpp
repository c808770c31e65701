#include <algorithm>

#include "isochron/base/json.h"
#include "isochron/observe/live_page.h"
#include "isochron/timeline/sample_keys.h"

namespace isochron::observe {
namespace {

constexpr size_t kMaxPoints = 300;
constexpr size_t kMaxEpochs = 200;

// A counter's growth per second, or a gauge, at evenly chosen samples.
Json curve(const RunRecord& run, const char* key, bool counter, double scale) {
  std::vector<std::pair<double, double>> values;
  for (const Sample& sample : run.samples)
    if (const auto found = sample.values.find(key); found != sample.values.end())
      values.emplace_back(sample.time, found->second);
  Json points = Json::array();
  const size_t stride = std::max<size_t>(1, values.size() / kMaxPoints);
  for (size_t i = counter ? stride : 0; i < values.size(); i += stride) {
    double y = values[i].second;
    if (counter) {
      const double seconds = values[i].first - values[i - stride].first;
      y = seconds > 0 ? std::max(0.0, (y - values[i - stride].second) / seconds) : 0;
    }
    points.push_back({values[i].first, y * scale});
  }
  return points;
}

}  // namespace

std::string live_state(const RunRecord& run, const std::string& command, const std::string& doing,
                       const std::string& verdict, const std::vector<std::string>& detail) {
  Json out{{"command", command}, {"seconds", run.seconds}, {"framework", run.framework},
           {"doing", doing},     {"verdict", verdict},     {"detail", detail}};
  out["planned"] = run.planned_epochs ? Json(*run.planned_epochs) : Json();
  Json& epochs = out["epochs"] = Json::array();
  const size_t skip = run.epochs.size() > kMaxEpochs ? run.epochs.size() - kMaxEpochs : 0;
  for (size_t i = skip; i < run.epochs.size(); ++i) {
    const Epoch& e = run.epochs[i];
    Json phases = Json::object();
    for (int p = 0; p < kPhaseCount; ++p)
      if (e.phases[static_cast<size_t>(p)] > 0)
        phases[std::string(name_of(static_cast<Phase>(p)))] = e.phases[static_cast<size_t>(p)];
    epochs.push_back({{"index", e.index}, {"start", e.start}, {"seconds", e.seconds}, {"phases", phases}});
  }
  if (run.open_epoch) {
    Json open{{"index", run.open_epoch->index}, {"start", run.open_epoch->start}};
    if (run.open_epoch->step) open["step"] = *run.open_epoch->step;
    if (run.open_epoch->steps) open["steps"] = *run.open_epoch->steps;
    out["open"] = open;
  }
  namespace key = sample_key;
  out["curves"] = {{{"name", "CPU cores, this run"}, {"points", curve(run, key::cpu_seconds, true, 1)}},
                   {{"name", "CPU cores, everyone else"}, {"points", curve(run, key::other_cpu_seconds, true, 1)}},
                   {{"name", "memory, GB"}, {"points", curve(run, key::rss_bytes, false, 1e-9)}},
                   {{"name", "read from disk, MB/s"}, {"points", curve(run, key::read_bytes, true, 1e-6)}},
                   {{"name", "written, MB/s"}, {"points", curve(run, key::write_chars, true, 1e-6)}},
                   {{"name", "page faults from disk, per s"}, {"points", curve(run, key::major_faults, true, 1)}}};
  return json_text(out);
}

}  // namespace isochron::observe
