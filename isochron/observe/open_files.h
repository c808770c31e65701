// What the descriptors of a process lead to: files with their positions, pipes, sockets with their peers.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace isochron::observe {

struct OpenFile {
  int fd = -1;
  std::string target;  // path, "pipe:[123]", "socket:[456]", "anon_inode:[eventpoll]", …
  bool writable = false;
  bool appended = false;    // opened to add to its end
  bool named_pipe = false;  // a path, but what is read there somebody else must write
  double position = 0;      // of regular files
  double size = 0;
  bool regular() const { return !target.empty() && target[0] == '/' && !target.starts_with("/dev/") && !named_pipe; }
};

// All descriptors of a process (bounded); `detail` adds position, size and access mode of regular files.
std::vector<OpenFile> open_files(int pid, bool detail);
// One descriptor, with detail; target is empty when it is not open.
OpenFile open_file(int pid, int fd);

// "tcp 127.0.0.1:5000 -> 127.0.0.1:41822, established", or "unix socket"; from the socket's inode.
std::string describe_socket(int pid, const std::string& target);

// Where the other end of a TCP socket is: the inode of that socket if it is on this machine, else empty.
std::string socket_peer_inode(int pid, const std::string& target);

}  // namespace isochron::observe
