#include "isochron/observe/waiting.h"

#include <fcntl.h>
#include <fmt/core.h>
#include <poll.h>
#include <sys/select.h>
#include <sys/stat.h>
#include <sys/syscall.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>

#include "isochron/observe/proc_text.h"
#include "isochron/observe/process_memory.h"

namespace isochron::observe {
namespace {

enum class Call { none, descriptor, poll, select, epoll, open, futex, child, sleep, file_lock, record_lock };

Call call_of(long number) {
  switch (number) {
    case SYS_read:
    case SYS_readv:
    case SYS_pread64:
    case SYS_write:
    case SYS_writev:
    case SYS_pwrite64:
    case SYS_recvfrom:
    case SYS_recvmsg:
    case SYS_sendto:
    case SYS_sendmsg:
    case SYS_connect:
    case SYS_accept:
    case SYS_accept4:
    case SYS_fsync:
    case SYS_fdatasync:
    case SYS_ftruncate:
    case SYS_fallocate:
      return Call::descriptor;
    case SYS_ppoll:
#ifdef SYS_poll
    case SYS_poll:
#endif
      return Call::poll;
    case SYS_pselect6:
#ifdef SYS_select
    case SYS_select:
#endif
      return Call::select;
    case SYS_openat:
#ifdef SYS_open
    case SYS_open:
#endif
      return Call::open;
    case SYS_epoll_pwait:
#ifdef SYS_epoll_wait
    case SYS_epoll_wait:
#endif
      return Call::epoll;
    case SYS_futex:
      return Call::futex;
    case SYS_wait4:
    case SYS_waitid:
      return Call::child;
    case SYS_nanosleep:
    case SYS_clock_nanosleep:
      return Call::sleep;
    case SYS_flock:
      return Call::file_lock;
    case SYS_fcntl:
      return Call::record_lock;
    default:
      return Call::none;
  }
}

void set_target(int pid, int fd, Waiting& out) {
  const OpenFile file = open_file(pid, fd);
  out.target = file.target;
  if (file.target.starts_with("pipe:") || file.named_pipe) {
    out.kind = WaitKind::pipe;
    out.on = file.target;
  } else if (file.target.starts_with("socket:")) {
    out.kind = WaitKind::socket;
    out.on = describe_socket(pid, file.target);
  } else if (file.regular()) {
    out.kind = WaitKind::file;
    out.on = file.target;
    if (file.size > 0) out.on += fmt::format(" ({:.0f} % read)", 100 * std::min(1.0, file.position / file.size));
  } else {
    out.on = file.target;
  }
}

// The first descriptor that is a pipe or a socket decides.
void set_first_target(int pid, const std::vector<int>& fds, Waiting& out) {
  for (const int fd : fds) {
    set_target(pid, fd, out);
    if (out.kind == WaitKind::pipe || out.kind == WaitKind::socket) return;
  }
}

std::vector<int> polled(int pid, unsigned long long address, unsigned long long count) {
  std::vector<pollfd> entries(std::min<unsigned long long>(count, 32));
  std::vector<int> fds;
  if (!entries.empty() && ProcessMemory(pid).read(address, entries.data(), entries.size() * sizeof(pollfd)))
    for (const pollfd& entry : entries)
      if (entry.fd >= 0) fds.push_back(entry.fd);
  return fds;
}

// Descriptors of a set of select(), given by its address.
std::vector<int> selected(int pid, unsigned long long count, unsigned long long address) {
  std::vector<uint8_t> bits(std::min<unsigned long long>(count, FD_SETSIZE) / 8 + 1);
  std::vector<int> fds;
  if (address != 0 && ProcessMemory(pid).read(address, bits.data(), bits.size()))
    for (size_t fd = 0; fd < 8 * bits.size() && fd < count; ++fd)
      if (bits[fd / 8] >> (fd % 8) & 1) fds.push_back(static_cast<int>(fd));
  return fds;
}

// Opening waits where a named pipe has nobody at its other end, or where a file system does not answer.
void set_opened(int pid, unsigned long long address, Waiting& out) {
  char path[256] = {};
  if (!ProcessMemory(pid).read(address, path, sizeof path - 1)) return;
  out.target = out.on = path;
  struct stat status {};
  const std::string seen_by_it = fmt::format("/proc/{}/{}/{}", pid, path[0] == '/' ? "root" : "cwd", path);
  const bool pipe = stat(seen_by_it.c_str(), &status) == 0 && S_ISFIFO(status.st_mode);
  out.kind = pipe ? WaitKind::pipe : WaitKind::file;
  if (pipe) out.on += ", which nobody has open at its other end";
}

std::vector<int> epoll_members(int pid, int fd) {
  const std::string info = read_small_file(fmt::format("/proc/{}/fdinfo/{}", pid, fd), 4096);
  std::vector<int> fds;
  for (size_t at = info.find("tfd:"); at != std::string::npos && fds.size() < 32; at = info.find("tfd:", at + 1))
    fds.push_back(std::atoi(info.c_str() + at + 4));
  return fds;
}

}  // namespace

std::string_view name_of(WaitKind kind) {
  switch (kind) {
    case WaitKind::running:
      return "nothing: it runs";
    case WaitKind::lock:
      return "a lock";
    case WaitKind::pipe:
      return "a pipe";
    case WaitKind::socket:
      return "a socket";
    case WaitKind::file:
      return "a file";
    case WaitKind::file_lock:
      return "the lock of a file";
    case WaitKind::child:
      return "a child process";
    case WaitKind::sleep:
      return "a timer";
    case WaitKind::disk:
      return "the disk";
    case WaitKind::stopped:
      return "being continued (it is stopped)";
    case WaitKind::unknown:
      return "something unknown";
  }
  return "";
}

std::optional<SystemCall> parse_system_call(std::string_view text) {
  SystemCall call;
  auto& a = call.arguments;
  if (std::sscanf(std::string(text).c_str(), "%ld %llx %llx %llx %llx %llx %llx", &call.number, &a[0], &a[1], &a[2],
                  &a[3], &a[4], &a[5]) != 7 ||
      call.number < 0)
    return std::nullopt;
  return call;
}

std::optional<OpenFile> written_now(int pid, int tid) {
  const auto call = parse_system_call(read_small_file(fmt::format("/proc/{}/task/{}/syscall", pid, tid), 256));
  if (!call) return std::nullopt;
  switch (call->number) {
    case SYS_write:
    case SYS_writev:
    case SYS_pwrite64:
    case SYS_fsync:
    case SYS_fdatasync:
    case SYS_sync_file_range:
    case SYS_ftruncate:
      break;
    default:
      return std::nullopt;
  }
  OpenFile file = open_file(pid, static_cast<int>(call->arguments[0]));
  return file.regular() ? std::optional(std::move(file)) : std::nullopt;
}

Waiting waiting_of(int pid, int tid) {
  Waiting out;
  const std::string folder = fmt::format("/proc/{}/task/{}", pid, tid);
  if (const auto stat = parse_process_stat(read_small_file(folder + "/stat", 1024))) out.state = stat->state;
  out.channel = read_small_file(folder + "/wchan", 128);
  if (out.channel == "0") out.channel.clear();
  if (out.state == 'R') {
    out.kind = WaitKind::running;
    return out;
  }
  if (out.state == 'T' || out.state == 't') {
    out.kind = WaitKind::stopped;
    return out;
  }
  if (const auto call = parse_system_call(read_small_file(folder + "/syscall", 256))) {
    const int fd = static_cast<int>(call->arguments[0]);
    switch (call_of(call->number)) {
      case Call::descriptor:
        set_target(pid, fd, out);
        break;
      case Call::poll:
        set_first_target(pid, polled(pid, call->arguments[0], call->arguments[1]), out);
        break;
      case Call::select:
        set_first_target(pid, selected(pid, call->arguments[0], call->arguments[1]), out);
        break;
      case Call::open:
        set_opened(pid, call->arguments[call->number == SYS_openat ? 1 : 0], out);
        break;
      case Call::epoll:
        set_first_target(pid, epoll_members(pid, fd), out);
        break;
      case Call::futex:
        out.kind = WaitKind::lock;
        break;
      case Call::child:
        out.kind = WaitKind::child;
        break;
      case Call::sleep:
        out.kind = WaitKind::sleep;
        break;
      case Call::file_lock:
      case Call::record_lock:
        out.kind = WaitKind::file_lock;
        out.target = out.on = open_file(pid, fd).target;
        break;
      case Call::none:
        break;
    }
  }
  if (out.state == 'D' && out.kind != WaitKind::file) out.kind = WaitKind::disk;
  return out;
}

}  // namespace isochron::observe
