// A diagnosis for people and for programs: one screen of text, one JSON object, one HTML page.
//
//   std::vector<Verdict> verdicts = diagnose(run);
//   fmt::print("{}", diagnosis_text(run, verdicts, {.colour = isatty(1)}));
#pragma once

#include <string>
#include <vector>

#include "isochron/diagnose/verdict.h"
#include "isochron/timeline/run_record.h"

namespace isochron {

struct TextStyle {
  bool colour = false;
  bool unicode = true;
  int width = 100;
};

// The answer first, then the epochs as bars, the causes with their evidence, and what to do.
std::string diagnosis_text(const RunRecord& run, const std::vector<Verdict>& verdicts, const TextStyle& style = {});

// {"schema":1,"framework":…,"symptom":…,"epochs":[{"index":1,"seconds":…}],"verdicts":[{"cause":…,"share":…,…}]}
std::string diagnosis_json(const RunRecord& run, const std::vector<Verdict>& verdicts);

// A page of its own: no scripts from elsewhere, no images, readable without a network.
std::string diagnosis_html(const RunRecord& run, const std::vector<Verdict>& verdicts);

}  // namespace isochron
