// A page about a running command, for a browser on this machine only.
//
//   LiveServer server(8800, page_html, [&] { return state_json(); });
//   fmt::print("{}\n", server.address());        // http://127.0.0.1:8800/?token=3f…
//
// Bound to the loopback address; every request must carry the token that stands in the address, and
// must be addressed to this host by name (a page elsewhere can't reach it through its own name). Serves
// GET / and GET /state, nothing else. One thread, one request at a time, each within two seconds: who is slow is hung
// up on, so that nobody can keep others, or the end of the program, waiting.
//
// Written by hand rather than with cpp-httplib, because that library pulls OpenSSL and Brotli into every
// start of the program: 3 ms, as measured, for two kinds of requests.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <string_view>
#include <thread>

namespace isochron::observe {

class LiveServer {
 public:
  // Port 0 takes any free one. Throws ValueError when the port can't be had. `state` is called from the
  // server's thread.
  LiveServer(int port, std::string page, std::function<std::string()> state);
  ~LiveServer();
  LiveServer(const LiveServer&) = delete;
  LiveServer& operator=(const LiveServer&) = delete;

  int port() const { return port_; }
  std::string address() const;

 private:
  void serve();
  void answer(int connection);
  bool ready(int connection, short events, int64_t deadline_ns) const;
  std::string response_to(std::string_view request);

  std::string page_;
  std::function<std::string()> state_;
  std::string token_;
  int listener_ = -1;
  int wake_ = -1;
  int port_ = 0;
  std::thread thread_;
};

}  // namespace isochron::observe
