// isochron compare A B: what changed between two runs.
#include <fmt/core.h>

#include <cmath>

#include "cli/command.h"
#include "cli/diagnosis_options.h"
#include "isochron/base/error.h"
#include "isochron/report/run_comparison.h"

namespace isochron::cli {
namespace {

struct {
  std::string before, after;
  double fail_above = -1;
  bool json = false, all = false;
} options;

void add_options(Arguments& arguments) {
  arguments.value("BEFORE", options.before, "a run record, log or trace; - for standard input", true)
      .value("AFTER", options.after, "another one", true)
      .value("--fail-above", options.fail_above,
             "exit with 1 if epochs, steps or memory grew by more than this many percent (negative: never)")
      .flag("--all", options.all, "show also what did not change")
      .flag("--json", options.json, "print the comparison as JSON")
      .footer(
          "Judged by --fail-above: first epoch, median of the later epochs, median step, highest memory.\n"
          "Exit codes: 0 compared, 1 more growth than --fail-above, 2 a run that can't be read.");
}

int run() {
  if (!std::isfinite(options.fail_above))  // would guard against nothing
    fail<ValueError>("compare", "--fail-above must be a number of percent, got {}", options.fail_above);
  if (options.before == "-" && options.after == "-")
    fail<ValueError>(
        "compare", "standard input holds one run; name a file for the other, or in bash `isochron compare <(…) <(…)`");
  const RunRecord before = main_run("compare", {options.before}), after = main_run("compare", {options.after});
  const RunComparison comparison(before, after);
  fmt::print("{}", options.json ? comparison.to_json() + "\n" : comparison.to_string(options.all));
  if (options.fail_above >= 0 && !comparison.judges())
    fail<FileError>("compare", "--fail-above: {} and {} have neither epochs, steps nor memory in common to judge",
                    options.before, options.after);
  const bool grew = options.fail_above >= 0 && comparison.worst() * 100 > options.fail_above;
  return grew ? exit_code::found : exit_code::success;
}

const Registered registered{{"compare", "tell what changed between two runs", add_options, run}};

}  // namespace
}  // namespace isochron::cli
