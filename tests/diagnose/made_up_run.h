// Made-up records that hold just the evidence of one cause.
#pragma once

#include <gtest/gtest.h>

#include <functional>

#include "isochron/diagnose/diagnose.h"
#include "isochron/timeline/sample_keys.h"

namespace isochron {

inline RunRecord run_of(const std::vector<double>& seconds, const std::string& framework = "torch") {
  RunRecord run;
  run.source = "watch";
  run.framework = framework;
  double start = 0;
  for (size_t i = 0; i < seconds.size(); ++i) {
    Epoch epoch;
    epoch.index = static_cast<int>(i) + 1;
    epoch.start = start;
    epoch.seconds = seconds[i];
    start += seconds[i];
    run.epochs.push_back(epoch);
  }
  run.seconds = start;
  return run;
}

// Ten samples a second; `values` gets the time and the position of the epoch.
inline void sample(RunRecord& run, const std::function<void(Sample&, size_t)>& values) {
  for (double t = 0; t <= run.seconds + 0.05; t += 0.1) {
    size_t position = 0;
    while (position + 1 < run.epochs.size() && t >= run.epochs[position + 1].start) ++position;
    Sample now{t, {}};
    values(now, position);
    run.samples.push_back(now);
  }
}

// A counter that grows by `rate(position)` per second.
inline void count(RunRecord& run, const char* key, const std::function<double(size_t)>& rate) {
  double value = 0, last = 0;
  if (run.samples.empty()) sample(run, [](Sample&, size_t) {});
  for (Sample& now : run.samples) {
    size_t position = 0;
    while (position + 1 < run.epochs.size() && now.time > run.epochs[position + 1].start + 1e-9) ++position;
    value += (now.time - last) * rate(position);
    last = now.time;
    now.values[key] = value;
  }
}

inline void expect(const RunRecord& run, Symptom symptom, Cause cause) {
  const auto verdicts = diagnose(run);
  ASSERT_FALSE(verdicts.empty());
  EXPECT_EQ(name_of(verdicts[0].symptom), name_of(symptom));
  EXPECT_EQ(name_of(verdicts[0].cause), name_of(cause)) << verdicts[0].summary;
  double shares = 0;
  for (const Verdict& verdict : verdicts) {
    EXPECT_GE(verdict.share, 0);
    shares += verdict.share;
    EXPECT_TRUE(verdict.cause == Cause::none || verdict.cause == Cause::unknown || !verdict.evidence.empty());
    EXPECT_TRUE(verdict.symptom == Symptom::healthy || !verdict.fix.empty());
  }
  EXPECT_LE(shares, 1 + 1e-9);
}

inline void phase(RunRecord& run, size_t position, Phase which, double seconds) {
  auto& phases = run.epochs[position].phases;
  phases[static_cast<size_t>(which)] += seconds;
  phases[static_cast<size_t>(Phase::forward)] += 1e-6;
}

}  // namespace isochron
