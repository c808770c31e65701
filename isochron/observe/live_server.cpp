#include "isochron/observe/live_server.h"

#include <arpa/inet.h>
#include <fmt/core.h>
#include <netinet/in.h>
#include <poll.h>
#include <sys/eventfd.h>
#include <sys/random.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>

#include "isochron/base/clock.h"
#include "isochron/base/error.h"

namespace isochron::observe {
namespace {

constexpr size_t kMaxRequest = 8192;
constexpr int64_t kPatienceNs = 2'000'000'000;

std::string random_token() {
  unsigned char bytes[16];
  if (getrandom(bytes, sizeof bytes, 0) != sizeof bytes) fail<StateError>("watch", "no random numbers for the token");
  std::string text;
  for (const unsigned char byte : bytes) text += fmt::format("{:02x}", byte);
  return text;
}

// Takes the same time wherever the texts differ.
bool same_secret(std::string_view a, std::string_view b) {
  if (a.size() != b.size()) return false;
  unsigned difference = 0;
  for (size_t i = 0; i < a.size(); ++i) difference |= static_cast<unsigned char>(a[i] ^ b[i]);
  return difference == 0;
}

std::string_view header_of(std::string_view request, std::string_view name) {
  for (size_t at = request.find("\r\n"); at != std::string_view::npos; at = request.find("\r\n", at + 2)) {
    std::string_view line = request.substr(at + 2);
    line = line.substr(0, line.find("\r\n"));
    if (line.size() > name.size() && line[name.size()] == ':' &&
        strncasecmp(line.data(), name.data(), name.size()) == 0) {
      line.remove_prefix(name.size() + 1);
      line.remove_prefix(std::min(line.find_first_not_of(' '), line.size()));
      return line;
    }
  }
  return {};
}

std::string reply(std::string_view status, std::string_view type, std::string_view body) {
  return fmt::format(
      "HTTP/1.1 {}\r\nContent-Type: {}\r\nContent-Length: {}\r\nCache-Control: no-store\r\nConnection: close\r\n"
      "X-Content-Type-Options: nosniff\r\nReferrer-Policy: no-referrer\r\nContent-Security-Policy: default-src 'none'; "
      "script-src 'unsafe-inline'; style-src 'unsafe-inline'; connect-src 'self'\r\n\r\n{}",
      status, type, body.size(), body);
}

}  // namespace

LiveServer::LiveServer(int port, std::string page, std::function<std::string()> state)
    : page_(std::move(page)), state_(std::move(state)), token_(random_token()) {
  if (port < 0 || port > 65535) fail<ValueError>("watch", "--live must be a port between 0 and 65535, got {}", port);
  listener_ = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
  const int yes = 1;
  setsockopt(listener_, SOL_SOCKET, SO_REUSEADDR, &yes, sizeof yes);
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_port = htons(static_cast<uint16_t>(port));
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  socklen_t size = sizeof address;
  if (bind(listener_, reinterpret_cast<sockaddr*>(&address), sizeof address) != 0 || listen(listener_, 8) != 0 ||
      getsockname(listener_, reinterpret_cast<sockaddr*>(&address), &size) != 0) {
    const int error = errno;
    close(listener_);
    fail<ValueError>("watch", "--live can't use port {}: {}", port, std::strerror(error));
  }
  port_ = ntohs(address.sin_port);
  wake_ = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
  thread_ = std::thread([this] { serve(); });
}

LiveServer::~LiveServer() {
  const uint64_t one = 1;
  [[maybe_unused]] const ssize_t woken = write(wake_, &one, sizeof one);
  thread_.join();
  close(listener_);
  close(wake_);
}

std::string LiveServer::address() const { return fmt::format("http://127.0.0.1:{}/?token={}", port_, token_); }

void LiveServer::serve() {
  pollfd polled[] = {{listener_, POLLIN, 0}, {wake_, POLLIN, 0}};
  while (poll(polled, 2, -1) >= 0 || errno == EINTR) {
    if (polled[1].revents) return;
    if (!polled[0].revents) continue;
    const int connection = accept4(listener_, nullptr, nullptr, SOCK_CLOEXEC);
    if (connection < 0) {
      poll(polled + 1, 1, 100);  // perhaps no descriptor is left; somebody still waits, so asking again would spin
      continue;
    }
    answer(connection);
    close(connection);
  }
}

// False when its time is over, or the server's.
bool LiveServer::ready(int connection, short events, int64_t deadline_ns) const {
  pollfd polled[] = {{connection, events, 0}, {wake_, POLLIN, 0}};
  for (int64_t left; (left = deadline_ns - monotonic_ns()) > 0;) {
    const int changed = poll(polled, 2, static_cast<int>(left / 1'000'000) + 1);
    if (changed < 0 && errno == EINTR) continue;
    return changed > 0 && !polled[1].revents;
  }
  return false;
}

void LiveServer::answer(int connection) {
  const int64_t deadline = monotonic_ns() + kPatienceNs;
  std::string request;
  char buffer[2048];
  while (request.size() < kMaxRequest && request.find("\r\n\r\n") == std::string::npos) {
    if (!ready(connection, POLLIN, deadline)) return;
    const ssize_t got = recv(connection, buffer, sizeof buffer, MSG_DONTWAIT);
    if (got <= 0) return;
    request.append(buffer, static_cast<size_t>(got));
  }
  const std::string response = response_to(request);
  for (size_t at = 0; at < response.size();) {
    if (!ready(connection, POLLOUT, deadline)) return;
    const ssize_t sent = send(connection, response.data() + at, response.size() - at, MSG_NOSIGNAL | MSG_DONTWAIT);
    if (sent <= 0) return;
    at += static_cast<size_t>(sent);
  }
}

std::string LiveServer::response_to(std::string_view request) {
  const std::string_view host = header_of(request, "Host");
  if (host != fmt::format("127.0.0.1:{}", port_) && host != fmt::format("localhost:{}", port_))
    return reply("403 Forbidden", "text/plain", "This page answers to 127.0.0.1 only.\n");
  if (!request.starts_with("GET ")) return reply("405 Method Not Allowed", "text/plain", "Only GET.\n");
  std::string_view target = request.substr(4);
  target = target.substr(0, target.find(' '));
  const size_t query = target.find('?');
  const std::string_view path = target.substr(0, query);
  std::string_view token = query == std::string_view::npos ? std::string_view{} : target.substr(query + 1);
  if (!token.starts_with("token=") || !same_secret(token.substr(6), token_))
    return reply("403 Forbidden", "text/plain", "The token is missing or wrong: use the address isochron printed.\n");
  if (path == "/") return reply("200 OK", "text/html; charset=utf-8", page_);
  if (path == "/state") return reply("200 OK", "application/json", state_());
  return reply("404 Not Found", "text/plain", "There is / and /state.\n");
}

}  // namespace isochron::observe
