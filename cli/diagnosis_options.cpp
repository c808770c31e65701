#include "cli/diagnosis_options.h"

#include <fmt/core.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>

#include "isochron/base/error.h"
#include "isochron/base/joined.h"
#include "isochron/base/names.h"
#include "isochron/base/terminal.h"
#include "isochron/base/try_print.h"
#include "isochron/diagnose/diagnose.h"

namespace isochron::cli {

TextStyle style_for(int fd) {
  TextStyle style;
  const char* no_colour = std::getenv("NO_COLOR");
  style.colour = is_full_terminal(fd) && !(no_colour && *no_colour);
  winsize size{};
  if (ioctl(fd, TIOCGWINSZ, &size) == 0 && size.ws_col > 0) style.width = std::clamp<int>(size.ws_col, 32, 120);
  for (const char* name : {"LC_ALL", "LC_CTYPE", "LANG"})
    if (const char* value = std::getenv(name); value && *value) {
      const std::string locale = value;
      style.unicode = locale.find("UTF-8") != std::string::npos || locale.find("utf8") != std::string::npos;
      break;
    }
  return style;
}

std::vector<Symptom> symptoms_from(const std::vector<std::string>& names, const char* command) {
  std::vector<Symptom> symptoms;
  for (const std::string& name : names) {
    const auto symptom = symptom_from_name(name);
    if (!symptom) {
      std::vector<std::string_view> known;
      for (int i = 0; i < kSymptomCount; ++i) known.push_back(name_of(static_cast<Symptom>(i)));
      fail<ValueError>(command, "--fail-on knows no symptom \"{}\"{}", name, did_you_mean(name, known));
    }
    symptoms.push_back(*symptom);
  }
  return symptoms;
}

std::vector<Diagnosed> diagnose_all(std::vector<RunRecord> runs) {
  std::vector<Diagnosed> all;
  for (RunRecord& run : runs) {
    std::vector<Verdict> verdicts = diagnose(run);
    all.push_back({std::move(run), std::move(verdicts)});
  }
  std::stable_sort(all.begin(), all.end(), [](const Diagnosed& a, const Diagnosed& b) {
    const bool a_ill = a.verdicts.front().symptom != Symptom::healthy,
               b_ill = b.verdicts.front().symptom != Symptom::healthy;
    if (a_ill != b_ill) return a_ill;
    return a.run.seconds > b.run.seconds;
  });
  return all;
}

Reading read_or_fail(const char* command, const std::vector<std::string>& paths) {
  Reading reading = read_run(paths);
  if (reading.files.empty()) {
    std::string reasons;
    for (const std::string& reason : reading.skipped) reasons += "\n  " + reason;
    fail<FileError>(command, "nothing to read: no log, trace, event file or run record there{}", reasons);
  }
  for (const ReadInput& file : reading.files)
    if (!file.problem.empty()) try_print(stderr, "isochron: {} (read up to there)\n", file.problem);
  return reading;
}

RunRecord main_run(const char* command, const std::vector<std::string>& paths) {
  RunRecord run = std::move(diagnose_all(read_or_fail(command, paths).runs).front().run);
  if (run.epochs.empty() && run.steps.empty() && run.spans.empty() && run.samples.empty() && run.facts.empty())
    fail<FileError>(command, "{}: there is nothing of a training run in it", joined(paths));
  return run;
}

}  // namespace isochron::cli
