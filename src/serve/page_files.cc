#include "serve/page_files.h"

#include <zlib.h>

#include <array>

#include "base/strings.h"

#ifdef SONDE_HAS_PAGE
// NOLINTBEGIN(readability-identifier-naming): page.S
extern "C" {
extern const char sonde_page_index[], sonde_page_index_end[];
extern const char sonde_page_script[], sonde_page_script_end[];
extern const char sonde_page_style[], sonde_page_style_end[];
}
// NOLINTEND(readability-identifier-naming)
#endif

namespace sonde::serve {
namespace {

struct File {
  std::string_view path;
  const char* type;
  std::string_view gzip;
};

#ifdef SONDE_HAS_PAGE
std::array<File, 3> Files() {
  return {
      File{"/", "text/html; charset=utf-8", {sonde_page_index, sonde_page_index_end}},
      File{"/app.js", "text/javascript; charset=utf-8", {sonde_page_script, sonde_page_script_end}},
      File{"/app.css", "text/css; charset=utf-8", {sonde_page_style, sonde_page_style_end}}};
}
#else
std::array<File, 0> Files() { return {}; }
#endif

constexpr std::string_view kNoPage =
    "<!doctype html><title>Sonde</title><body style='font:16px sans-serif;margin:4em'>"
    "<h1>The page is not in this build</h1><p>It is made with Node.js, which was missing when "
    "Sonde was built. Run <code>make setup build</code> in the sources and start again. The data "
    "is served nevertheless: <a href='/api/session'>/api/session</a>.";

// For the rare client that does not take gzip.
Result<std::string> Inflate(std::string_view gzip) {
  z_stream stream = {};
  if (inflateInit2(&stream, 16 + MAX_WBITS) != Z_OK) return base::InternalError("zlib failed");
  stream.next_in = reinterpret_cast<Bytef*>(const_cast<char*>(gzip.data()));
  stream.avail_in = static_cast<uInt>(gzip.size());
  std::string text;
  std::array<char, 65536> piece = {};
  int code = Z_OK;
  while (code == Z_OK) {
    stream.next_out = reinterpret_cast<Bytef*>(piece.data());
    stream.avail_out = piece.size();
    code = inflate(&stream, Z_NO_FLUSH);
    text.append(piece.data(), piece.size() - stream.avail_out);
  }
  inflateEnd(&stream);
  if (code != Z_STREAM_END) return base::InternalError("the page in this program is damaged");
  return text;
}

}  // namespace

bool HasPage() { return !Files().empty(); }

Result<HttpAnswer> PageFile(const HttpRequest& request) {
  // The page is one file at every address: views are names after '#'.
  const std::string_view path =
      request.path == "/index.html" ? std::string_view("/") : std::string_view(request.path);
  for (const File& file : Files()) {
    if (file.path != path) continue;
    HttpAnswer answer{.type = file.type};
    answer.headers.emplace_back(
        "Content-Security-Policy",
        "default-src 'self'; style-src 'self' 'unsafe-inline'; img-src 'self' data: blob:; "
        "frame-ancestors 'none'; base-uri 'none'; form-action 'none'");
    answer.headers.emplace_back("Referrer-Policy", "no-referrer");
    if (request.accepts_gzip) {
      answer.constant = file.gzip;
      answer.is_gzip = true;
    } else {
      SONDE_ASSIGN_OR_RETURN(answer.body, Inflate(file.gzip));
    }
    return answer;
  }
  if (path == "/" && !HasPage()) {
    return HttpAnswer{.type = "text/html; charset=utf-8", .body = std::string(kNoPage)};
  }
  return base::NotFoundError(base::Concat("there is no ", request.path));
}

}  // namespace sonde::serve
