// The control address over real sockets, with good and bad clients; options, JSON and HTTP pieces.
#include <arpa/inet.h>
#include <errno.h>
#include <netinet/in.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>

#include <chrono>
#include <cstdlib>
#include <cstring>
#include <ctime>
#include <optional>
#include <thread>

#include "record/control_options.h"
#include "record/http_request.h"
#include "record/json.h"
#include "record/testing/session_fixture.h"

namespace sonde::record {
namespace {

using capture::RecordKind;

class ControlTest : public SessionTest {
 protected:
  void SetUp() override { Listen("http://127.0.0.1:0"); }
  void TearDown() override {
    sonde_control_close();
    sonde_session_stop(nullptr, 0);
  }

  void Listen(const std::string& address) {
    sonde_control_close();
    const sonde_session_config config = ConfigIn(folder_.path());
    ASSERT_EQ(sonde_control_listen(address.c_str(), &config), 0) << sonde_last_error();
    char text[256];
    ASSERT_EQ(sonde_control_address(text, sizeof(text)), 0);
    address_ = text;
    if (address_.starts_with("http")) port_ = address_.substr(address_.rfind(':') + 1);
  }

  int Connect() const {
    if (address_.starts_with("unix:")) {
      sockaddr_un name{};
      name.sun_family = AF_UNIX;
      std::strncpy(name.sun_path, address_.c_str() + 5, sizeof(name.sun_path) - 1);
      const int fd = socket(AF_UNIX, SOCK_STREAM, 0);
      EXPECT_EQ(connect(fd, reinterpret_cast<sockaddr*>(&name), sizeof(name)), 0);
      return fd;
    }
    const int fd = socket(AF_INET, SOCK_STREAM, 0);
    ConnectByTcp(fd);
    return fd;
  }

  void ConnectByTcp(int fd) const {
    sockaddr_in name{};
    name.sin_family = AF_INET;
    name.sin_port = htons(static_cast<uint16_t>(std::stoi(port_)));
    name.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    EXPECT_EQ(connect(fd, reinterpret_cast<sockaddr*>(&name), sizeof(name)), 0);
  }

  static std::string ReadToEnd(int fd) {
    std::string answer;
    char buffer[4096];
    ssize_t n;
    while ((n = recv(fd, buffer, sizeof(buffer), 0)) > 0) {
      answer.append(buffer, static_cast<size_t>(n));
    }
    close(fd);
    return answer;
  }

  std::string Exchange(const std::string& bytes) const {
    const int fd = Connect();
    send(fd, bytes.data(), bytes.size(), MSG_NOSIGNAL);
    return ReadToEnd(fd);
  }

  std::string Request(const std::string& line, const std::string& body = "",
                      const std::string& fields = "") const {
    return Exchange(line + " HTTP/1.1\r\nHost: localhost:" + port_ + "\r\n" + fields +
                    "Content-Length: " + std::to_string(body.size()) + "\r\n\r\n" + body);
  }

  static int StatusOf(const std::string& answer) {
    return answer.size() < 12 ? 0 : std::stoi(answer.substr(9, 3));
  }

  static JsonValue BodyOf(const std::string& answer) {
    const Result<JsonValue> body = ParseJson(answer.substr(answer.find("\r\n\r\n") + 4));
    EXPECT_TRUE(body.ok()) << answer;
    return body.ok() ? *body : JsonValue();
  }

  std::string address_;
  std::string port_;
};

TEST_F(ControlTest, RoutesOfTheProgram) {
  std::string got;
  const sonde_control_function function = [](const char* body, char* answer, size_t size,
                                             void* user) {
    *static_cast<std::string*>(user) = body;
    std::snprintf(answer, size, "{\"length\": %zu}", std::strlen(body));
    return 202;
  };
  EXPECT_EQ(StatusOf(Request("POST /dump", "abc")), 404);
  ASSERT_EQ(sonde_control_route("/dump", function, &got), 0);
  const std::string answer = Request("POST /dump", "abc");
  EXPECT_EQ(StatusOf(answer), 202);
  EXPECT_EQ(BodyOf(answer).Find("length")->number, 3);
  EXPECT_EQ(got, "abc");
  EXPECT_EQ(StatusOf(Request("GET /dump")), 405);
  EXPECT_EQ(StatusOf(Request("GET /status")), 200);
  ASSERT_EQ(sonde_control_route("/dump", nullptr, nullptr), 0);
  EXPECT_EQ(StatusOf(Request("POST /dump")), 404);
  EXPECT_LT(sonde_control_route("dump", function, &got), 0);
}

TEST_F(ControlTest, StartStatusStop) {
  EXPECT_EQ(BodyOf(Request("GET /status")).Find("state")->text, "idle");
  EXPECT_EQ(StatusOf(Request("POST /stop_profile")), 409);

  const std::string started =
      Request("POST /start_profile", R"({"profile_memory": true, "level": "Level1"})");
  EXPECT_EQ(StatusOf(started), 200) << started;
  EXPECT_EQ(StatusOf(Request("POST /start_profile")), 409);
  sonde_mark(Name("m"), 0, 0);
  const JsonValue status = BodyOf(Request("GET /status"));
  EXPECT_EQ(status.Find("state")->text, "recording");
  EXPECT_EQ(status.Find("pid")->number, getpid());

  const JsonValue stopped = BodyOf(Request("POST /stop_profile"));
  const CheckedCapture capture = CheckCapture(stopped.Find("path")->text);
  EXPECT_TRUE(capture.problems.empty()) << capture.ProblemText();
  EXPECT_EQ(capture.Count(RecordKind::kMark, "m"), 1u);
  EXPECT_TRUE(capture.end.has_value());
  EXPECT_EQ(capture.metadata.at("options"), R"({"profile_memory": true, "level": "Level1"})");
}

TEST_F(ControlTest, BodiesChooseFolderFeaturesAndRanks) {
  EXPECT_EQ(
      StatusOf(Request("POST /start_profile",
                       R"({"directory": "inner", "features": ["markers"], "rank_list": [1]})")),
      200);
  EXPECT_EQ(sonde_features(), SONDE_FEATURE_RECORDING | SONDE_FEATURE_MARKERS);
  const std::string path = BodyOf(Request("POST /stop_profile")).Find("path")->text;
  EXPECT_EQ(base::DirName(path), folder_.path() + "/inner");

  setenv("RANK", "0", 1);
  EXPECT_EQ(BodyOf(Request("POST /start_profile", R"({"rank_list": [1, 2]})")).Find("status")->text,
            "rank not listed");
  EXPECT_EQ(sonde_recording(), 0);
  EXPECT_EQ(StatusOf(Request("POST /start_profile", R"({"rank_list": [0]})")), 200);
  EXPECT_NE(sonde_recording(), 0);
  unsetenv("RANK");
}

TEST_F(ControlTest, BadBodies) {
  for (const char* body :
       {"{", "[]", "{\"with_stack\": 1}", "{\"features\": [\"x\"]}", "{\"features\": 1}",
        "{\"max_bytes\": -1}", "{\"max_bytes\": 1.5}", "{\"directory\": 5}",
        "{\"rank_list\": \"all\"}", "{\"rank_list\": [\"0\"]}", "{\"activities\": true}",
        "{\"mstx_domain_include\": [1]}", "{\"worker_name\": []}", "{} x", "\xff"}) {
    const std::string answer = Request("POST /start_profile", body);
    EXPECT_EQ(StatusOf(answer), 400) << body << "\n" << answer;
    EXPECT_EQ(sonde_recording(), 0) << body;
  }
  EXPECT_EQ(StatusOf(Request("POST /start_profile", R"({"directory": "/tmp"})")), 403);
  EXPECT_EQ(StatusOf(Request("POST /start_profile", R"({"directory": "../elsewhere"})")), 403);
}

TEST_F(ControlTest, BadRequests) {
  const std::string host = "Host: 127.0.0.1:" + port_ + "\r\n";
  EXPECT_EQ(StatusOf(Request("GET /nothing")), 404);
  EXPECT_EQ(StatusOf(Request("GET /start_profile")), 405);
  EXPECT_EQ(StatusOf(Request("DELETE /status")), 405);
  EXPECT_EQ(StatusOf(Exchange("hello\r\n\r\n")), 400);
  EXPECT_EQ(StatusOf(Exchange("GET /status HTTP/2.0\r\n" + host + "\r\n")), 400);
  EXPECT_EQ(StatusOf(Exchange("GET /status HTTP/1.1\r\n" + host + "broken\r\n\r\n")), 400);
  EXPECT_EQ(StatusOf(Exchange("GET /status HTTP/1.1\r\n" + host + host + "\r\n")), 400);
  EXPECT_EQ(StatusOf(Exchange("GET /status HTTP/1.1\r\n\r\n")), 403) << "no Host";
  EXPECT_EQ(StatusOf(Exchange("GET /status HTTP/1.1\r\nHost: evil.example\r\n\r\n")), 403);
  EXPECT_EQ(StatusOf(Request("POST /start_profile", "", "Origin: http://evil.example\r\n")), 403);
  EXPECT_EQ(StatusOf(Request("POST /start_profile", "", "Origin: null\r\n")), 403);
  EXPECT_EQ(StatusOf(Request("GET /status", "", "Origin: http://localhost:" + port_ + "\r\n")),
            200);
  EXPECT_EQ(StatusOf(Exchange("POST /start_profile HTTP/1.1\r\n" + host +
                              "Transfer-Encoding: chunked\r\n\r\n0\r\n\r\n")),
            411);
  EXPECT_EQ(StatusOf(Exchange("POST /start_profile HTTP/1.1\r\n" + host +
                              "Content-Length: 99999999\r\n\r\n")),
            413);
  EXPECT_EQ(StatusOf(Exchange("POST /start_profile HTTP/1.1\r\n" + host +
                              "Content-Length: 99999999999999999999999999\r\n\r\n")),
            413);
  EXPECT_EQ(
      StatusOf(Exchange("POST /start_profile HTTP/1.1\r\n" + host + "Content-Length: -2\r\n\r\n")),
      400);
  EXPECT_EQ(StatusOf(Exchange("GET /status HTTP/1.1\r\n" + host +
                              "X: " + std::string(kMaxRequestHead, 'x') + "\r\n\r\n")),
            431);
  EXPECT_EQ(sonde_recording(), 0);
  EXPECT_EQ(StatusOf(Request("GET /status")), 200) << "still served after all that";
}

// Every user of the machine reaches the port.
TEST_F(ControlTest, OtherUsersAreRefused) {
  if (geteuid() != 0) GTEST_SKIP() << "needs root, to be another user";
  const auto ask_as = [&](uid_t user, bool closes_at_once) {
    int answer[2];
    EXPECT_EQ(pipe(answer), 0);
    const pid_t child = fork();
    if (child == 0) {
      if (setuid(user) != 0) _exit(9);
      const int fd = Connect();
      const std::string request = "POST /start_profile HTTP/1.1\r\nHost: localhost:" + port_ +
                                  "\r\nContent-Length: 0\r\n\r\n";
      send(fd, request.data(), request.size(), MSG_NOSIGNAL);
      if (closes_at_once) _exit(0);
      const int status = StatusOf(ReadToEnd(fd));
      _exit(write(answer[1], &status, sizeof(status)) == sizeof(status) ? 0 : 9);
    }
    int status = 0;
    waitpid(child, nullptr, 0);
    close(answer[1]);
    if (!closes_at_once) {
      EXPECT_EQ(read(answer[0], &status, sizeof(status)), ssize_t{sizeof(status)});
    }
    close(answer[0]);
    return status;
  };
  constexpr uid_t kStranger = 12345;
  EXPECT_EQ(ask_as(kStranger, false), 403);
  for (int i = 0; i < 20; ++i) ask_as(kStranger, true);
  EXPECT_EQ(StatusOf(Request("GET /status")), 200);
  EXPECT_EQ(CurrentStatus().state, 0u) << "another user has started a recording";
  EXPECT_EQ(ask_as(0, false), 200);
}

TEST_F(ControlTest, SlowAndSilentClientsHoldUpNobody) {
  // A server that serves one client after another never answers before the silent ones' time is
  // over; other servers may do so now and then, on a busy machine.
  bool answered_before = false;
  for (int attempt = 0; attempt < 10 && !answered_before; ++attempt) {
    std::vector<int> silent;
    for (int i = 0; i < 8; ++i) {
      silent.push_back(Connect());
      send(silent.back(), "GET /st", 7, MSG_NOSIGNAL);
    }
    EXPECT_EQ(StatusOf(Request("GET /status")), 200);
    char byte = 0;
    answered_before = recv(silent[0], &byte, 1, MSG_PEEK | MSG_DONTWAIT) == -1;
    EXPECT_EQ(StatusOf(ReadToEnd(silent[0])), 408) << "dropped after its time";
    for (size_t i = 1; i < silent.size(); ++i) close(silent[i]);
  }
  EXPECT_TRUE(answered_before);
}

TEST_F(ControlTest, WaitsWhileTheProgramHasNoDescriptorLeft) {
  const int client = socket(AF_INET, SOCK_STREAM, 0);
  rlimit before{};
  ASSERT_EQ(getrlimit(RLIMIT_NOFILE, &before), 0);
  const rlimit none{static_cast<rlim_t>(client) + 1, before.rlim_max};  // all below are in use
  ASSERT_EQ(setrlimit(RLIMIT_NOFILE, &none), 0);
  ConnectByTcp(client);
  timespec begin{};
  timespec end{};
  clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &begin);
  std::this_thread::sleep_for(std::chrono::milliseconds(600));
  clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &end);
  ASSERT_EQ(setrlimit(RLIMIT_NOFILE, &before), 0);
  const double seconds = static_cast<double>(end.tv_sec - begin.tv_sec) +
                         1e-9 * static_cast<double>(end.tv_nsec - begin.tv_nsec);
  EXPECT_LT(seconds, 0.3) << "the thread must not spin";
  const std::string text = "GET /status HTTP/1.1\r\nHost: localhost:" + port_ + "\r\n\r\n";
  send(client, text.data(), text.size(), MSG_NOSIGNAL);
  EXPECT_EQ(StatusOf(ReadToEnd(client)), 200);
}

TEST_F(ControlTest, ByteByByteAndExpectContinue) {
  const std::string text = "GET /status HTTP/1.1\r\nHost: localhost\r\n\r\n";
  int fd = Connect();
  for (const char c : text) {
    send(fd, &c, 1, MSG_NOSIGNAL);
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
  }
  EXPECT_EQ(StatusOf(ReadToEnd(fd)), 200);

  fd = Connect();
  const std::string head =
      "POST /start_profile HTTP/1.1\r\nHost: localhost\r\nContent-Length: 2\r\n"
      "Expect: 100-continue\r\n\r\n";
  send(fd, head.data(), head.size(), MSG_NOSIGNAL);
  char buffer[64] = {};
  ASSERT_GT(recv(fd, buffer, sizeof(buffer) - 1, 0), 0);
  EXPECT_STREQ(buffer, "HTTP/1.1 100 Continue\r\n\r\n");
  send(fd, "{}", 2, MSG_NOSIGNAL);
  EXPECT_EQ(StatusOf(ReadToEnd(fd)), 200);
}

TEST_F(ControlTest, UnixSocket) {
  const std::string path = folder_.File("control.sock");
  Listen("unix:" + path);
  struct stat info{};
  ASSERT_EQ(stat(path.c_str(), &info), 0);
  EXPECT_EQ(info.st_mode & 0777, 0600u);
  EXPECT_EQ(StatusOf(Exchange("GET /status HTTP/1.1\r\nHost: anything\r\n\r\n")), 200);
  sonde_control_close();
  EXPECT_FALSE(base::PathExists(path));
}

TEST_F(ControlTest, AddressesThatCannotBeHad) {
  const sonde_session_config config = ConfigIn(folder_.path());
  EXPECT_EQ(sonde_control_listen("http://127.0.0.1:0", &config), -EALREADY);
  sonde_control_close();
  char text[64];
  EXPECT_LT(sonde_control_address(text, sizeof(text)), 0);
  for (const char* address : {"http://0.0.0.0:80", "http://127.0.0.1:99999", "http://127.0.0.1:x",
                              "ftp://127.0.0.1:1", "unix:", ""}) {
    EXPECT_LT(sonde_control_listen(address, &config), 0) << address;
    EXPECT_NE(std::string(sonde_last_error()), "");
  }
  const std::string file = folder_.File("file");
  ASSERT_TRUE(base::WriteFileAtomically(file, "mine").ok());
  EXPECT_EQ(sonde_control_listen(("unix:" + file).c_str(), &config), -EADDRINUSE);
  EXPECT_EQ(*base::ReadFile(file), "mine") << "a file that is no socket must stay";
}

TEST(HttpRequest, TruncatedAtEveryByte) {
  const std::string text =
      "POST /start_profile?x=1 HTTP/1.1\r\nHost: localhost:7\r\nContent-Length: 4\r\n\r\nbody";
  HttpRequest request;
  HttpResponse refusal;
  for (size_t size = 0; size < text.size(); ++size) {
    EXPECT_EQ(ParseHttpRequest(std::string_view(text).substr(0, size), 7, &request, &refusal),
              HttpParse::kNeedMore)
        << size;
  }
  EXPECT_EQ(ParseHttpRequest(text, 7, &request, &refusal), HttpParse::kDone);
  EXPECT_EQ(request.path, "/start_profile");
  EXPECT_EQ(request.body, "body");
}

TEST(Json, ValuesAndErrors) {
  const Result<JsonValue> value = ParseJson(
      R"( {"a": [1, -2.5e3, true, null], "b": {"c": "x\n\u00e9\ud83d\ude00"}, "a2": false} )");
  ASSERT_TRUE(value.ok());
  EXPECT_EQ(value->Find("a")->items.at(1).number, -2500);
  EXPECT_EQ(value->Find("b")->Find("c")->text, "x\n\xc3\xa9\xf0\x9f\x98\x80");
  EXPECT_EQ(value->Find("d"), nullptr);
  EXPECT_EQ(QuoteJson("a\"\\\n"), "\"a\\\"\\\\\\u000a\"");
  for (const char* bad :
       {"", "{", "[1,]", "{\"a\"}", "{\"a\":}", "{a:1}", "\"x", "\"\\q\"", "\"\\ud800\"", "tru",
        "-", "-inf", "nan", "1 2", "[1", "\"\n\"", "\"\\u12"}) {
    EXPECT_FALSE(ParseJson(bad).ok()) << bad;
  }
  EXPECT_FALSE(ParseJson(std::string(1000, '[')).ok());
  const std::string good = R"({"k": [1, {"x": "y\u0041"}]})";
  for (size_t size = 0; size < good.size(); ++size) {
    EXPECT_FALSE(ParseJson(std::string_view(good).substr(0, size)).ok()) << size;
  }
}

TEST(ControlOptions, WordsOfTheKnownProfilers) {
  SessionConfig config;
  config.features = SONDE_FEATURE_RECORDING | SONDE_FEATURE_OPS;
  const Result<JsonValue> options = ParseJson(R"({
      "activities": [], "with_stack": true, "record_shapes": true, "with_modules": true,
      "keep_last_seconds": 30, "max_bytes": 1000, "worker_name": "w",
      "experimental_config": {"mstx": true, "mstx_domain_include": ["a", "b"]}})");
  ASSERT_TRUE(options.ok());
  ASSERT_TRUE(ApplyOptions(*options, &config).ok());
  EXPECT_EQ(config.features, SONDE_FEATURE_RECORDING | SONDE_FEATURE_STACKS | SONDE_FEATURE_SHAPES |
                                 SONDE_FEATURE_MODULES | SONDE_FEATURE_MARKERS);
  EXPECT_EQ(config.domain_include, "a,b");
  EXPECT_EQ(config.keep_last_seconds, 30u);
  EXPECT_EQ(config.max_bytes, 1000u);
  EXPECT_EQ(config.worker_name, "w");
  const Result<JsonValue> device = ParseJson(R"({"activities": ["NPU"]})");
  ASSERT_TRUE(ApplyOptions(*device, &config).ok());
  EXPECT_NE(config.features & SONDE_FEATURE_OPS, 0u) << "work of the device, where it is the CPU";
}

TEST(ControlOptions, MissingOptionsOfARequestAreThoseOfTheDefaults) {
  const auto merged = [](const std::string& text, const std::string& defaults) {
    return WithDefaults(text, *ParseJson(text), defaults);
  };
  EXPECT_EQ(merged(R"({"a": {"b": 1}})", R"({"b": 0.5, "a": 2, "c": "x", "d": true, "e": []})"),
            R"({"a": {"b": 1}, "b": 0.5, "c": "x", "d": true})");
  EXPECT_EQ(merged("{}", R"({"b": 5})"), R"({"b": 5})");
  EXPECT_EQ(merged("{ }", ""), "{ }");
}

}  // namespace
}  // namespace sonde::record
