// `sonde view`: the web page of one or more traces.
#include <pthread.h>
#include <unistd.h>

#include <CLI/CLI.hpp>
#include <csignal>
#include <cstdio>
#include <memory>
#include <thread>

#include "base/files.h"
#include "base/strings.h"
#include "cli/command.h"
#include "serve/handlers.h"
#include "serve/http.h"
#include "serve/session.h"

namespace sonde::cli {
namespace {

using base::Concat;

struct ViewOptions {
  std::vector<std::string> paths;
  std::string host = "127.0.0.1";
  int port = 0;
  bool open = false;
  bool token = false;
};

bool IsLocal(const std::string& host) {
  return host == "127.0.0.1" || host == "localhost" || host == "::1";
}

std::string Address(const ViewOptions& options, int port, const std::string& token) {
  const std::string host = options.host == "0.0.0.0" ? "127.0.0.1" : options.host;
  return Concat("http://", host.find(':') == std::string::npos ? host : Concat("[", host, "]"), ":",
                std::to_string(port), "/", token.empty() ? "" : Concat("?token=", token));
}

// A browser of the user's; that there is none is no failure, the address is printed.
void OpenBrowser(const std::string& address) {
  if (::fork() != 0) return;
  ::setsid();
  sigset_t none;
  sigemptyset(&none);
  pthread_sigmask(SIG_SETMASK, &none, nullptr);
  ::execlp("xdg-open", "xdg-open", address.c_str(), nullptr);
  ::_exit(0);
}

Status CheckPaths(const std::vector<std::string>& paths) {
  for (const std::string& path : paths) {
    if (!base::PathExists(path)) return base::NotFoundError(Concat("there is no '", path, "'"));
  }
  return {};
}

// Ctrl+C and SIGTERM end the server as they should: blocked in all threads, taken by one.
class SignalWaiter {
 public:
  explicit SignalWaiter(std::function<void()> stop) : stop_(std::move(stop)) {
    sigemptyset(&signals_);
    for (const int number : {SIGINT, SIGTERM}) sigaddset(&signals_, number);
    pthread_sigmask(SIG_BLOCK, &signals_, nullptr);
  }
  void Start() {
    thread_ = std::jthread([this] {
      int number = 0;
      sigwait(&signals_, &number);
      stop_();
    });
  }
  // Where the server ended by itself.
  void Wake() {
    if (thread_.joinable()) pthread_kill(thread_.native_handle(), SIGINT);
  }

 private:
  std::function<void()> stop_;
  sigset_t signals_ = {};
  std::jthread thread_;
};

Result<int> Run(const ViewOptions& options) {
  SONDE_RETURN_IF_ERROR(CheckPaths(options.paths));
  std::string token;
  if (options.token || !IsLocal(options.host)) {
    SONDE_ASSIGN_OR_RETURN(token, serve::MakeToken());
  }
  std::unique_ptr<serve::HttpServer> server;
  std::unique_ptr<serve::Session> session;
  SignalWaiter signals([&] {
    session->Stop();
    server->Stop();
  });
  SONDE_ASSIGN_OR_RETURN(
      server, serve::HttpServer::Listen(
                  {.host = options.host, .port = options.port, .token = token},
                  [&](const serve::HttpRequest& request) { return Answer(*session, request); }));
  session = std::make_unique<serve::Session>(SONDE_VERSION, options.paths);
  signals.Start();
  const std::string address = Address(options, server->port(), token);
  std::printf("%s\n", address.c_str());
  std::fflush(stdout);
  PrintNotice("open that address in a browser; Ctrl+C ends the server");
  if (options.open) OpenBrowser(address);
  server->Run();
  signals.Wake();
  return kExitOk;
}

CommandAction Declare(CLI::App& app) {
  auto options = std::make_shared<ViewOptions>();
  app.add_option("PATH", options->paths,
                 "Trace files, span folders, store files or folders of several ranks")
      ->required();
  app.add_option("--port", options->port, "Port to listen on; 0: any that is free")
      ->check(CLI::Range(0, 65535))
      ->capture_default_str();
  app.add_option("--host", options->host,
                 "Address to listen on; others than 127.0.0.1 ask for a token")
      ->capture_default_str();
  app.add_flag("--open", options->open, "Open the page in the browser");
  app.add_flag("--token", options->token, "Ask for a token on 127.0.0.1 too");
  return [options](const Context& /*context*/) { return Run(*options); };
}

}  // namespace

Command ViewCommand() {
  return {.name = "view",
          .summary = "Show traces on a web page",
          .example = "sonde view ./profile",
          .declare = &Declare};
}

}  // namespace sonde::cli
