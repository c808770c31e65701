#include "isochron/readers/read_run.h"

#include <algorithm>
#include <filesystem>
#include <set>

#include "isochron/base/error.h"
#include "isochron/readers/byte_source.h"
#include "isochron/readers/console_reader.h"
#include "isochron/readers/kineto.h"
#include "isochron/readers/merge_runs.h"
#include "isochron/readers/scan.h"
#include "isochron/readers/table_log.h"
#include "isochron/readers/tfevents.h"
#include "isochron/readers/wrapped_log.h"
#include "isochron/readers/xplane.h"

namespace isochron {
namespace {

namespace fs = std::filesystem;

constexpr size_t kMostFiles = 10000;
constexpr size_t kLargestWhole = size_t{256} << 20;  // of inputs that must be parsed whole

enum class FileKind {
  unknown,
  console,
  kineto,
  xplane,
  tfevents,
  csv,
  json_lines,
  wrapped,
  notebook,
  trainer_state,
  record
};

bool is_text(std::string_view start) {
  if (start.starts_with("\xFF\xFE") || start.starts_with("\xFE\xFF")) return true;
  constexpr size_t kLooked = 65536, kHole = 8;
  const std::string_view head = start.substr(0, kLooked);
  size_t odd = 0, holes = 0;
  for (size_t i = 0; i < head.size();) {
    // A crash may leave a hole of zeros in a log, or nothing else behind it.
    const size_t zeros = std::min(head.find_first_not_of('\0', i), head.size()) - i;
    if (zeros >= kHole) {
      if (i < kHole) return false;
      holes += zeros;
      i += zeros;
      continue;
    }
    if (static_cast<unsigned char>(head[i]) < 9 && head[i] != '\b') ++odd;
    ++i;
  }
  return odd * 50 <= head.size() - holes;
}

FileKind recognise(std::string_view start) {
  if (looks_like_tfevents(start)) return FileKind::tfevents;
  if (looks_like_xplane(start)) return FileKind::xplane;
  if (!is_text(start)) return FileKind::unknown;
  const std::string_view text = start.substr(0, 65536);
  const size_t first = text.find_first_not_of(" \t\r\n\xEF\xBB\xBF");
  if (first != std::string_view::npos && (text[first] == '{' || text[first] == '[')) {
    const auto has = [&](std::string_view key) { return start.find(key) != std::string_view::npos; };
    if (has("\"traceEvents\"") || (text[first] == '[' && has("\"ph\":"))) return FileKind::kineto;
    if (has("\"schemaVersion\"") && has("\"deviceProperties\"")) return FileKind::kineto;
    if (has("\"nbformat\"") || (has("\"cells\"") && has("\"cell_type\""))) return FileKind::notebook;
    if (has("\"log_history\"")) return FileKind::trainer_state;
    if (text.substr(first).starts_with("{'")) return FileKind::console;  // a printed Python dictionary
    if (text.substr(first, 200).find("\"schema\"") != std::string_view::npos && has("\"epochs\""))
      return FileKind::record;
    if (looks_like_json_lines(text.substr(first))) return FileKind::json_lines;
    if (looks_like_wrapped_log(text.substr(first))) return FileKind::wrapped;
    // Other JSON begins with a bracket too, and so do many log lines.
    if (text[first] == '{' || (text.substr(first, 2) == "[[") || (text.substr(first, 2) == "[{") ||
        (text.substr(first, 2) == "[\n"))
      return FileKind::unknown;
  }
  if (looks_like_csv(text)) return FileKind::csv;
  return FileKind::console;
}

// In folders, sources and documents are left alone: they quote logs.
bool is_document(const fs::path& path) {
  static const std::set<std::string> kEndings = {".py",   ".sh",  ".md",  ".rst",  ".c",   ".cc",   ".cpp", ".h",
                                                 ".hpp",  ".js",  ".css", ".html", ".tex", ".toml", ".cfg", ".ini",
                                                 ".yaml", ".yml", ".xml", ".svg",  ".ts",  ".cu"};
  return kEndings.contains(path.extension().string());
}

std::string read_whole(ByteSource& source) {
  std::string text;
  for (std::string_view piece = source.next(); !piece.empty(); piece = source.next()) {
    if (text.size() + piece.size() > kLargestWhole)
      fail<FileError>("read", "{}: larger than {} MB", source.path(), kLargestWhole >> 20);
    text += piece;
  }
  return text;
}

template <class Reader>
void feed_all(Reader& reader, ByteSource& source) {
  for (std::string_view piece = source.next(); !piece.empty(); piece = source.next()) reader.feed(piece);
}

bool tells_something(const RunRecord& run) {
  return !run.epochs.empty() || !run.steps.empty() || run.open_epoch || !run.facts.empty();
}

void keep(std::vector<RunRecord>& to, std::vector<RunRecord> runs) {
  for (RunRecord& run : runs)
    if (tells_something(run)) to.push_back(std::move(run));
}

std::string read_as(FileKind kind, ByteSource& source, const std::string& name, const fs::path& folder, Gathered& out) {
  switch (kind) {
    case FileKind::console: {
      ConsoleReader reader(name);
      feed_all(reader, source);
      keep(out.logs, reader.finish());
      return "console";
    }
    case FileKind::wrapped: {
      WrappedLogReader reader(name);
      feed_all(reader, source);
      keep(out.logs, reader.finish());
      return "wrapped";
    }
    case FileKind::notebook: {
      ConsoleReader reader(name);
      reader.feed(notebook_output(read_whole(source)));
      keep(out.logs, reader.finish());
      return "notebook";
    }
    case FileKind::csv:
    case FileKind::json_lines: {
      TableLogReader reader(kind == FileKind::csv ? TableLogReader::Form::csv : TableLogReader::Form::json_lines, name);
      feed_all(reader, source);
      keep(out.tables, reader.finish());
      return kind == FileKind::csv ? "csv" : "jsonl";
    }
    case FileKind::trainer_state: {
      TableLogReader reader(TableLogReader::Form::json_lines, name);
      reader.feed(trainer_history(read_whole(source)));
      keep(out.tables, reader.finish());
      return "jsonl";
    }
    case FileKind::tfevents: {
      TfEventsReader reader(out.events, folder.filename().string());
      feed_all(reader, source);
      return "tfevents";
    }
    case FileKind::kineto: {
      KinetoReader reader(name);
      feed_all(reader, source);
      if (auto profile = reader.finish()) out.profiles.push_back(std::move(*profile));
      if (reader.from_torch()) out.profile_framework = "torch";
      return "kineto";
    }
    case FileKind::xplane: {
      XPlaneReader reader(name);
      feed_all(reader, source);
      if (auto profile = reader.finish()) out.profiles.push_back(std::move(*profile));
      if (out.profile_framework.empty()) out.profile_framework = "tensorflow";
      return "xplane";
    }
    case FileKind::record: {
      out.records.push_back(RunRecord::from_json(read_whole(source)));
      return "record";
    }
    case FileKind::unknown:
      break;
  }
  return "";
}

void read_file_into(const std::string& path, bool named, Reading& reading, Gathered& out) {
  ByteSource source(path);
  const std::string_view start = source.peek();
  const FileKind kind = recognise(start);
  if (start.empty() || kind == FileKind::unknown) {
    reading.skipped.push_back(path + (start.empty() ? ": empty" : ": not a log, trace or record known here"));
    return;
  }
  if (!named && kind == FileKind::console && is_document(path)) return;
  const std::string name = fs::path(path).filename().string();
  try {
    const size_t before = out.logs.size(), profiles = out.profiles.size();
    const std::string told = read_as(kind, source, path == "-" ? "stdin" : name, fs::path(path).parent_path(), out);
    if (kind == FileKind::console && out.logs.size() == before && !named) return;
    if (kind == FileKind::kineto && out.profiles.size() == profiles && source.problem().empty()) {
      reading.skipped.push_back(path + ": a trace without events: its recording ended before the first step");
      return;
    }
    reading.files.push_back({path, told, source.problem()});
  } catch (const FileError& e) {
    reading.skipped.push_back(path + ": " + e.what());
  }
}

void list_files(const std::string& path, std::vector<std::string>& files) {
  std::error_code error;
  fs::recursive_directory_iterator walk(path, fs::directory_options::skip_permission_denied, error);
  for (; !error && walk != fs::recursive_directory_iterator() && files.size() < kMostFiles; walk.increment(error)) {
    const std::string name = walk->path().filename().string();
    if (walk->is_directory(error) && (name == "__pycache__" || name == ".git" || name == "node_modules"))
      walk.disable_recursion_pending();
    // Regular files only: a pipe or device would never end. Nor do some files of /proc, which say that they are empty.
    if (walk->is_regular_file(error) && walk->file_size(error) > 0) files.push_back(walk->path().string());
  }
  std::sort(files.begin(), files.end());
}

}  // namespace

Reading read_run(const std::vector<std::string>& paths) {
  Reading reading;
  Gathered gathered;
  std::set<std::string> seen;
  for (const std::string& path : paths) {
    std::error_code error;
    if (path != "-" && !fs::exists(path, error)) fail<FileError>("read", "{}: no such file or folder", path);
    if (path == "-" || !fs::is_directory(path, error)) {
      read_file_into(path, true, reading, gathered);
      continue;
    }
    std::vector<std::string> files;
    list_files(path, files);
    for (const std::string& file : files) {
      const std::string real = fs::weakly_canonical(file, error).string();
      if (!seen.insert(real).second) continue;
      try {
        read_file_into(file, false, reading, gathered);
      } catch (const FileError& e) {
        reading.skipped.push_back(file + ": " + e.what());
      }
    }
  }
  reading.runs = merge_runs(std::move(gathered));
  return reading;
}

}  // namespace isochron
