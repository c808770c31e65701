// isochron doctor PATH…: why was this epoch slow, from what a run left behind.
#include <fmt/core.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <string>
#include <vector>

#include "cli/command.h"
#include "isochron/base/error.h"
#include "isochron/base/files.h"
#include "isochron/base/names.h"
#include "isochron/diagnose/diagnose.h"
#include "isochron/readers/read_run.h"
#include "isochron/report/diagnosis_report.h"

namespace isochron::cli {
namespace {

struct {
  std::vector<std::string> paths;
  bool json = false;
  std::string html;
  std::vector<std::string> fail_on;
} options;

void add_options(Arguments& arguments) {
  arguments
      .list(
          "PATH", options.paths,
          "console logs, traces, event files, CSV or JSON logs, run records, or folders of them; - for standard input",
          true)
      .flag("--json", options.json, "print the diagnosis as JSON")
      .value("--html", options.html, "write a page with the diagnosis to this file")
      .list("--fail-on", options.fail_on, "exit with 1 if the symptom is one of these, e.g. slowing,stuck,died")
      .footer(
          "Several inputs of one run are read together: `isochron doctor train.log trace.json.gz tb/`.\n"
          "Symptoms: healthy slow-first slowing slower-later uneven slow-overall stuck died.\n"
          "Exit codes: 0 diagnosed, 1 a symptom of --fail-on, 2 nothing to read, 3 a defect in isochron.");
}

TextStyle terminal_style() {
  TextStyle style;
  const char* no_colour = std::getenv("NO_COLOR");
  style.colour = isatty(STDOUT_FILENO) && !(no_colour && *no_colour);
  winsize size{};
  if (ioctl(STDOUT_FILENO, TIOCGWINSZ, &size) == 0 && size.ws_col > 0)
    style.width = std::clamp<int>(size.ws_col, 60, 120);
  for (const char* name : {"LC_ALL", "LC_CTYPE", "LANG"})
    if (const char* value = std::getenv(name); value && *value) {
      const std::string locale = value;
      style.unicode = locale.find("UTF-8") != std::string::npos || locale.find("utf8") != std::string::npos;
      break;
    }
  return style;
}

std::vector<Symptom> symptoms_to_fail_on() {
  std::vector<Symptom> symptoms;
  for (const std::string& name : options.fail_on) {
    const auto symptom = symptom_from_name(name);
    if (!symptom) {
      std::vector<std::string_view> known;
      for (int i = 0; i < kSymptomCount; ++i) known.push_back(name_of(static_cast<Symptom>(i)));
      fail<ValueError>("doctor", "--fail-on knows no symptom \"{}\"{}", name, did_you_mean(name, known));
    }
    symptoms.push_back(*symptom);
  }
  return symptoms;
}

struct Diagnosed {
  RunRecord run;
  std::vector<Verdict> verdicts;
};

// Of several runs in the input the one with most to say comes first: trouble before health, more time before less.
bool matters_more(const Diagnosed& a, const Diagnosed& b) {
  const bool a_ill = a.verdicts.front().symptom != Symptom::healthy,
             b_ill = b.verdicts.front().symptom != Symptom::healthy;
  if (a_ill != b_ill) return a_ill;
  return a.run.seconds > b.run.seconds;
}

int run() {
  const std::vector<Symptom> failing = symptoms_to_fail_on();
  Reading reading = read_run(options.paths);
  if (reading.files.empty()) {
    std::string reasons;
    for (const std::string& reason : reading.skipped) reasons += "\n  " + reason;
    fail<FileError>("doctor", "nothing to read: no log, trace, event file or run record there{}", reasons);
  }
  std::vector<Diagnosed> all;
  for (RunRecord& record : reading.runs) {
    std::vector<Verdict> verdicts = diagnose(record);
    all.push_back({std::move(record), std::move(verdicts)});
  }
  std::stable_sort(all.begin(), all.end(), matters_more);
  const Diagnosed& main = all.front();
  for (const InputFile& file : reading.files)
    if (!file.problem.empty()) fmt::print(stderr, "isochron: {} (read up to there)\n", file.problem);
  if (options.json) {
    fmt::print("{}\n", diagnosis_json(main.run, main.verdicts));
  } else {
    fmt::print("{}", diagnosis_text(main.run, main.verdicts, terminal_style()));
    for (size_t i = 1; i < all.size(); ++i)
      fmt::print("\nAnother run in this input ({} epochs): {}.\n", all[i].run.epochs.size(),
                 all[i].verdicts.front().summary);
  }
  if (!options.html.empty()) write_file(options.html, diagnosis_html(main.run, main.verdicts));
  const bool found = std::find(failing.begin(), failing.end(), main.verdicts.front().symptom) != failing.end();
  return found ? exit_code::found : exit_code::success;
}

const Registered registered{{"doctor", "explain from logs and traces why epochs were slow", add_options, run}};

}  // namespace
}  // namespace isochron::cli
