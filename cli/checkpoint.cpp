// isochron checkpoint ls|verify|show PATH: what a folder of checkpoints holds, and whether it can be relied on.
#include <fmt/core.h>

#include <algorithm>
#include <filesystem>

#include "cli/command.h"
#include "isochron/base/clock.h"
#include "isochron/base/error.h"
#include "isochron/base/json.h"
#include "isochron/base/names.h"
#include "isochron/base/seconds_text.h"
#include "isochron/base/temporary_name.h"
#include "isochron/base/try_print.h"
#include "isochron/checkpoint/store.h"
#include "isochron/checkpoint/weights_file.h"
#include "isochron/train/model_file.h"

namespace isochron::cli {
namespace {

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
          "verify  reads every byte and compares checksums\n"
          "show    what one holds, of a folder the newest valid one: place of the run, metrics, tensors\n"
          "Exit code 1 when one that ls or verify looked at is of no use; what a process that lives is just writing\n"
          "does not count.");
}

Json info_json(const CheckpointInfo& info) {
  Json logs = Json::object();
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
  std::error_code failed;
  return (names_weights_file(path) || names_model_file(path)) && std::filesystem::is_regular_file(path, failed);
}

NamedTensors weights_in(const std::string& path) {
  return names_model_file(path) ? read_safetensors(path).tensors : read_weights_file(path);
}

bool being_written(const ListedCheckpoint& entry) {
  const auto name = parse_temporary_name(std::filesystem::path(entry.path).filename().string());
  return name && name->alive.value_or(false);
}

// Those of the path; FileError when there are none at all.
std::vector<ListedCheckpoint> listed() {
  std::vector<ListedCheckpoint> found = list_checkpoints(options.path);
  const bool writing = std::erase_if(found, being_written) > 0;
  if (!found.empty()) return found;
  std::error_code failed;
  const std::filesystem::file_status what = std::filesystem::status(options.path, failed);
  fail<FileError>("checkpoint", "{}: {}", options.path,
                  writing                               ? "the first checkpoint is being written, none is complete yet"
                  : std::filesystem::is_directory(what) ? "no checkpoint, and there is none in it"
                  : std::filesystem::exists(what)
                      ? "no checkpoint, which is a folder, and no file of weights (.safetensors, .npz, .weights.h5) or "
                        "model (.iso)"
                      : failed.message());
}

int list() {
  Json all = Json::array();
  bool all_well = true;
  for (const ListedCheckpoint& entry : listed()) {
    all_well = all_well && entry.info;
    if (options.json) {
      all.push_back(entry.info ? info_json(*entry.info)
                               : Json{{"path", entry.path}, {"valid", false}, {"problem", entry.problem}});
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
  if (options.json) fmt::print("{}\n", json_text(all, 1));
  return all_well ? exit_code::success : exit_code::found;
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
    } catch (const Error& error) {
      one.problem = error.what();
    }
    one.seconds = seconds_between(begin, monotonic_ns());
    results.push_back(std::move(one));
  };
  if (is_weights_file(options.path)) {
    check(options.path, [](const std::string& path) {
      int64_t bytes = 0;
      for (const auto& [name, tensor] : weights_in(path)) bytes += tensor.spec().bytes();
      return bytes;
    });
  } else {
    for (const ListedCheckpoint& entry : listed())
      check(entry.path, [](const std::string& path) { return read_checkpoint(path).info.bytes; });
  }
  bool all_well = true;
  Json out = Json::array();
  for (const Verified& one : results) {
    all_well = all_well && one.problem.empty();
    if (options.json) {
      Json entry{{"path", one.path}, {"valid", one.problem.empty()}, {"bytes", one.bytes}};
      if (!one.problem.empty()) entry["problem"] = one.problem;
      out.push_back(std::move(entry));
    } else if (one.problem.empty()) {
      fmt::print("valid    {}  {} in {}\n", one.path, bytes_text(one.bytes), seconds_text(one.seconds));
    } else {
      fmt::print("DAMAGED  {}\n", one.problem);
    }
  }
  if (options.json) fmt::print("{}\n", json_text(out, 1));
  return all_well ? exit_code::success : exit_code::found;
}

// The one that is named, or the newest that is valid of a folder.
Checkpoint chosen() {
  const std::vector<ListedCheckpoint> found = listed();
  if (found.size() == 1) return read_checkpoint(found[0].path);
  for (const ListedCheckpoint& entry : found) {
    try {
      return read_checkpoint(entry.path);
    } catch (const Error& error) {
      try_print(stderr, "isochron: passed over {}\n", error.what());
    }
  }
  fail<FileError>("checkpoint", "{}: there is no valid checkpoint among {}", options.path, found.size());
}

int show() {
  NamedTensors tensors;
  Json out;
  if (is_weights_file(options.path)) {
    tensors = weights_in(options.path);
    out = {{"path", options.path}};
    if (!options.json) fmt::print("{}: weights\n", options.path);
  } else {
    const Checkpoint checkpoint = chosen();
    const CheckpointInfo& info = checkpoint.info;
    tensors = checkpoint.state.tensors();
    out = info_json(info);
    if (!options.json) {
      fmt::print("{}: {} of model \"{}\" after {} steps, {}\n", info.path, place_of(info), info.model, info.total_steps,
                 bytes_text(info.bytes));
      for (const auto& [name, value] : info.logs) fmt::print("  {:<30} {:.6g}\n", name, value);
    }
  }
  out["tensors"] = Json::array();
  for (const auto& [name, tensor] : tensors) {
    if (options.json)
      out["tensors"].push_back({{"name", name}, {"spec", to_string(tensor.spec())}, {"bytes", tensor.spec().bytes()}});
    else
      fmt::print("  {:<60} {:<24} {:>12}\n", name, to_string(tensor.spec()), tensor.spec().bytes());
  }
  if (options.json) fmt::print("{}\n", json_text(out, 1));
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
