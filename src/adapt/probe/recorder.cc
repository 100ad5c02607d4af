#include "adapt/probe/recorder.h"

#include "base/files.h"
#include "base/strings.h"
#include "probe/json_text.h"
#include "probe/tensor_file.h"

namespace sonde::adapt {
namespace {

using base::Concat;
using base::JoinPath;

constexpr size_t kPartDepth = 3;          // of the text of a part of a member
constexpr size_t kMemberDepth = 2;        // of a member of "data"
constexpr size_t kMaxHeld = 4096;         // changes of the file; some thousand tensors
constexpr size_t kMaxStackTexts = 16384;  // some 30 MB; a recursive program has no end of new ones

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
  if (files.waiting_bytes > 0) queue_.emplace(files.waiting_bytes);
  if (!files.tensor_folder.empty()) {
    SONDE_RETURN_IF_ERROR(base::MakeDirectories(files.tensor_folder));
  }
  if (files.with_construct) {
    SONDE_RETURN_IF_ERROR(
        construct_.Open(JoinPath(files.folder, "construct.json"), files.with_apis));
  }
  if (files.with_stacks) {
    SONDE_ASSIGN_OR_RETURN(stacks_, probe::StackFile::Create(JoinPath(files.folder, "stack.json")));
  }
  // The last, so that the others are there wherever it is.
  SONDE_ASSIGN_OR_RETURN(auto file,
                         probe::ObjectFile::Create(JoinPath(files.folder, files.main_file),
                                                   {.head = files.head,
                                                    .depth = kMemberDepth,
                                                    .tail = "\n }\n}",
                                                    .empty_tail = "}\n}",
                                                    .moving_prefix = "Module."}));
  data_.emplace(std::move(file), options_.mark);
  return Status::Ok();
}

bool Recorder::Save(const std::string& name, const ReadTensor& tensor) {
  const std::string path = JoinPath(files_.tensor_folder, Concat(name, options_.extension));
  if (queue_) {
    queue_->Add(path, tensor.view, tensor.dtype->name);
    return true;
  }
  const Status status = probe::WriteTensorFile(path, tensor.view, tensor.dtype->name);
  Keep(status);
  return status.ok();
}

SaveTensor Recorder::SaveFor(uint64_t flags) {
  if ((flags & kSaveTensors) == 0 || files_.tensor_folder.empty()) return {};
  return [this](const std::string& file, const ReadTensor& tensor) { return Save(file, tensor); };
}

bool Recorder::AddInputs(const std::string& name, const CallArguments& arguments, uint64_t flags) {
  if (!data_) return true;
  const SaveTensor save = SaveFor(flags);
  Renderer renderer(calls_, reader_, options_);
  std::string values;
  std::string keywords;
  values.reserve(1024);
  if (!renderer.RenderValues(arguments.values, arguments.count, kPartDepth, name + ".input", save,
                             values) ||
      !renderer.RenderKeywords(arguments.names, arguments.values + arguments.count, kPartDepth,
                               name + ".kwargs", save, keywords)) {
    return false;
  }
  bad_ = bad_ || renderer.found_bad();
  if (data_) {
    data_->SetPart(name, "input_args", std::move(values), renderer.waits());
    data_->SetPart(name, "input_kwargs", std::move(keywords), renderer.waits());
    if (!Written()) return false;
  }
  return (flags & kWithStack) == 0 || AddStack(name);
}

bool Recorder::AddValues(const std::string& name, std::string_view key, std::string_view io,
                         const CallArguments& values, uint64_t flags) {
  if ((flags & kPlace) != 0) Place(name);
  if (!data_) return true;
  std::string text;
  text.reserve(1024);
  Renderer renderer(calls_, reader_, options_);
  if (!renderer.RenderValues(values.values, values.count, kPartDepth, Concat(name, ".", io),
                             SaveFor(flags), text)) {
    return false;
  }
  bad_ = bad_ || renderer.found_bad();
  if (!data_) return true;  // closed while Python ran
  data_->SetPart(name, key, std::move(text), renderer.waits());
  if ((flags & kFinish) != 0) data_->Finish(name);
  return Written();
}

bool Recorder::AddGradients(const std::string& name, PyObject* to_outputs, PyObject* to_inputs,
                            uint64_t flags) {
  const auto add = [&](std::string_view part, PyObject* value, uint64_t part_flags) {
    if (value->type == calls_.tuple_type) return Add(name, part, part, value, part_flags);
    return AddValues(name, part, part, {&value, 1, nullptr}, part_flags);
  };
  return add("input", to_outputs, flags) && add("output", to_inputs, (flags & ~kPlace) | kFinish);
}

bool Recorder::Add(const std::string& name, std::string_view key, std::string_view io,
                   PyObject* value, uint64_t flags) {
  if ((flags & kPlace) != 0) Place(name);
  if (!data_) return true;
  const SaveTensor save = SaveFor(flags);
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
    data_->SetValue(name, std::move(text), renderer.waits());
  } else {
    data_->SetPart(name, key, std::move(text), renderer.waits());
  }
  if ((flags & kFinish) != 0) data_->Finish(name, (flags & kKeepParts) != 0);
  return Written();
}

bool Recorder::Written() {
  Keep(data_->status());
  return data_->held() < kMaxHeld || FetchNumbers();
}

bool Recorder::FetchNumbers() {
  if (!data_ || data_->held() == 0) return true;
  const PyOwned answer(calls_, calls_.call(options_.fetch, nullptr));
  if (!answer) return false;
  PyObject* const numbers = calls_.tuple_get(answer.get(), 1);
  std::vector<std::string> texts(static_cast<size_t>(calls_.list_size(numbers)));
  Renderer renderer(calls_, reader_, options_);
  for (size_t i = 0; i < texts.size(); i++) {
    PyObject* const number = calls_.list_get(numbers, static_cast<intptr_t>(i));
    if (!renderer.RenderPlain(number, 0, texts[i])) return false;
  }
  if (!data_) return true;  // closed while Python ran
  data_->Give(calls_.long_as_u64(calls_.tuple_get(answer.get(), 0)), texts);
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

const std::string* Recorder::ElementsOfStack(const FramesHash& hash) {
  const auto known = stack_texts_.find(hash.first);
  if (known != stack_texts_.end() && known->second.second == hash.second) {
    return &known->second.elements;
  }
  std::vector<std::string_view> frames;
  if (!frames_.Collect(&frames)) return nullptr;
  if (stack_texts_.size() >= kMaxStackTexts) stack_texts_.clear();
  StackText& text = stack_texts_[hash.first];
  text = {.second = hash.second, .elements = probe::StackFile::Elements(frames)};
  return &text.elements;
}

bool Recorder::AddStack(const std::string& name) {
  if (!stacks_) return true;
  const FramesHash hash = HashFrames();
  const auto known = groups_.find(hash.first);
  if (known != groups_.end() && known->second.second == hash.second) {
    stacks_->AddTo(known->second.number, name);
  } else {
    const std::string* const elements = ElementsOfStack(hash);
    if (elements == nullptr) return false;
    if (!stacks_) return true;  // closed while Python ran
    groups_[hash.first] = {.second = hash.second, .number = stacks_->Add(name, *elements)};
  }
  stacks_->WriteIfDue();
  return true;
}

void Recorder::Place(const std::string& name) {
  construct_.Place(name);
  Keep(construct_.status());
}

Status Recorder::Settle() {
  Status first;
  const auto note = [&](Status status) {
    if (first.ok()) first = std::move(status);
  };
  if (queue_) note(queue_->Drain());
  if (data_ && data_->held() > 0) {
    note(base::InternalError("another thread is still fetching numbers from a device"));
  }
  if (data_) note(data_->Settle());
  if (stacks_) note(stacks_->Settle());
  note(construct_.Settle());
  return first;
}

void Recorder::MovedTo(const std::string& folder) {
  if (queue_) Keep(queue_->Drain());
  if (!files_.tensor_folder.empty()) files_.tensor_folder = JoinPath(folder, "dump_tensor_data");
  files_.folder = folder;
  if (data_) data_->MovedTo(JoinPath(folder, files_.main_file));
  construct_.MovedTo(JoinPath(folder, "construct.json"));
  if (stacks_) stacks_->MovedTo(JoinPath(folder, "stack.json"));
}

void Recorder::Close() {
  data_.reset();
  construct_.Close();
  stacks_.reset();
  groups_.clear();
  queue_.reset();
}

}  // namespace sonde::adapt
