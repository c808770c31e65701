// isochron report RUN: where each epoch's time went, as text, JSON or a page.
#include <fmt/core.h>

#include <algorithm>

#include "cli/command.h"
#include "cli/diagnosis_options.h"
#include "isochron/base/files.h"
#include "isochron/report/epoch_report.h"
#include "isochron/report/run_report.h"
#include "isochron/report/run_summary.h"

namespace isochron::cli {
namespace {

struct {
  std::vector<std::string> paths;
  std::string html;
  bool json = false;
} options;

void add_options(Arguments& arguments) {
  arguments.list("RUN", options.paths, "a run record, or any log or trace that `isochron doctor` reads", true)
      .value("--html", options.html, "write a page to this file: epochs, steps, memory, input, callbacks, verdicts")
      .flag("--json", options.json, "print figures, epochs and verdicts as JSON")
      .footer(
          "Runs of isochron write their record by `history.save_record(\"run.json\")`, foreign ones by `isochron watch "
          "--record run.json -- COMMAND`.");
}

int run() {
  const RunRecord record = main_run("report", options.paths);
  if (!options.html.empty()) write_file(options.html, run_html(record));
  if (options.json)
    fmt::print("{}\n", run_summary_json(record));
  else
    fmt::print("{}", EpochReport(record).to_string());
  return exit_code::success;
}

const Registered registered{{"report", "show where each epoch of a run spent its time", add_options, run}};

}  // namespace
}  // namespace isochron::cli
