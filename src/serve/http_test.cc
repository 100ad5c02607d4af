#include "serve/http.h"

#include <arpa/inet.h>
#include <gtest/gtest.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <unistd.h>
#include <zlib.h>

#include <array>
#include <atomic>
#include <cerrno>
#include <chrono>
#include <future>
#include <random>
#include <stop_token>
#include <thread>
#include <vector>

#include "base/strings.h"

namespace sonde::serve {
namespace {

using base::Concat;

class HttpTest : public ::testing::Test {
 protected:
  void Start(const HttpOptions& options) {
    auto listening =
        HttpServer::Listen(options, [](const HttpRequest& request) { return Echo(request); });
    ASSERT_TRUE(listening.ok()) << listening.status().message();
    server_ = std::move(*listening);
    thread_ = std::jthread([this] { server_->Run(); });
  }
  void TearDown() override {
    if (server_ != nullptr) server_->Stop();
  }

  static Result<HttpAnswer> Echo(const HttpRequest& request) {
    if (request.path == "/fail") return base::NotFoundError("not here");
    if (request.path == "/number") {
      SONDE_ASSIGN_OR_RETURN(const int64_t value, request.Int("n"));
      return HttpAnswer{.body = std::to_string(value)};
    }
    if (request.path == "/long") return HttpAnswer{.type = request.Text("type"), .body = Long()};
    return HttpAnswer{.body = Concat(request.method, " ", request.path, " ", request.Text("a"), " ",
                                     request.body)};
  }

  static std::string Long() {
    std::string text;
    for (int i = 0; i < 20'000; ++i) text += Concat("[", std::to_string(i * 7919), ",\"name\"],");
    return text;
  }

  int Connect() const {
    const int descriptor = ::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    sockaddr_in address = {};
    address.sin_family = AF_INET;
    address.sin_port = htons(static_cast<uint16_t>(server_->port()));
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    EXPECT_EQ(::connect(descriptor, reinterpret_cast<sockaddr*>(&address), sizeof(address)), 0);
    const timeval limit = {.tv_sec = 20, .tv_usec = 0};
    ::setsockopt(descriptor, SOL_SOCKET, SO_RCVTIMEO, &limit, sizeof(limit));
    return descriptor;
  }

  // The whole answer to a request that is sent as it is; the server closes.
  std::string Raw(const std::string& text) const {
    const int descriptor = Connect();
    EXPECT_EQ(::send(descriptor, text.data(), text.size(), MSG_NOSIGNAL),
              static_cast<ssize_t>(text.size()));
    std::string answer;
    char piece[4096];
    for (ssize_t n = 0; (n = ::recv(descriptor, piece, sizeof(piece), 0)) > 0;) {
      answer.append(piece, static_cast<size_t>(n));
    }
    ::close(descriptor);
    return answer;
  }

  std::string Get(const std::string& target, const std::string& headers = "") const {
    return Raw(Concat("GET ", target,
                      " HTTP/1.1\r\nHost: 127.0.0.1:", std::to_string(server_->port()),
                      "\r\nConnection: close\r\n", headers, "\r\n"));
  }

  std::unique_ptr<HttpServer> server_;
  std::jthread thread_;
};

int StatusOf(const std::string& answer) {
  return answer.size() > 12 ? std::stoi(answer.substr(9, 3)) : 0;
}

TEST_F(HttpTest, HandsRequestsOver) {
  Start({});
  const std::string answer = Get("/x?a=b%20c&d=1");
  EXPECT_EQ(StatusOf(answer), 200) << answer;
  EXPECT_TRUE(answer.ends_with("GET /x b c ")) << answer;
  EXPECT_NE(answer.find("X-Content-Type-Options: nosniff"), std::string::npos);
}

TEST_F(HttpTest, FailuresHaveAStatusAndALine) {
  Start({});
  const std::string answer = Get("/fail");
  EXPECT_EQ(StatusOf(answer), 404);
  EXPECT_TRUE(answer.ends_with(R"({"error":"not here"})")) << answer;
  EXPECT_EQ(StatusOf(Get("/number")), 400);
  EXPECT_EQ(StatusOf(Get("/number?n=x")), 400);
  EXPECT_EQ(StatusOf(Get("/number?n=99999999999999999999")), 400);
  EXPECT_EQ(StatusOf(Get("/number?n=-5")), 200);
}

std::string Unpacked(std::string_view packed) {
  z_stream stream = {};
  EXPECT_EQ(inflateInit2(&stream, 16 + MAX_WBITS), Z_OK);
  stream.next_in = reinterpret_cast<Bytef*>(const_cast<char*>(packed.data()));
  stream.avail_in = static_cast<uInt>(packed.size());
  std::string text;
  std::array<char, 65536> piece = {};
  int code = Z_OK;
  while (code == Z_OK) {
    stream.next_out = reinterpret_cast<Bytef*>(piece.data());
    stream.avail_out = piece.size();
    code = inflate(&stream, Z_NO_FLUSH);
    text.append(piece.data(), piece.size() - stream.avail_out);
  }
  EXPECT_EQ(code, Z_STREAM_END);
  inflateEnd(&stream);
  return text;
}

TEST_F(HttpTest, PacksTextsCheaplyWhereTheClientTakesIt) {
  Start({});
  const std::string browser = "Accept-Encoding: gzip, deflate, br\r\n";
  for (const char* type : {"application/json", "text/csv"}) {
    const std::string answer = Get(Concat("/long?type=", type), browser);
    EXPECT_NE(answer.find("Content-Encoding: gzip"), std::string::npos) << answer.substr(0, 400);
    const std::string body = answer.substr(answer.find("\r\n\r\n") + 4);
    EXPECT_LT(body.size(), Long().size() / 2);
    EXPECT_EQ(Unpacked(body), Long());
  }
  // Unpacked: to clients that do not accept gzip, of packed bytes, and of short ones.
  EXPECT_TRUE(Get("/long?type=application/json").ends_with(Long()));
  EXPECT_TRUE(Get("/long?type=application/octet-stream", browser).ends_with(Long()));
  EXPECT_TRUE(Get("/x?a=b", browser).ends_with("GET /x b "));
  EXPECT_TRUE(Get("/fail", browser).ends_with(R"({"error":"not here"})"));
}

TEST_F(HttpTest, RefusesForeignNamesAndOrigins) {
  Start({});
  const std::string port = std::to_string(server_->port());
  const auto with_host = [&](const std::string& host) {
    return StatusOf(
        Raw(Concat("GET /x HTTP/1.1\r\nHost: ", host, "\r\nConnection: close\r\n\r\n")));
  };
  EXPECT_EQ(with_host(Concat("localhost:", port)), 200);
  EXPECT_EQ(with_host(Concat("evil.example:", port)), 403);
  EXPECT_EQ(with_host("127.0.0.1"), 403);
  EXPECT_EQ(with_host(""), 403);
  EXPECT_EQ(StatusOf(Get("/x", "Origin: http://evil.example\r\n")), 403);
  EXPECT_EQ(StatusOf(Get("/x", "Origin: null\r\n")), 403);
  EXPECT_EQ(StatusOf(Get("/x", Concat("Origin: http://127.0.0.1:", port, "\r\n"))), 200);
  EXPECT_EQ(StatusOf(Get("/x", Concat("Origin: https://127.0.0.1:", port, "\r\n"))), 200)
      << "a tunnel";
}

TEST_F(HttpTest, AsksForTheToken) {
  Start({.token = "secret"});
  EXPECT_EQ(StatusOf(Get("/x")), 401);
  EXPECT_EQ(StatusOf(Get("/x?token=secre")), 401);
  EXPECT_EQ(StatusOf(Get("/x?token=secret2")), 401);
  const std::string answer = Get("/x?token=secret");
  EXPECT_EQ(StatusOf(answer), 200);
  // Of this port: another server of this machine has one of its own.
  const std::string name = Concat("sonde_token_", std::to_string(server_->port()));
  EXPECT_NE(answer.find(Concat("Set-Cookie: ", name, "=secret; HttpOnly; SameSite=Strict")),
            std::string::npos);
  EXPECT_EQ(StatusOf(Get("/x", Concat("Cookie: sonde_token_1=b; ", name, "=secret\r\n"))), 200);
  EXPECT_EQ(StatusOf(Get("/x", Concat("Cookie: ", name, "=other\r\n"))), 401);
}

TEST_F(HttpTest, RefusesBodiesOfUnknownAndGreatLength) {
  Start({.max_body_bytes = 1000});
  const std::string head =
      Concat("POST /x HTTP/1.1\r\nHost: 127.0.0.1:", std::to_string(server_->port()),
             "\r\nConnection: close\r\n");
  EXPECT_EQ(StatusOf(Raw(Concat(head, "Transfer-Encoding: chunked\r\n\r\n"))), 411);
  EXPECT_EQ(StatusOf(Raw(Concat(head, "Content-Length: 100000000\r\n\r\n"))), 413);
  EXPECT_EQ(StatusOf(Raw(Concat(head, "Content-Length: 3\r\n\r\nabc"))), 200);
  EXPECT_EQ(StatusOf(Get(Concat("/x?a=", std::string(20'000, 'a')))), 414);
}

TEST_F(HttpTest, APostWithoutABodyIsAnsweredAtOnce) {
  Start({});
  const std::string host = Concat("Host: 127.0.0.1:", std::to_string(server_->port()), "\r\n");
  const std::string answer = Raw(Concat("POST /x HTTP/1.1\r\n", host, "Connection: close\r\n\r\n"));
  EXPECT_TRUE(answer.ends_with("POST /x  ")) << answer;
}

TEST_F(HttpTest, RefusesWhatIsNoPlainRequest) {
  Start({});
  const std::string host = Concat("Host: 127.0.0.1:", std::to_string(server_->port()), "\r\n");
  const auto status = [&](const std::string& line, const std::string& headers) {
    return StatusOf(Raw(Concat(line, "\r\n", host, headers, "\r\n")));
  };
  EXPECT_EQ(status("GET /x HTTP/1.1", "Host: evil.example\r\n"), 400);
  EXPECT_EQ(status("GET /x HTTP/9.9", ""), 400);
  EXPECT_EQ(status("GET http://evil.example/x HTTP/1.1", ""), 400);
  EXPECT_EQ(status("GET /%zz HTTP/1.1", ""), 400);
  EXPECT_EQ(status("GET /%00 HTTP/1.1", ""), 400);
  EXPECT_EQ(status("TRACE / HTTP/1.1", ""), 405);
  EXPECT_EQ(status("POST /x HTTP/1.1", "Content-Length: -1\r\n"), 400);
  EXPECT_EQ(status("POST /x HTTP/1.1", "Content-Length: 99999999999999999999\r\n"), 400);
  EXPECT_EQ(status("POST /x HTTP/1.1", "Content-Length: 1\r\nContent-Length: 5\r\n"), 400);
  EXPECT_EQ(status("POST /x HTTP/1.1", "Content-Encoding: gzip\r\nContent-Length: 4\r\n"), 415);
  EXPECT_EQ(status("POST /x HTTP/1.1", "Expect: 100-continue\r\nContent-Length: 4\r\n"), 417);
  EXPECT_EQ(StatusOf(Raw(Concat("GET /x HTTP/1.1\n", host, "\n"))), 400) << "line ends";
  EXPECT_EQ(StatusOf(Raw(std::string("\x16\x03\x01\x00\xa5", 5))), 400) << "TLS";
}

TEST_F(HttpTest, RequestsOfOneConnectionAreAnsweredInTheirOrder) {
  Start({});
  const std::string host = Concat("Host: 127.0.0.1:", std::to_string(server_->port()), "\r\n");
  const std::string answer = Raw(Concat("POST /one HTTP/1.1\r\n", host,
                                        "Content-Length: 3\r\n\r\nabcGET /two HTTP/1.1\r\n", host,
                                        "Connection: close\r\n\r\n"));
  const size_t one = answer.find("POST /one  abc");
  const size_t two = answer.find("GET /two  ");
  EXPECT_NE(one, std::string::npos) << answer;
  EXPECT_NE(two, std::string::npos) << answer;
  EXPECT_LT(one, two);
}

// Without the token nobody makes the server hold more than a head's worth.
TEST_F(HttpTest, GarbledRequestsEndNothing) {
  Start({});
  const std::string whole =
      Concat("POST /x?a=%20b HTTP/1.1\r\nHost: 127.0.0.1:", std::to_string(server_->port()),
             "\r\nX: folded\r\n line\r\nContent-Length: 2\r\n\r\n{}");
  std::mt19937 random(1);
  for (int i = 0; i < 3000; ++i) {
    std::string garbled = whole;
    for (unsigned change = 0; change < 1 + random() % 6; ++change) {
      const size_t at = random() % garbled.size();
      switch (random() % 4) {
        case 0:
          garbled.erase(at, 1 + random() % 8);
          break;
        case 1:
          garbled.insert(at, "\r\n");
          break;
        case 2:
          garbled.insert(at, garbled.substr(random() % garbled.size(), random() % 20));
          break;
        default:
          garbled[at] = static_cast<char>(random());
      }
      if (garbled.empty()) garbled = "x";
    }
    const int descriptor = Connect();
    ::send(descriptor, garbled.data(), garbled.size(), MSG_NOSIGNAL);
    char byte = 0;
    if (i % 3 == 0) ::recv(descriptor, &byte, 1, MSG_DONTWAIT);
    ::close(descriptor);
  }
  EXPECT_EQ(StatusOf(Get("/x")), 200);
}

TEST_F(HttpTest, AnEndlessHeadIsCutOff) {
  Start({.token = "secret"});
  const int descriptor = Connect();
  const std::string line = Concat("X-A: ", std::string(8000, 'a'), "\r\n");
  std::string text = "GET / HTTP/1.1\r\n";
  for (int i = 0; i < 100; ++i) text += line;
  size_t sent = 0;
  constexpr size_t kSocketBuffers = size_t{16} << 20U;
  for (ssize_t n = 1; n > 0 && sent < 4 * kSocketBuffers; sent += static_cast<size_t>(n)) {
    n = ::send(descriptor, text.data(), text.size(), MSG_NOSIGNAL);
    if (n < 0) break;
  }
  EXPECT_LT(sent, kSocketBuffers);
  ::close(descriptor);
}

TEST_F(HttpTest, ARequestThatIsNotWholeInTimeIsClosed) {
  Start({.read_seconds = 1});
  const int descriptor = Connect();
  const timeval longest{.tv_sec = 120, .tv_usec = 0};  // far fewer bytes than a request may have
  ASSERT_EQ(::setsockopt(descriptor, SOL_SOCKET, SO_RCVTIMEO, &longest, sizeof(longest)), 0);
  // A byte now and then does not lengthen the time: they come for as long as there is a connection.
  std::jthread drip([descriptor](const std::stop_token& stop) {
    const std::string_view head = "GET /x HTTP/1.1\r\nHost: ";
    for (size_t i = 0; !stop.stop_requested(); ++i) {
      const char c = i < head.size() ? head[i] : 'x';
      if (::send(descriptor, &c, 1, MSG_NOSIGNAL) != 1) return;
      std::this_thread::sleep_for(std::chrono::milliseconds(100));
    }
  });
  char byte = 0;
  const ssize_t received = ::recv(descriptor, &byte, 1, 0);
  const int reason = errno;
  const bool is_closed = received == 0 || (received < 0 && reason == ECONNRESET);
  EXPECT_TRUE(is_closed) << received << ", " << reason;
  drip.request_stop();
  drip.join();
  ::close(descriptor);
}

TEST(Http, ClosedConnectionsAreReported) {
  std::promise<void> asked;
  std::promise<void> notified;
  auto listening = HttpServer::Listen({}, [&](const HttpRequest& request) -> Result<HttpAnswer> {
    std::promise<void> left;
    request.caller->WhenLeft([&] { left.set_value(); });
    asked.set_value();
    const bool in_time =
        left.get_future().wait_for(std::chrono::seconds(20)) == std::future_status::ready;
    request.caller->WhenLeft({});
    if (in_time) notified.set_value();
    return HttpAnswer{};
  });
  ASSERT_TRUE(listening.ok());
  std::jthread serving([&] { (*listening)->Run(); });
  const int descriptor = ::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
  sockaddr_in address = {};
  address.sin_family = AF_INET;
  address.sin_port = htons(static_cast<uint16_t>((*listening)->port()));
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  ASSERT_EQ(::connect(descriptor, reinterpret_cast<sockaddr*>(&address), sizeof(address)), 0);
  const std::string text = Concat(
      "POST /slow HTTP/1.1\r\nHost: 127.0.0.1:", std::to_string((*listening)->port()), "\r\n\r\n");
  ASSERT_GT(::send(descriptor, text.data(), text.size(), MSG_NOSIGNAL), 0);
  asked.get_future().wait();
  ::close(descriptor);
  EXPECT_EQ(notified.get_future().wait_for(std::chrono::seconds(10)), std::future_status::ready);
  (*listening)->Stop();
}

TEST_F(HttpTest, NewConnectionsAreServedWhileEndlessOnesStay) {
  Start({});
  std::vector<int> slow;
  for (int i = 0; i < 400; ++i) {
    slow.push_back(Connect());
    const std::string_view part = "GET /x HTTP/1.1\r\nHos";
    EXPECT_GT(::send(slow.back(), part.data(), part.size(), MSG_NOSIGNAL), 0);
  }
  EXPECT_EQ(StatusOf(Get("/x")), 200);
  for (const int descriptor : slow) ::close(descriptor);
}

TEST_F(HttpTest, HundredAtOnce) {
  Start({});
  std::atomic<int> good = 0;
  {
    std::vector<std::jthread> clients;
    for (int i = 0; i < 100; ++i) {
      clients.emplace_back([&] { good += StatusOf(Get("/x")) == 200 ? 1 : 0; });
    }
  }
  EXPECT_EQ(good, 100);
}

// A signal may come between the printing of the address and the serving.
TEST(Http, RunReturnsWhenStopCameFirst) {
  const auto handler = [](const HttpRequest&) -> Result<HttpAnswer> { return HttpAnswer{}; };
  auto listening = HttpServer::Listen({}, handler);
  ASSERT_TRUE(listening.ok());
  (*listening)->Stop();
  std::promise<void> ended;
  std::jthread serving([&] {
    (*listening)->Run();
    ended.set_value();
  });
  ASSERT_EQ(ended.get_future().wait_for(std::chrono::seconds(20)), std::future_status::ready);
}

TEST(Http, ReportsThatThePortIsTaken) {
  const auto handler = [](const HttpRequest&) -> Result<HttpAnswer> { return HttpAnswer{}; };
  const auto first = HttpServer::Listen({}, handler);
  ASSERT_TRUE(first.ok());
  const auto second = HttpServer::Listen({.host = "192.0.2.1", .port = 1}, handler);
  ASSERT_FALSE(second.ok());
  EXPECT_NE(second.status().message().find("192.0.2.1 port 1"), std::string::npos);
}

TEST(Http, TokensDiffer) {
  const auto one = MakeToken();
  const auto two = MakeToken();
  ASSERT_TRUE(one.ok() && two.ok());
  EXPECT_EQ(one->size(), 32U);
  EXPECT_NE(*one, *two);
}

}  // namespace
}  // namespace sonde::serve
