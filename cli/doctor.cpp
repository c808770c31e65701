// isochron doctor PATH…: why was this epoch slow, from what a run left behind.
#include <fmt/core.h>
#include <unistd.h>

#include <algorithm>
#include <string>
#include <vector>

#include "cli/command.h"
#include "cli/diagnosis_options.h"
#include "isochron/base/files.h"
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

int run() {
  const std::vector<Symptom> failing = symptoms_from(options.fail_on, "doctor");
  Reading reading = read_or_fail("doctor", options.paths);
  const std::vector<Diagnosed> all = diagnose_all(std::move(reading.runs));
  const Diagnosed& main = all.front();
  if (options.json) {
    fmt::print("{}\n", diagnosis_json(main.run, main.verdicts));
  } else {
    fmt::print("{}", diagnosis_text(main.run, main.verdicts, style_for(STDOUT_FILENO)));
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
