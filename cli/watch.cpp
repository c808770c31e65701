// `isochron watch`: observes a live foreign training run without changing it.
#include <fmt/core.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <memory>

#include "cli/command.h"
#include "cli/diagnosis_options.h"
#include "isochron/base/error.h"
#include "isochron/base/files.h"
#include "isochron/base/try_print.h"
#include "isochron/diagnose/diagnose.h"
#include "isochron/observe/live_page.h"
#include "isochron/observe/live_server.h"
#include "isochron/observe/watch_session.h"
#include "isochron/report/diagnosis_report.h"

namespace isochron::cli {
namespace {

struct {
  std::vector<std::string> command;
  std::string stall = "60s";
  std::string report, json, record;
  std::vector<std::string> fail_on;
  int live = -1;
  int pid = 0;
  bool quiet = false;
} options;

// "90", "90s", "2m", "1h"
double duration_of(const std::string& text) {
  char* end = nullptr;
  const double value = std::strtod(text.c_str(), &end);
  const std::string unit = end;
  const double scale = unit.empty() || unit == "s" ? 1 : unit == "m" || unit == "min" ? 60 : unit == "h" ? 3600 : 0;
  if (end == text.c_str() || scale == 0 || !(value > 0) || value > 1e9)
    fail<ValueError>("watch", "--stall must be a time such as 60s, 2m or 1h, got \"{}\"", text);
  return value * scale;
}

void add_options(Arguments& arguments) {
  arguments.value("--stall", options.stall, "look why nothing comes after this long a silence")
      .value("--report", options.report, "write the diagnosis as an HTML page")
      .value("--json", options.json, "write the diagnosis as JSON (also when it stalls, so that it survives a kill)")
      .value("--record", options.record, "write the whole run record as JSON: samples, spans, facts")
      .value("--live", options.live, "show a page with the run as it goes, on this port of 127.0.0.1 (0: any)")
      .list("--fail-on", options.fail_on,
            "exit with 1 if the symptom is one of these, e.g. slowing,died; `stuck` also ends a stuck command")
      .value("--pid", options.pid, "watch a running process instead of starting a command")
      .flag("--quiet", options.quiet, "print no diagnosis at the end")
      .rest("COMMAND", options.command, "the command to run, after --")
      .footer(
          "Example: isochron watch --report run.html -- python train.py --epochs 5\n"
          "The command runs as it would alone; its exit status is passed on. The diagnosis goes to stderr.");
}

std::string command_text() {
  if (options.pid) return fmt::format("process {}", options.pid);
  std::string text;
  for (const std::string& word : options.command) text += (text.empty() ? "" : " ") + word;
  return text;
}

// Why a file could not be written, for each of those. The run is worth more than its reports: nothing is thrown.
std::vector<std::string> write_reports(const Diagnosed& found) {
  std::vector<std::string> problems;
  const auto write = [&](const std::string& path, auto&& text) {
    if (path.empty()) return;
    try {
      write_file(path, text());
    } catch (const Error& error) {
      problems.push_back(fmt::format("isochron: {}\n", error.what()));
    }
  };
  write(options.json, [&] { return diagnosis_json(found.run, found.verdicts) + "\n"; });
  write(options.report, [&] { return diagnosis_html(found.run, found.verdicts); });
  write(options.record, [&] { return found.run.to_json() + "\n"; });
  return problems;
}

std::string state_of(const observe::WatchSession& session) {
  const RunRecord run = session.record();
  const std::vector<Verdict> verdicts = diagnose(run);
  const observe::Activity doing = session.now_doing();
  std::string now = doing.what.empty() ? std::string(name_of(doing.phase)) : doing.what;
  if (!doing.user.empty()) now += ", " + doing.user;
  if (const auto stall = session.stall())
    return observe::live_state(run, command_text(), now, stall->summary, stall->evidence);
  return observe::live_state(run, command_text(), now, verdicts.front().summary, verdicts.front().evidence);
}

int run() {
  if ((options.pid == 0) == options.command.empty())
    fail<ValueError>("watch", "give either a command after --, as in `isochron watch -- python train.py`, or --pid N");
  const std::vector<Symptom> failing = symptoms_from(options.fail_on, "watch");
  observe::WatchOptions watch{
      .command = options.command, .pid = options.pid, .stall_seconds = duration_of(options.stall)};
  for (const std::string& file : {options.json, options.report, options.record})
    if (!file.empty()) {
      check_writable(file);
      watch.own_files.push_back(std::filesystem::absolute(file).string());
    }
  watch.end_when_stuck = std::find(failing.begin(), failing.end(), Symptom::stuck) != failing.end();
  observe::WatchSession session(watch);
  session.on_stall = [&] {
    const RunRecord record = session.record();
    for (const std::string& problem : write_reports({record, diagnose(record)})) session.note(problem);
  };
  std::unique_ptr<observe::LiveServer> live;
  if (options.live >= 0) {
    live = std::make_unique<observe::LiveServer>(options.live, observe::live_page(), [&] { return state_of(session); });
    try_print(stderr, "isochron: watching at {}\n", live->address());
  }
  const int status = session.run();
  live.reset();
  const std::vector<Diagnosed> all = diagnose_all(session.records());
  const std::vector<std::string> problems = write_reports(all.front());
  if (!options.quiet)
    try_print(stderr, "\n{}", diagnosis_text(all.front().run, all.front().verdicts, style_for(STDERR_FILENO)));
  for (const std::string& problem : problems) try_print(stderr, "{}", problem);
  const bool found = std::find(failing.begin(), failing.end(), all.front().verdicts.front().symptom) != failing.end();
  if (status != 0) return status;
  return !problems.empty() ? exit_code::usage : found ? exit_code::found : exit_code::success;
}

const Registered registered{{"watch", "run a training command and explain where its time goes", add_options, run}};

}  // namespace
}  // namespace isochron::cli
