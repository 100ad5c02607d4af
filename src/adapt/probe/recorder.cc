#include "adapt/probe/recorder.h"

#include "base/files.h"
#include "base/strings.h"
#include "probe/json_text.h"
#include "probe/torch_file.h"

namespace sonde::adapt {
namespace {

using base::Concat;
using base::JoinPath;

constexpr size_t kPartDepth = 3;    // of the text of a part of a member
constexpr size_t kMemberDepth = 2;  // of a member of "data"

}  // namespace

void Recorder::Keep(const Status& status) {
  if (status.ok() || has_failed_) return;
  has_failed_ = true;
  error_ = status.message();
}

std::string Recorder::TakeError() { return std::exchange(error_, std::string()); }

Status Recorder::Open(const DumpFiles& files) {
  Close();
  files_ = files;
  has_failed_ = false;
  SONDE_RETURN_IF_ERROR(base::MakeDirectories(files.folder));
  if (!files.tensor_folder.empty()) {
    SONDE_RETURN_IF_ERROR(base::MakeDirectories(files.tensor_folder));
  }
  SONDE_ASSIGN_OR_RETURN(
      data_,
      probe::ObjectFile::Create(
          JoinPath(files.folder, files.main_file),
          {.head = files.head, .depth = kMemberDepth, .tail = "\n }\n}", .empty_tail = "}\n}"}));
  if (files.with_construct) {
    SONDE_ASSIGN_OR_RETURN(
        construct_,
        probe::ObjectFile::Create(JoinPath(files.folder, "construct.json"),
                                  {.head = "{", .depth = 1, .tail = "\n}", .empty_tail = "}"}));
  }
  if (files.with_stacks) {
    SONDE_ASSIGN_OR_RETURN(stacks_, probe::StackFile::Create(JoinPath(files.folder, "stack.json")));
  }
  return Status::Ok();
}

bool Recorder::Save(const std::string& name, const ReadTensor& tensor) {
  const std::string path = JoinPath(files_.tensor_folder, name + ".pt");
  const Status status = probe::WriteTorchFile(path, tensor.view, tensor.dtype->name);
  Keep(status);
  return status.ok();
}

bool Recorder::Add(const std::string& name, std::string_view key, std::string_view io,
                   PyObject* value, uint64_t flags) {
  if (!data_) return true;
  const bool saves = (flags & kSaveTensors) != 0 && !files_.tensor_folder.empty();
  const SaveTensor save =
      saves ? SaveTensor([this](const std::string& file, const ReadTensor& tensor) {
        return Save(file, tensor);
      })
            : SaveTensor();
  std::string text;
  text.reserve(1024);
  size_t depth = (flags & kWhole) != 0 ? kMemberDepth : kPartDepth;
  if ((flags & kInList) != 0) {
    text.push_back('[');
    probe::AppendLine(text, ++depth);
  }
  const std::string path = io.empty() ? name : Concat(name, ".", io);
  Renderer renderer(calls_, reader_, options_);
  if (!renderer.Render(value, depth, path, save, text)) return false;
  bad_ = bad_ || renderer.found_bad();
  if ((flags & kInList) != 0) {
    probe::AppendLine(text, depth - 1);
    text.push_back(']');
  }
  if (!data_) return true;  // closed while Python ran
  if ((flags & kWhole) != 0) {
    data_->SetValue(name, std::move(text));
  } else {
    data_->SetPart(name, key, std::move(text));
  }
  if ((flags & kFinish) != 0) data_->Finish(name, (flags & kKeepParts) != 0);
  Keep(data_->status());
  return true;
}

void Recorder::Finish(const std::string& name) {
  if (!data_) return;
  data_->Finish(name);
  Keep(data_->status());
}

void Recorder::Remove(const std::string& name) {
  if (data_) data_->Remove(name);
}

bool Recorder::AddStack(const std::string& name) {
  if (!stacks_) return true;
  std::vector<std::string_view> frames;
  if (!frames_.Collect(&frames)) return false;
  if (!stacks_) return true;
  stacks_->Add(name, frames);
  stacks_->WriteIfDue();
  return true;
}

bool Recorder::AddConstruct(const std::string& name, PyObject* parent) {
  if (!construct_) return true;
  std::string text;
  if (!Renderer(calls_, reader_, options_).RenderPlain(parent, 1, text)) return false;
  construct_->SetValue(name, std::move(text));
  construct_->Finish(name);
  Keep(construct_->status());
  return true;
}

Status Recorder::Settle() {
  Status first;
  const auto note = [&](Status status) {
    if (first.ok()) first = std::move(status);
  };
  if (data_) note(data_->Settle());
  if (stacks_) note(stacks_->Settle());
  if (construct_) note(construct_->Settle());
  return first;
}

void Recorder::MovedTo(const std::string& folder) {
  if (!files_.tensor_folder.empty()) files_.tensor_folder = JoinPath(folder, "dump_tensor_data");
  files_.folder = folder;
  if (data_) data_->MovedTo(JoinPath(folder, files_.main_file));
  if (construct_) construct_->MovedTo(JoinPath(folder, "construct.json"));
  if (stacks_) stacks_->MovedTo(JoinPath(folder, "stack.json"));
}

void Recorder::Close() {
  data_.reset();
  construct_.reset();
  stacks_.reset();
}

}  // namespace sonde::adapt
