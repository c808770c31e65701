#include "isochron/observe/live_server.h"

#include <arpa/inet.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <unistd.h>

#include <chrono>
#include <nlohmann/json.hpp>
#include <thread>

#include "isochron/base/error.h"
#include "isochron/observe/live_page.h"

namespace isochron::observe {
namespace {

using testing::HasSubstr;
using testing::Not;
using testing::StartsWith;

int connected(int port) {
  const int fd = socket(AF_INET, SOCK_STREAM, 0);
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_port = htons(static_cast<uint16_t>(port));
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  EXPECT_EQ(connect(fd, reinterpret_cast<sockaddr*>(&address), sizeof address), 0);
  return fd;
}

std::string ask(int port, const std::string& request) {
  const int fd = connected(port);
  EXPECT_EQ(send(fd, request.data(), request.size(), 0), static_cast<ssize_t>(request.size()));
  std::string response;
  char buffer[4096];
  for (ssize_t got; (got = recv(fd, buffer, sizeof buffer, 0)) > 0;) response.append(buffer, static_cast<size_t>(got));
  close(fd);
  return response;
}

class LiveServerTest : public testing::Test {
 protected:
  LiveServer server{0, "<p>page</p>", [] { return std::string("{\"x\":1}"); }};
  std::string query = server.address().substr(server.address().find('?'));
  std::string host = "Host: 127.0.0.1:" + std::to_string(server.port()) + "\r\n\r\n";
};

TEST_F(LiveServerTest, ServesPageAndStateToWhoHasTheToken) {
  EXPECT_THAT(ask(server.port(), "GET /" + query + " HTTP/1.1\r\n" + host), HasSubstr("<p>page</p>"));
  EXPECT_THAT(ask(server.port(), "GET /state" + query + " HTTP/1.1\r\n" + host), HasSubstr("{\"x\":1}"));
}

TEST_F(LiveServerTest, RefusesEveryoneElse) {
  EXPECT_THAT(ask(server.port(), "GET / HTTP/1.1\r\n" + host), StartsWith("HTTP/1.1 403"));
  EXPECT_THAT(ask(server.port(), "GET /state?token=0 HTTP/1.1\r\n" + host), StartsWith("HTTP/1.1 403"));
  EXPECT_THAT(ask(server.port(), "GET /" + query + " HTTP/1.1\r\nHost: evil.example\r\n\r\n"),
              StartsWith("HTTP/1.1 403"));
  EXPECT_THAT(ask(server.port(), "POST /" + query + " HTTP/1.1\r\n" + host), StartsWith("HTTP/1.1 405"));
  EXPECT_THAT(ask(server.port(), "GET /../etc/passwd" + query + " HTTP/1.1\r\n" + host), StartsWith("HTTP/1.1 404"));
  EXPECT_THAT(ask(server.port(), std::string(20000, 'x') + "\r\n\r\n"), StartsWith("HTTP/1.1 403"));
}

// A byte a second, for as long as the server listens: without an end of its patience, three hours.
TEST_F(LiveServerTest, WhoIsSlowIsHungUpOn) {
  const int fd = connected(server.port());
  int sent = 0;
  while (send(fd, "x", 1, MSG_NOSIGNAL) == 1) {
    ASSERT_LT(++sent, 60);
    std::this_thread::sleep_for(std::chrono::milliseconds(500));
  }
  close(fd);
  EXPECT_THAT(ask(server.port(), "GET /" + query + " HTTP/1.1\r\n" + host), HasSubstr("<p>page</p>"));
}

TEST_F(LiveServerTest, ATakenPortIsAnError) {
  EXPECT_THROW(LiveServer(server.port(), "", [] { return std::string(); }), ValueError);
  EXPECT_THROW(LiveServer(70000, "", [] { return std::string(); }), ValueError);
}

TEST(LivePage, LoadsNothingFromElsewhere) {
  EXPECT_THAT(live_page(), Not(HasSubstr("src=")));
  EXPECT_THAT(live_page(), Not(HasSubstr("https://")));
}

TEST(LivePage, StateHasEpochsPhasesAndRates) {
  RunRecord run;
  run.seconds = 3;
  run.epochs.push_back({.index = 1, .start = 1, .seconds = 2});
  run.epochs[0].phases[static_cast<size_t>(Phase::input)] = 1.5;
  for (int i = 0; i <= 3; ++i) run.samples.push_back({static_cast<double>(i), {{"cpu_seconds", 2.0 * i}}});
  const auto state = nlohmann::json::parse(live_state(run, "python train.py", "forward", "healthy \xff", {}));
  EXPECT_EQ(state["epochs"][0]["phases"]["input"], 1.5);
  EXPECT_EQ(state["curves"][0]["points"].size(), 3u);
  EXPECT_EQ(state["curves"][0]["points"][2][1], 2.0);
}

}  // namespace
}  // namespace isochron::observe
