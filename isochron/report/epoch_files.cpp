#include "isochron/report/epoch_files.h"

#include <fmt/format.h>

#include <cmath>
#include <limits>

#include "isochron/base/seconds_text.h"
#include "isochron/timeline/sample_keys.h"

namespace isochron {
namespace {

constexpr double kAnywhere = std::numeric_limits<double>::infinity();

// The value of the last sample within (after, until], or nothing; samples of an epoch's end come right behind it.
std::optional<double> last_value(const RunRecord& run, const char* key, double until, double after = -kAnywhere) {
  constexpr double kBehind = 1e-3;
  std::optional<double> last;
  for (const Sample& sample : run.samples) {
    if (sample.time > until + kBehind) break;
    if (sample.time <= after + kBehind) continue;
    if (const auto found = sample.values.find(key); found != sample.values.end()) last = found->second;
  }
  return last;
}

double end_of(const Epoch& epoch) { return epoch.start + epoch.seconds; }

void tell_by_epoch(const RunRecord& run, EpochFiles& files) {
  std::optional<double> before;
  for (const Epoch& epoch : run.epochs) {
    const auto written = last_value(run, sample_key::write_chars, end_of(epoch), epoch.start);
    if (!written) {
      files.written.clear();
      files.kept.clear();
      return;
    }
    // What was written before the first epoch is not its own.
    if (!before) before = last_value(run, sample_key::write_chars, epoch.start);
    files.written.push_back(before ? bytes_text(*written - *before) : "-");
    const auto kept = last_value(run, sample_key::output_files, end_of(epoch));
    files.kept.push_back(kept ? fmt::format("{:.0f}", *kept) : "-");
    before = written;
  }
}

}  // namespace

EpochFiles epoch_files(const RunRecord& run) {
  EpochFiles out;
  if (run.epochs.empty()) return out;
  constexpr double kLeast = 10e3;  // an epoch: lines on a terminal
  const auto all = last_value(run, sample_key::write_chars, kAnywhere);
  const auto first = last_value(run, sample_key::write_chars, end_of(run.epochs.front()));
  const auto last = last_value(run, sample_key::write_chars, end_of(run.epochs.back()));
  if (first && last && run.epochs.size() > 1) {
    const double each = (*last - *first) / static_cast<double>(run.epochs.size() - 1);
    if (each >= kLeast) out.text = fmt::format("{} an epoch, {} in all", bytes_text(each), bytes_text(*all));
  }
  const auto files = last_value(run, sample_key::output_files, kAnywhere);
  const auto bytes = last_value(run, sample_key::output_bytes, kAnywhere);
  if (files && bytes && *files > 0)
    out.text += fmt::format("{}{:.0f} file{} of {} kept", out.text.empty() ? "" : "; ", *files, *files == 1 ? "" : "s",
                            bytes_text(*bytes));
  if (!out.text.empty()) tell_by_epoch(run, out);
  return out;
}

}  // namespace isochron
