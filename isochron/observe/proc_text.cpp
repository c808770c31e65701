#include "isochron/observe/proc_text.h"

#include <fcntl.h>
#include <unistd.h>

#include <charconv>

namespace isochron::observe {
namespace {

std::string_view next_word(std::string_view& text) {
  const size_t begin = text.find_first_not_of(" \t\n");
  if (begin == std::string_view::npos) return text = {};
  text.remove_prefix(begin);
  const size_t end = std::min(text.find_first_of(" \t\n"), text.size());
  const std::string_view word = text.substr(0, end);
  text.remove_prefix(end);
  return word;
}

template <class Number>
std::optional<Number> number(std::string_view word) {
  Number value{};
  const auto [end, error] = std::from_chars(word.data(), word.data() + word.size(), value);
  if (error != std::errc() || end == word.data()) return std::nullopt;
  return value;
}

int64_t next_number(std::string_view& text) { return number<int64_t>(next_word(text)).value_or(0); }

// The rest of the line that begins with `key`.
std::optional<std::string_view> line_after(std::string_view text, std::string_view key) {
  for (size_t at = text.find(key); at != std::string_view::npos; at = text.find(key, at + 1)) {
    if (at != 0 && text[at - 1] != '\n') continue;
    std::string_view rest = text.substr(at + key.size());
    return rest.substr(0, rest.find('\n'));
  }
  return std::nullopt;
}

}  // namespace

std::string read_small_file(const std::string& path, size_t limit) {
  std::string text;
  const int fd = open(path.c_str(), O_RDONLY | O_CLOEXEC);
  if (fd < 0) return text;
  char buffer[8192];
  ssize_t got;
  while (text.size() < limit && (got = read(fd, buffer, sizeof buffer)) > 0) text.append(buffer, got);
  close(fd);
  return text;
}

ProcFile::ProcFile(const std::string& path) : fd_(open(path.c_str(), O_RDONLY | O_CLOEXEC)) {}

ProcFile::~ProcFile() {
  if (fd_ >= 0) close(fd_);
}

std::string_view ProcFile::read() const {
  thread_local char buffer[8192];
  const ssize_t got = fd_ < 0 ? -1 : pread(fd_, buffer, sizeof buffer, 0);
  return {buffer, got > 0 ? static_cast<size_t>(got) : 0};
}

std::optional<ProcessStat> parse_process_stat(std::string_view text) {
  // The name is in brackets and may itself contain brackets, so the last one closes it.
  const size_t open = text.find('('), close = text.rfind(')');
  if (open == std::string_view::npos || close == std::string_view::npos || close < open) return std::nullopt;
  ProcessStat stat;
  stat.pid = number<int>(text.substr(0, open)).value_or(0);
  stat.name = text.substr(open + 1, close - open - 1);
  std::string_view rest = text.substr(close + 1);
  const std::string_view state = next_word(rest);
  if (state.empty() || stat.pid == 0) return std::nullopt;
  stat.state = state[0];
  int64_t field[22] = {};  // field[i] is the i-th after the state; see proc(5)
  for (int64_t& value : field) value = next_number(rest);
  stat.parent = static_cast<int>(field[0]);
  stat.group = static_cast<int>(field[1]);
  stat.minor_faults = field[6];
  stat.major_faults = field[8];
  stat.user_ticks = field[10];
  stat.system_ticks = field[11];
  stat.threads = static_cast<int>(field[16]);
  stat.start_ticks = field[18];
  stat.rss_pages = field[20];
  return stat;
}

std::optional<int64_t> value_after(std::string_view text, std::string_view key) {
  auto line = line_after(text, key);
  return line ? number<int64_t>(next_word(*line)) : std::nullopt;
}

std::optional<MachineTicks> parse_machine_ticks(std::string_view text) {
  auto line = line_after(text, "cpu ");
  if (!line) return std::nullopt;
  int64_t ticks[8] = {};  // user nice system idle iowait irq softirq steal
  for (int64_t& value : ticks) value = next_number(*line);
  MachineTicks out{.idle = ticks[3], .iowait = ticks[4], .steal = ticks[7]};
  out.busy = ticks[0] + ticks[1] + ticks[2] + ticks[5] + ticks[6];
  return out;
}

std::optional<double> parse_pressure_total(std::string_view text, std::string_view line) {
  const auto rest = line_after(text, line);
  if (!rest) return std::nullopt;
  const size_t at = rest->find("total=");
  if (at == std::string_view::npos) return std::nullopt;
  const auto microseconds = number<int64_t>(rest->substr(at + 6));
  if (!microseconds) return std::nullopt;
  return static_cast<double>(*microseconds) * 1e-6;
}

std::optional<double> parse_cpu_mhz(std::string_view text) {
  double sum = 0;
  int count = 0;
  for (size_t at = text.find("cpu MHz"); at != std::string_view::npos; at = text.find("cpu MHz", at + 1)) {
    std::string_view line = text.substr(at, text.find('\n', at) - at);
    line.remove_prefix(std::min(line.find(':') + 1, line.size()));
    if (const auto mhz = number<double>(next_word(line))) sum += *mhz, ++count;
  }
  if (count == 0) return std::nullopt;
  return sum / count;
}

std::optional<std::string> parse_cgroup_path(std::string_view text, std::string_view controller) {
  while (!text.empty()) {
    const std::string_view line = text.substr(0, text.find('\n'));
    text.remove_prefix(std::min(line.size() + 1, text.size()));
    const size_t first = line.find(':'), second = line.find(':', first + 1);
    if (first == std::string_view::npos || second == std::string_view::npos) continue;
    std::string_view list = line.substr(first + 1, second - first - 1);
    if (controller.empty() && list.empty()) return std::string(line.substr(second + 1));
    while (!controller.empty() && !list.empty()) {
      const std::string_view name = list.substr(0, list.find(','));
      if (name == controller) return std::string(line.substr(second + 1));
      list.remove_prefix(std::min(name.size() + 1, list.size()));
    }
  }
  return std::nullopt;
}

std::vector<std::string> split_command_line(std::string_view text) {
  std::vector<std::string> words;
  while (!text.empty()) {
    const std::string_view word = text.substr(0, text.find('\0'));
    words.emplace_back(word);
    text.remove_prefix(std::min(word.size() + 1, text.size()));
  }
  return words;
}

}  // namespace isochron::observe
