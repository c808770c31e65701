#include <cmath>

#include "isochron/base/json.h"
#include "isochron/report/diagnosis_report.h"

namespace isochron {

namespace {

// Three digits behind the point of a second are enough to read, six to compute with.
double rounded(double value) { return std::round(value * 1e6) / 1e6; }

}  // namespace

std::string diagnosis_json(const RunRecord& run, const std::vector<Verdict>& verdicts) {
  Json out{{"schema", 1},
           {"framework", run.framework},
           {"symptom", name_of(verdicts.front().symptom)},
           {"epochs", Json::array()},
           {"verdicts", Json::array()}};
  for (const Epoch& epoch : run.epochs) {
    Json row{{"index", epoch.index}, {"seconds", rounded(epoch.seconds)}};
    if (epoch.steps) row["steps"] = *epoch.steps;
    if (epoch.validation_seconds) row["validation_seconds"] = rounded(*epoch.validation_seconds);
    if (epoch.resolution > 0) row["resolution"] = rounded(epoch.resolution);
    out["epochs"].push_back(std::move(row));
  }
  for (const Verdict& verdict : verdicts)
    out["verdicts"].push_back({{"cause", name_of(verdict.cause)},
                               {"share", rounded(verdict.share)},
                               {"confidence", rounded(verdict.confidence)},
                               {"summary", verdict.summary},
                               {"evidence", verdict.evidence},
                               {"fix", verdict.fix}});
  return json_text(out, 1);
}

}  // namespace isochron
