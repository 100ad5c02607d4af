// The ranks that given parts hold (part_file.h), for who reduces them and does not see the traces.
//
// A mode that looks at ranks again, or at a base run, finds them among parts of the other mode, or
// of the traces below --bp. One thread at a time. Errors: a part of another build, of other
// options, or none; a look for which no part was given is kNotFound, with the command that makes
// it.
#pragma once

#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "cluster/frame/run.h"
#include "cluster/parts/part_file.h"

namespace sonde::cluster {

class GivenParts final : public RankReader {
 public:
  // `paths`: files, and folders with them.
  static Result<std::unique_ptr<GivenParts>> Open(const std::vector<std::string>& paths,
                                                  std::string base_path, job::NoticeSink notify);

  Result<RankChoice> Choose(const std::string& folder, const std::vector<int32_t>& wanted) override;
  Result<MappedRanks> Map(const Mode& mode, const std::vector<Rank>& ranks,
                          const ModeOptions& options) override;

  // Writes the waits that follow from the parts of the mode; returns the path of the file, "" where
  // none of them needs waits.
  Result<std::string> Shuffle(const Mode& mode, bool keeps_clocks, const std::string& folder);

 private:
  struct File {
    std::string path;
    PartFile part;
  };
  GivenParts(std::string base_path, job::NoticeSink notify)
      : base_path_(std::move(base_path)), notify_(std::move(notify)) {}

  std::string base_path_;
  job::NoticeSink notify_;
  std::vector<File> files_;
};

}  // namespace sonde::cluster
