// `isochron watch`: observes a live foreign training run without changing it.
#include <fmt/core.h>

#include <cstdlib>

#include "cli/command.h"
#include "isochron/base/error.h"
#include "isochron/base/files.h"
#include "isochron/observe/watch_session.h"

namespace isochron::cli {
namespace {

struct {
  std::vector<std::string> command;
  std::string stall = "60s";
  std::string record;
  int pid = 0;
} options;

// "90", "90s", "2m", "1h"
double duration_of(const std::string& text) {
  char* end = nullptr;
  const double value = std::strtod(text.c_str(), &end);
  const std::string unit = end;
  const double scale = unit.empty() || unit == "s" ? 1 : unit == "m" || unit == "min" ? 60 : unit == "h" ? 3600 : 0;
  if (end == text.c_str() || scale == 0 || !(value > 0))
    fail<ValueError>("watch", "--stall must be a time such as 60s, 2m or 1h, got \"{}\"", text);
  return value * scale;
}

void add_options(Arguments& arguments) {
  arguments.value("--stall", options.stall, "look why nothing comes after this long a silence")
      .value("--record", options.record, "write the whole run record (samples, spans, facts) as JSON")
      .value("--pid", options.pid, "watch a running process instead of starting a command")
      .rest("COMMAND", options.command, "the command to run, after --")
      .footer("Example: isochron watch -- python train.py\nThe command's exit status is passed on.");
}

int run() {
  if (options.pid == 0 && options.command.empty())
    fail<ValueError>("watch", "give a command after --, as in `isochron watch -- python train.py`, or --pid N");
  observe::WatchSession session(
      {.command = options.command, .pid = options.pid, .stall_seconds = duration_of(options.stall)});
  const int status = session.run();
  if (!options.record.empty()) write_file(options.record, session.record().to_json());
  return status;
}

const Registered registered{{"watch", "run a training command and observe it live", add_options, run}};

}  // namespace
}  // namespace isochron::cli
