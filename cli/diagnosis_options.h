// What `doctor` and `watch` share: the look of a diagnosis on a terminal, and --fail-on.
#pragma once

#include <string>
#include <vector>

#include "isochron/diagnose/verdict.h"
#include "isochron/readers/read_run.h"
#include "isochron/report/diagnosis_report.h"

namespace isochron::cli {

// Colours, width and characters that suit what `fd` leads to; honours NO_COLOR and the locale.
TextStyle style_for(int fd);

// The symptoms named by --fail-on; ValueError for one there is not.
std::vector<Symptom> symptoms_from(const std::vector<std::string>& names, const char* command);

struct Diagnosed {
  RunRecord run;
  std::vector<Verdict> verdicts;
};
// The runs diagnosed, the one with most to say first: trouble before health, more time before less.
std::vector<Diagnosed> diagnose_all(std::vector<RunRecord> runs);

// FileError when there is nothing to read; damage is told on standard error.
Reading read_or_fail(const char* command, const std::vector<std::string>& paths);
// The run behind these files, the most telling one where there are several. FileError where none of it is a run.
RunRecord main_run(const char* command, const std::vector<std::string>& paths);

}  // namespace isochron::cli
