#include "isochron/base/temporary_name.h"

#include <fmt/format.h>
#include <unistd.h>

#include <atomic>
#include <filesystem>
#include <vector>

#include "isochron/base/crc32c.h"
#include "isochron/base/run_folder.h"

namespace isochron {
namespace {

std::string host_mark() {
  char name[256] = {};
  gethostname(name, sizeof name - 1);
  return fmt::format("{:04x}", crc32c(name) & 0xFFFF);
}

}  // namespace

std::string temporary_name(const std::string& path, const char* end) {
  static std::atomic<uint64_t> count{0};
  const std::filesystem::path target(path);
  const int process = getpid();
  return (target.parent_path() / fmt::format(".{}.{}.{}-{}.{}.{}", target.filename().string(), host_mark(), process,
                                             process_start(process), count.fetch_add(1), end))
      .string();
}

std::optional<TemporaryName> parse_temporary_name(const std::string& name) {
  if (!name.starts_with('.') || (!name.ends_with(".tmp") && !name.ends_with(".old"))) return std::nullopt;
  std::string rest = name.substr(1, name.size() - 5);
  std::vector<std::string> parts;  // count, process, host
  for (int i = 0; i < 3; ++i) {
    const size_t dot = rest.rfind('.');
    if (dot == std::string::npos) return std::nullopt;
    parts.push_back(rest.substr(dot + 1));
    rest.resize(dot);
  }
  const size_t dash = parts[1].find('-');
  const std::string number = parts[1].substr(0, dash);
  if (rest.empty() || parts[2].size() != 4 || number.empty() || number.size() > 9 || dash == std::string::npos ||
      parts[1].find_first_not_of("0123456789-") != std::string::npos)
    return std::nullopt;
  TemporaryName out{rest, std::nullopt};
  if (parts[2] != host_mark()) return out;
  const std::string start = process_start(std::stoi(number));
  out.alive = !start.empty() && start == parts[1].substr(dash + 1);
  return out;
}

}  // namespace isochron
