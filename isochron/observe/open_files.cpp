#include "isochron/observe/open_files.h"

#include <arpa/inet.h>
#include <fcntl.h>
#include <fmt/core.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cstdio>
#include <optional>
#include <sstream>

#include "isochron/observe/proc_text.h"
#include "isochron/observe/process_tree.h"

namespace isochron::observe {
namespace {

constexpr size_t kMaxDescriptors = 512;

std::string link_of(const std::string& path) {
  char buffer[4096];
  const ssize_t got = readlink(path.c_str(), buffer, sizeof buffer);
  return got > 0 ? std::string(buffer, static_cast<size_t>(got)) : "";
}

void add_detail(int pid, OpenFile& file) {
  const std::string info = read_small_file(fmt::format("/proc/{}/fdinfo/{}", pid, file.fd), 1024);
  unsigned flags = 0;
  if (const size_t at = info.find("flags:"); at != std::string::npos) std::sscanf(info.c_str() + at + 6, "%o", &flags);
  file.writable = (flags & O_ACCMODE) != O_RDONLY;
  file.appended = (flags & O_APPEND) != 0;
  file.position = static_cast<double>(value_after(info, "pos:").value_or(0));
  struct stat status {};
  if (stat(fmt::format("/proc/{}/fd/{}", pid, file.fd).c_str(), &status) != 0) return;
  if (S_ISREG(status.st_mode)) file.size = static_cast<double>(status.st_size);
  file.named_pipe = S_ISFIFO(status.st_mode) && file.target.starts_with('/');
}

struct TcpSocket {
  std::string local, remote, state, inode;
};

// "0100007F:1F90" -> "127.0.0.1:8080"; the words are in the machine's byte order.
std::string address_text(const std::string& text) {
  const size_t colon = text.find(':');
  unsigned port = 0;
  if (colon == std::string::npos || std::sscanf(text.c_str() + colon + 1, "%x", &port) != 1) return text;
  uint32_t words[4] = {};
  char out[64] = "";
  for (size_t i = 0; i * 8 < colon && i < 4; ++i) std::sscanf(text.c_str() + i * 8, "%8x", &words[i]);
  inet_ntop(colon == 8 ? AF_INET : AF_INET6, words, out, sizeof out);
  return fmt::format("{}:{}", out, port);
}

std::string state_text(const std::string& code) {
  if (code == "01") return "established";
  if (code == "02") return "connecting";
  if (code == "08") return "closed by the other side";
  if (code == "0A") return "listening";
  return "closing";
}

std::vector<TcpSocket> tcp_sockets(int pid) {
  std::vector<TcpSocket> out;
  for (const char* table : {"tcp", "tcp6"}) {
    std::istringstream lines(read_small_file(fmt::format("/proc/{}/net/{}", pid, table), 4 << 20));
    std::string line;
    std::getline(lines, line);
    while (std::getline(lines, line)) {
      std::istringstream words(line);
      std::string word[10];
      for (std::string& w : word) words >> w;
      out.push_back({address_text(word[1]), address_text(word[2]), state_text(word[3]), word[9]});
    }
  }
  return out;
}

std::string inode_of(const std::string& target) {
  const size_t open = target.find('['), close = target.find(']');
  return open == std::string::npos || close == std::string::npos ? "" : target.substr(open + 1, close - open - 1);
}

std::optional<TcpSocket> tcp_socket(const std::vector<TcpSocket>& all, const std::string& target) {
  const std::string inode = inode_of(target);
  for (const TcpSocket& socket : all)
    if (socket.inode == inode) return socket;
  return std::nullopt;
}

}  // namespace

std::vector<OpenFile> open_files(int pid, bool detail) {
  std::vector<OpenFile> out;
  for (const int fd : list_numeric_entries(fmt::format("/proc/{}/fd", pid))) {
    if (out.size() >= kMaxDescriptors) break;
    OpenFile file{.fd = fd, .target = link_of(fmt::format("/proc/{}/fd/{}", pid, fd))};
    if (detail && file.regular()) add_detail(pid, file);
    out.push_back(std::move(file));
  }
  return out;
}

OpenFile open_file(int pid, int fd) {
  OpenFile file{.fd = fd, .target = link_of(fmt::format("/proc/{}/fd/{}", pid, fd))};
  if (!file.target.empty()) add_detail(pid, file);
  return file;
}

std::string describe_socket(int pid, const std::string& target) {
  const auto socket = tcp_socket(tcp_sockets(pid), target);
  if (!socket) return "unix or other socket";
  return fmt::format("tcp {} -> {}, {}", socket->local, socket->remote, socket->state);
}

std::string socket_peer_inode(int pid, const std::string& target) {
  const auto all = tcp_sockets(pid);
  const auto socket = tcp_socket(all, target);
  if (!socket) return "";
  for (const TcpSocket& other : all)
    if (other.local == socket->remote && other.remote == socket->local) return other.inode;
  return "";
}

}  // namespace isochron::observe
