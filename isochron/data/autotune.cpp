#include "isochron/data/autotune.h"

#include <filesystem>
#include <sstream>

#include "isochron/base/cache_folder.h"
#include "isochron/base/error.h"
#include "isochron/base/files.h"
#include "isochron/base/threads.h"

namespace isochron::data {
namespace {

std::string file_for(const std::string& fingerprint) {
  const std::string folder = cache_folder();
  if (folder.empty()) return {};
  return fmt::format("{}/autotune/{}-{}-2", folder, hashed(fingerprint), available_cpus());
}

}  // namespace

Tunings load_tunings(const std::string& fingerprint) {
  Tunings tunings;
  const std::string path = file_for(fingerprint);
  std::error_code ignored;
  if (path.empty() || !std::filesystem::exists(path, ignored)) return tunings;
  try {
    std::istringstream lines(read_file(path, 1 << 16));
    Tuning t;
    std::string name;
    while (lines >> t.threads >> t.window >> t.part_ns && lines.get() && std::getline(lines, name))
      if (t.threads > 0 && t.threads <= 1024 && t.window > 0 && t.part_ns >= 0) tunings[name] = t;
  } catch (const FileError&) {
  }
  return tunings;
}

void store_tunings(const std::string& fingerprint, const Tunings& tunings) {
  const std::string path = file_for(fingerprint);
  if (path.empty() || tunings.empty()) return;
  std::string text;
  for (const auto& [name, t] : tunings) text += fmt::format("{} {} {} {}\n", t.threads, t.window, t.part_ns, name);
  write_kept(path, text);
}

}  // namespace isochron::data
