// isochron clean: temporary files that runs left behind.
#include <fmt/core.h>

#include <string>
#include <vector>

#include "cli/command.h"
#include "isochron/base/escape.h"
#include "isochron/base/run_folder.h"
#include "isochron/base/seconds_text.h"

namespace isochron::cli {
namespace {

struct {
  bool yes = false, dry_run = false;
  bool json = false;
} options;

void add_options(Arguments& arguments) {
  arguments.flag("--yes", options.yes, "remove them; without it they are only shown")
      .flag("--dry-run", options.dry_run, "only show them, whatever else is said")
      .flag("--json", options.json, "print JSON")
      .footer(
          "Temporary files lie in a folder for each run, under ISOCHRON_TMPDIR, or TMPDIR, or /tmp. Folders of runs\n"
          "that live are shown and never touched; symbolic links are never followed.");
}

std::string age_text(int64_t seconds) {
  if (seconds >= 2 * 86400) return fmt::format("{} days", seconds / 86400);
  if (seconds >= 2 * 3600) return fmt::format("{} hours", seconds / 3600);
  return fmt::format("{} min", seconds / 60);
}

void print_json(const std::vector<RunFolderInfo>& folders) {
  std::string list;
  for (const RunFolderInfo& folder : folders)
    list += fmt::format(
        R"({}{{"path":{},"pid":{},"alive":{},"command":{},"files":{},"bytes":{},"age_seconds":{},"removed":{}}})",
        list.empty() ? "" : ",", json_quoted(folder.path), folder.pid, folder.alive, json_quoted(folder.command),
        folder.files, folder.bytes, folder.age_seconds, options.yes && !folder.alive);
  fmt::print("{{\"root\":{},\"removes\":{},\"folders\":[{}]}}\n", json_quoted(run_folders_root()), options.yes, list);
}

void print_table(const std::vector<RunFolderInfo>& folders) {
  int64_t bytes = 0;
  size_t dead = 0;
  for (const RunFolderInfo& folder : folders) {
    const char* what = folder.alive ? "in use" : options.yes ? "removed" : "left behind";
    fmt::print("{:<12}{:>9}{:>7} {:<5}{:>10}  {}  (process {}: {})\n", what, bytes_text(folder.bytes), folder.files,
               folder.files == 1 ? "file" : "files", age_text(folder.age_seconds), folder.path, folder.pid,
               folder.command.empty() ? "unknown" : folder.command);
    if (folder.alive) continue;
    bytes += folder.bytes;
    ++dead;
  }
  if (dead == 0)
    fmt::print("Nothing is left behind in {}.\n", run_folders_root());
  else if (options.yes)
    fmt::print("Removed {} of {} run{}.\n", bytes_text(bytes), dead, dead == 1 ? "" : "s");
  else
    fmt::print("{} of {} run{} would be removed; `isochron clean --yes` does it.\n", bytes_text(bytes), dead,
               dead == 1 ? "" : "s");
}

int run() {
  if (options.dry_run) options.yes = false;
  std::vector<RunFolderInfo> folders = list_run_folders();
  if (options.yes) {
    std::erase_if(folders, [](const RunFolderInfo& folder) { return !folder.alive; });
    for (RunFolderInfo& removed : remove_dead_run_folders()) folders.push_back(std::move(removed));
  }
  options.json ? print_json(folders) : print_table(folders);
  return exit_code::success;
}

const Registered registered{{"clean", "show or remove temporary files that runs left behind", add_options, run}};

}  // namespace
}  // namespace isochron::cli
