#include "isochron/report/diagnosis_report.h"

namespace isochron {

std::string diagnosis_html(const RunRecord& run, const std::vector<Verdict>& verdicts) {
  return "<pre>" + diagnosis_text(run, verdicts) + "</pre>";
}

}  // namespace isochron
