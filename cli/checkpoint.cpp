// isochron checkpoint ls|verify|show PATH: what a folder of checkpoints holds, and whether it can be relied on.
#include <fmt/core.h>

#include <algorithm>
#include <filesystem>
#include <nlohmann/json.hpp>

#include "cli/command.h"
#include "isochron/base/clock.h"
#include "isochron/base/error.h"
#include "isochron/base/names.h"
#include "isochron/base/seconds_text.h"
#include "isochron/checkpoint/store.h"
#include "isochron/train/model_file.h"

namespace isochron::cli {
namespace {

using nlohmann::ordered_json;

struct {
  std::string action, path;
  bool json = false;
} options;

void add_options(Arguments& arguments) {
  arguments.value("ACTION", options.action, "ls, verify or show", true)
      .value("PATH", options.path,
             "a checkpoint, a folder of checkpoints, or (show, verify) a file of weights or a model", true)
      .flag("--json", options.json, "print JSON")
      .footer(
          "ls      the checkpoints of a folder, newest first, with those that are damaged or incomplete\n"
          "verify  reads every byte and compares checksums; exit code 1 when one does not match\n"
          "show    what one holds, of a folder the newest valid one: place of the run, metrics, tensors");
}

ordered_json info_json(const CheckpointInfo& info) {
  ordered_json logs = ordered_json::object();
  for (const auto& [name, value] : info.logs) logs[name] = value;
  return {{"path", info.path},   {"valid", true},           {"model", info.model},
          {"epoch", info.epoch}, {"step", info.step},       {"total_steps", info.total_steps},
          {"logs", logs},        {"threads", info.threads}, {"saved_at_ns", info.saved_at_ns},
          {"bytes", info.bytes}};
}

std::string place_of(const CheckpointInfo& info) {
  return info.step == 0 ? fmt::format("end of epoch {}", info.epoch)
                        : fmt::format("epoch {}, step {}", info.epoch + 1, info.step);
}

// Of weights, or of a model.
bool is_weights_file(const std::string& path) {
  return (path.ends_with(".safetensors") || names_model_file(path)) && std::filesystem::is_regular_file(path);
}

// Those of the path; FileError when there are none at all.
std::vector<ListedCheckpoint> listed() {
  std::vector<ListedCheckpoint> found = list_checkpoints(options.path);
  if (found.empty())
    fail<FileError>("checkpoint", "{}: no checkpoint there, and none in it",
                    std::filesystem::exists(options.path) ? options.path : options.path + " does not exist");
  return found;
}

int list() {
  ordered_json all = ordered_json::array();
  for (const ListedCheckpoint& entry : listed()) {
    if (options.json) {
      all.push_back(entry.info ? info_json(*entry.info)
                               : ordered_json{{"path", entry.path}, {"valid", false}, {"problem", entry.problem}});
      continue;
    }
    if (!entry.info) {
      fmt::print("{:<40}  UNUSABLE  {}\n", entry.path, entry.problem);
      continue;
    }
    std::string logs;
    for (const auto& [name, value] : entry.info->logs) logs += fmt::format("  {} {:.4g}", name, value);
    fmt::print("{:<40}  {:<22}  {:>8}{}\n", entry.path, place_of(*entry.info), bytes_text(entry.info->bytes), logs);
  }
  if (options.json) fmt::print("{}\n", all.dump(1));
  return exit_code::success;
}

int verify() {
  struct Verified {
    std::string path, problem;
    int64_t bytes = 0;
    double seconds = 0;
  };
  std::vector<Verified> results;
  const auto check = [&](const std::string& path, auto&& read) {
    Verified one{path, "", 0, 0};
    const int64_t begin = monotonic_ns();
    try {
      one.bytes = read(path);
    } catch (const FileError& error) {
      one.problem = error.what();
    }
    one.seconds = seconds_between(begin, monotonic_ns());
    results.push_back(std::move(one));
  };
  if (is_weights_file(options.path)) {
    check(options.path, [](const std::string& path) {
      int64_t bytes = 0;
      for (const auto& [name, tensor] : read_safetensors(path).tensors) bytes += tensor.spec().bytes();
      return bytes;
    });
  } else {
    for (const ListedCheckpoint& entry : listed())
      check(entry.path, [](const std::string& path) { return read_checkpoint(path).info.bytes; });
  }
  bool all_well = true;
  ordered_json out = ordered_json::array();
  for (const Verified& one : results) {
    all_well = all_well && one.problem.empty();
    if (options.json) {
      ordered_json entry{{"path", one.path}, {"valid", one.problem.empty()}, {"bytes", one.bytes}};
      if (!one.problem.empty()) entry["problem"] = one.problem;
      out.push_back(std::move(entry));
    } else if (one.problem.empty()) {
      fmt::print("valid    {}  {} in {}\n", one.path, bytes_text(one.bytes), seconds_text(one.seconds));
    } else {
      fmt::print("DAMAGED  {}\n", one.problem);
    }
  }
  if (options.json) fmt::print("{}\n", out.dump(1));
  return all_well ? exit_code::success : exit_code::found;
}

int show() {
  NamedTensors tensors;
  ordered_json out;
  if (is_weights_file(options.path)) {
    tensors = read_safetensors(options.path).tensors;
    out = {{"path", options.path}};
    if (!options.json) fmt::print("{}: weights\n", options.path);
  } else {
    std::vector<std::string> rejected;
    // One that is named is shown or refused; of a folder the newest that is valid.
    const std::optional<Checkpoint> newest =
        std::filesystem::exists(std::filesystem::path(options.path) / "manifest.json")
            ? read_checkpoint(options.path)
            : read_newest_checkpoint(options.path, &rejected);
    for (const std::string& why : rejected) fmt::print(stderr, "isochron: passed over {}\n", why);
    if (!newest) fail<FileError>("checkpoint", "{}: there is no valid checkpoint", options.path);
    tensors = newest->state.tensors();
    out = info_json(newest->info);
    if (!options.json) {
      fmt::print("{}: {} of model \"{}\" after {} steps, {}\n", newest->info.path, place_of(newest->info),
                 newest->info.model, newest->info.total_steps, bytes_text(newest->info.bytes));
      for (const auto& [name, value] : newest->info.logs) fmt::print("  {:<30} {:.6g}\n", name, value);
    }
  }
  out["tensors"] = ordered_json::array();
  for (const auto& [name, tensor] : tensors) {
    if (options.json)
      out["tensors"].push_back({{"name", name}, {"spec", to_string(tensor.spec())}, {"bytes", tensor.spec().bytes()}});
    else
      fmt::print("  {:<60} {:<24} {:>12}\n", name, to_string(tensor.spec()), tensor.spec().bytes());
  }
  if (options.json) fmt::print("{}\n", out.dump(1));
  return exit_code::success;
}

int run() {
  if (options.action == "ls") return list();
  if (options.action == "verify") return verify();
  if (options.action == "show") return show();
  fail<ValueError>("checkpoint", "unknown action \"{}\"{}", options.action,
                   did_you_mean(options.action, {"ls", "verify", "show"}));
}

const Registered registered{{"checkpoint", "list, verify or show saved states of runs", add_options, run}};

}  // namespace
}  // namespace isochron::cli
