// `sonde view`: the web page of one or more traces.
#include <pthread.h>
#include <unistd.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <atomic>
#include <cctype>
#include <chrono>
#include <csignal>
#include <cstdio>
#include <memory>
#include <string_view>
#include <thread>

#include "base/files.h"
#include "base/strings.h"
#include "cli/command.h"
#include "cli/heap_care.h"
#include "cli/number_checks.h"
#include "serve/handlers.h"
#include "serve/http.h"
#include "serve/live.h"
#include "serve/session.h"

namespace sonde::cli {
namespace {

using base::Concat;

struct ViewOptions {
  std::vector<std::string> paths;
  std::vector<std::string> roots;
  std::vector<std::string> live;
  std::string live_list;
  std::string baseline;
  std::string host = "127.0.0.1";
  int port = 0;
  bool open = false;
  store::StatementLimits limits = {.max_seconds = 600};  // of one that is typed on the page
};

// For the part of an address behind '#'.
std::string Escaped(std::string_view text) {
  std::string escaped;
  for (const char c : text) {
    const auto byte = static_cast<unsigned char>(c);
    const bool is_plain =
        std::isalnum(byte) != 0 || std::string_view("-_./~").find(c) != std::string_view::npos;
    constexpr std::string_view kDigits = "0123456789ABCDEF";
    constexpr unsigned kHalf = 4;
    constexpr unsigned kLow = 15;
    if (is_plain) {
      escaped += c;
    } else {
      escaped += {'%', kDigits[byte >> kHalf], kDigits[byte & kLow]};
    }
  }
  return escaped;
}

std::string Address(const ViewOptions& options, int port, const std::string& token) {
  const std::string host = options.host == "0.0.0.0" ? "127.0.0.1" : options.host;
  return Concat("http://", host.find(':') == std::string::npos ? host : Concat("[", host, "]"), ":",
                std::to_string(port), "/?token=", token,
                options.baseline.empty() ? "" : "#view=compare&x.compare.baseline=",
                Escaped(options.baseline));
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

// Folders in which the page may open more: those of the paths and of --root.
Result<std::vector<std::string>> RootsOf(const ViewOptions& options) {
  std::vector<std::string> roots;
  for (const std::string& path : options.paths) {
    roots.push_back(
        base::AbsolutePath(base::IsDirectory(path) ? path : std::string(base::DirName(path))));
  }
  for (const std::string& root : options.roots) {
    if (!base::IsDirectory(root)) {
      return base::NotFoundError(Concat("--root '", root, "' is no folder"));
    }
    roots.push_back(base::AbsolutePath(root));
  }
  if (roots.empty()) roots.push_back(base::AbsolutePath("."));
  std::sort(roots.begin(), roots.end());
  roots.erase(std::unique(roots.begin(), roots.end()), roots.end());
  return roots;
}

// Ctrl+C and SIGTERM end the server as they should: blocked in all threads, taken by one. A second
// one ends at once, whatever is under way.
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
      if (is_done_) return;
      stop_();
      sigwait(&signals_, &number);
      if (!is_done_) ::_exit(kExitFailure);
    });
  }
  // Where the server ended by itself.
  void Wake() {
    is_done_ = true;
    if (thread_.joinable()) pthread_kill(thread_.native_handle(), SIGINT);
  }

 private:
  std::function<void()> stop_;
  sigset_t signals_ = {};
  std::atomic<bool> is_done_ = false;
  std::jthread thread_;
};

Result<int> RunView(const ViewOptions& options) {
  SONDE_RETURN_IF_ERROR(CheckPaths(options.paths));
  // Also on 127.0.0.1, which every user of the machine reaches.
  SONDE_ASSIGN_OR_RETURN(const std::string token, serve::MakeToken());
  SONDE_ASSIGN_OR_RETURN(const std::vector<std::string> roots, RootsOf(options));
  std::atomic<bool> is_asked = false;
  std::unique_ptr<serve::HttpServer> server;
  std::unique_ptr<serve::Session> session;
  std::unique_ptr<serve::Live> live;
  SignalWaiter signals([&] {
    session->Stop();
    server->Stop();
  });
  HeapCare heap;
  SONDE_ASSIGN_OR_RETURN(server, serve::HttpServer::Listen(
                                     {.host = options.host, .port = options.port, .token = token},
                                     [&](const serve::HttpRequest& request) {
                                       heap.NoteUse();
                                       is_asked = true;
                                       return Answer(*session, request);
                                     }));
  session = std::make_unique<serve::Session>(SONDE_VERSION, options.paths, roots, options.limits);
  if (!options.live.empty() || !options.live_list.empty()) {
    live = std::make_unique<serve::Live>(*session, options.live, options.live_list);
  } else {
    // A page that shows nothing is opened for nobody; what takes longer is reported there, too.
    constexpr auto kBriefly = std::chrono::milliseconds(300);
    SONDE_RETURN_IF_ERROR(session->WaitForSomething(kBriefly));
    session->WhenNothing([&] {
      if (!is_asked) server->Stop();
    });
  }
  signals.Start();
  const std::string address = Address(options, server->port(), token);
  PrintText(address + "\n");
  std::fflush(stdout);
  PrintNotice("open that address in a browser; Ctrl+C ends the server");
  if (options.open) OpenBrowser(address);
  server->Run();
  live.reset();
  const Status nothing = is_asked ? Status() : session->WhyNothing();
  session.reset();
  signals.Wake();
  SONDE_RETURN_IF_ERROR(nothing);
  return kExitOk;
}

CommandAction DeclareView(CLI::App& app) {
  auto options = std::make_shared<ViewOptions>();
  app.add_option("PATH", options->paths,
                 "Trace files, span folders, folders of several ranks, or comparisons of values "
                 "(sonde probe compare --store); more can be opened on the page");
  // One value each, however often they are given: what follows is a PATH.
  app.add_option(
         "--root", options->roots,
         "The page may open files in this folder, and always in the folders of PATH; without "
         "PATH the current one")
      ->allow_extra_args(false);
  app.add_option("--live", options->live,
                 "Control address of a program under sonde run --control: the page starts and "
                 "stops its recording")
      ->allow_extra_args(false);
  app.add_option("--live-list", options->live_list,
                 "File of such addresses, as written by processes under sonde run")
      ->group("");
  app.add_option("--port", options->port, "Port to listen on; 0: any that is free")
      ->check(CLI::Range(0, 65535))
      ->capture_default_str();
  app.add_option("--host", options->host, "Address to listen on")->capture_default_str();
  app.add_flag("--open", options->open, "Open the page in the browser");
  AddStatementLimits(app, "a statement that is typed on the page", options->limits);
  app.add_option("--baseline", options->baseline,
                 "Another trace: the page opens both and begins with how PATH differs from "
                 "it")
      ->allow_extra_args(false);
  return [options](const Context& /*context*/) {
    if (!options->baseline.empty()) options->paths.push_back(options->baseline);
    return RunView(*options);
  };
}

}  // namespace

Command ViewCommand() {
  return {.name = "view",
          .summary = "Show traces on a web page",
          .example =
              "sonde view ./profile\n"
              "sonde view ./new --baseline ./old\n"
              "sonde view ./result    # of sonde probe compare -o result --store",
          .declare = &DeclareView};
}

}  // namespace sonde::cli
