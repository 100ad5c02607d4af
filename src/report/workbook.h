// An Excel workbook under a temporary name; closing it writes the file.
//
// The file appears complete under its name, or not at all. One thread. Errors: made() and Close().
// For the writers of this folder: nobody else names the library.
#pragma once

#include <sys/stat.h>
#include <xlsxwriter.h>

#include <cerrno>
#include <filesystem>
#include <string>
#include <system_error>
#include <utility>

#include "base/files.h"
#include "base/strings.h"
#include "base/temporaries.h"

namespace sonde::report {

class Workbook {
 public:
  // In a folder of its own: the library would follow a link of the file's name.
  // `in_memory`: cells may be written in any order.
  explicit Workbook(std::string path, bool in_memory = false)
      : path_(std::move(path)),
        folder_(base::TemporaryNextTo(path_)),
        temporary_(base::JoinPath(folder_, "table.xlsx")) {
    constexpr mode_t kOnlyForTheUser = 0700;
    base::RemoveLeftovers(std::string(base::DirName(path_)));
    if (::mkdir(folder_.c_str(), kOnlyForTheUser) != 0) {
      made_ = base::ErrnoStatus(errno, "write", path_);
      return;
    }
    lxw_workbook_options options = {};
    options.constant_memory = in_memory ? LXW_FALSE : LXW_TRUE;
    options.tmpdir = folder_.data();  // so that its files go with the folder at a signal
    book_ = workbook_new_opt(temporary_.c_str(), &options);
  }
  Workbook(const Workbook&) = delete;
  Workbook& operator=(const Workbook&) = delete;
  ~Workbook() {
    if (book_ != nullptr) workbook_close(book_);
    base::RemoveTree(folder_).IgnoreError();  // nothing of ours is lost
  }

  const Status& made() const { return made_; }  // nothing else may be called where it failed
  lxw_worksheet* AddSheet(const std::string& name) {
    return workbook_add_worksheet(book_, name.c_str());
  }
  lxw_format* AddFormat() { return workbook_add_format(book_); }
  lxw_format* AddFill(lxw_color_t colour) {
    lxw_format* format = AddFormat();
    format_set_bg_color(format, colour);
    return format;
  }
  lxw_format* AddFrame(bool is_header) {
    constexpr lxw_color_t kTurquoise = 0xAFEEEE;
    lxw_format* format = AddFormat();
    format_set_font_name(format, "Times New Roman");
    format_set_border(format, LXW_BORDER_THIN);
    format_set_align(format, LXW_ALIGN_VERTICAL_CENTER);
    if (is_header) format_set_bold(format);
    if (is_header) format_set_bg_color(format, kTurquoise);
    return format;
  }
  Status Close() {
    const lxw_error error = workbook_close(book_);
    book_ = nullptr;
    if (error != LXW_NO_ERROR) {
      return base::ResourceExhaustedError(
          base::Concat("cannot write '", path_, "': ", lxw_strerror(error)));
    }
    std::error_code code;
    std::filesystem::rename(temporary_, path_, code);
    return code ? base::ErrnoStatus(code.value(), "rename to", path_) : Status::Ok();
  }

 private:
  std::string path_;
  std::string folder_;
  std::string temporary_;
  Status made_;
  lxw_workbook* book_ = nullptr;
};

}  // namespace sonde::report
