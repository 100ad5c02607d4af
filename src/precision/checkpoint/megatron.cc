#include "precision/checkpoint/megatron.h"

#include <algorithm>
#include <array>
#include <map>
#include <optional>
#include <set>
#include <utility>
#include <vector>

#include "base/count_of.h"
#include "base/files.h"
#include "base/strings.h"
#include "precision/checkpoint/checkpoint_file.h"

namespace sonde::precision {
namespace {

using base::Concat;
using base::JoinPath;

constexpr std::string_view kTracker = "latest_checkpointed_iteration.txt";
constexpr std::string_view kRankFolder = "mp_rank_";
constexpr std::string_view kFile = "model_optim_rng.pt";

// Names of older releases, replaced one behind the other.
constexpr std::array<std::pair<std::string_view, std::string_view>, 12> kMegatronNames = {{
    {"self_attention.linear_qkv.layer_norm_", "input_layernorm."},
    {"language_model.", ""},
    {"encoder", "decoder"},
    {".input_norm.", ".input_layernorm."},
    {"query_key_value", "linear_qkv"},
    {".dense.", ".linear_proj."},
    {"post_attention_norm", "pre_mlp_layernorm"},
    {"dense_h_to_4h", "linear_fc1"},
    {"dense_4h_to_h", "linear_fc2"},
    {"mlp.local_experts", "mlp.experts.local_experts"},
    {"final_norm", "final_layernorm"},
    {"word_embeddings_for_head", "output_layer"},
}};
constexpr std::array<std::string_view, 4> kCutAlongRows = {
    "linear_qkv", "linear_fc1", "word_embeddings.weight", "output_layer.weight"};
constexpr std::array<std::string_view, 2> kCutAlongColumns = {"linear_fc2.weight",
                                                              "linear_proj.weight"};

struct MegatronRank {
  std::string folder;
  int64_t tensor = 0;
  int64_t pipeline = 0;
  int64_t expert = 0;
};

// "mp_rank_01_003_002": tensor, pipeline, expert; with two numbers the second is the pipeline's
// where the checkpoint was made with one, else the expert's.
std::optional<MegatronRank> ParseRank(const std::string& name, int64_t pipelines) {
  if (!name.starts_with(kRankFolder)) return std::nullopt;
  std::vector<int64_t> numbers;
  for (const std::string_view part :
       base::Split(std::string_view(name).substr(kRankFolder.size()), '_')) {
    const auto number = base::ParseInt64(part);
    if (!number || *number < 0) return std::nullopt;
    numbers.push_back(*number);
  }
  if (numbers.empty() || numbers.size() > 3) return std::nullopt;
  MegatronRank out{.folder = name, .tensor = numbers[0]};
  if (numbers.size() == 3 || (numbers.size() == 2 && pipelines > 1)) out.pipeline = numbers[1];
  if (numbers.size() == 3) out.expert = numbers[2];
  if (numbers.size() == 2 && pipelines <= 1) out.expert = numbers[1];
  return out;
}

std::vector<std::string> RankFolders(const std::string& path) {
  std::vector<std::string> out;
  const auto entries = base::ListDirectory(path);
  if (!entries.ok()) return out;
  for (const base::DirectoryEntry& entry : *entries) {
    if (entry.name.starts_with(kRankFolder) && base::IsDirectory(JoinPath(path, entry.name))) {
      out.push_back(entry.name);
    }
  }
  return out;
}

// The folder of the iteration that counts.
Result<std::string> IterationFolder(const std::string& path) {
  const std::string tracker = JoinPath(path, kTracker);
  if (!base::PathExists(tracker)) return path;
  SONDE_ASSIGN_OR_RETURN(const std::string text, base::ReadFile(tracker, 1000));
  const std::string_view word = base::Trim(text);
  std::string folder(word);
  if (word != "release") {
    const auto number = base::ParseInt64(word);
    if (!number) {
      return base::CorruptDataError(
          Concat(tracker, " holds neither a number nor 'release': ", word.substr(0, 40)));
    }
    const std::string digits = std::to_string(*number);
    folder = Concat("iter_", std::string(7 - std::min<size_t>(digits.size(), 7), '0'), digits);
  }
  const std::string out = JoinPath(path, folder);
  if (!base::IsDirectory(out)) {
    return base::NotFoundError(Concat(out, " is missing, which ", kTracker, " names"));
  }
  return out;
}

std::string CoreName(std::string name) {
  for (const auto& [older, core] : kMegatronNames) name = base::ReplaceAll(name, older, core);
  return name;
}

// Replaces the number behind "layers." or "experts." by `shift` more.
std::string Shifted(const std::string& name, std::string_view what, int64_t shift) {
  const size_t at = name.find(what);
  if (at == std::string::npos) return name;
  const size_t begin = at + what.size();
  const size_t end = name.find('.', begin);
  if (end == std::string::npos) return name;
  const auto number = base::ParseInt64(std::string_view(name).substr(begin, end - begin));
  if (!number) return name;
  return Concat(name.substr(0, begin), std::to_string(*number + shift), name.substr(end));
}

int64_t NumberBehind(const std::string& name, std::string_view what) {
  const size_t at = name.find(what);
  if (at == std::string::npos) return -1;
  const size_t begin = at + what.size();
  const size_t end = std::min(name.find('.', begin), name.size());
  return base::ParseInt64(std::string_view(name).substr(begin, end - begin)).value_or(-1);
}

template <size_t kCount>
bool HoldsOne(const std::string& name, const std::array<std::string_view, kCount>& words) {
  return std::any_of(words.begin(), words.end(),
                     [&](std::string_view word) { return name.find(word) != name.npos; });
}

// One tensor of a stage: its parts by tensor parallel rank.
struct Parts {
  std::string name;   // with the stage's own numbers
  int64_t chunk = 0;  // of interleaved pipelines
  std::vector<Tensor> tensors;
};

class Loader {
 public:
  explicit Loader(std::string folder) : folder_(std::move(folder)) {}

  Result<Checkpoint> Load() {
    SONDE_RETURN_IF_ERROR(FindRanks());
    for (int64_t expert = 0; expert < experts_; ++expert) {
      int64_t layers = 0;  // of a stage, from the first
      for (int64_t stage = 0; stage < pipelines_; ++stage) {
        SONDE_ASSIGN_OR_RETURN(const std::vector<Parts> parts, LoadStage(stage, expert));
        if (layers == 0) layers = LayersOf(parts);
        for (const Parts& part : parts) Add(part, stage, expert, layers);
      }
    }
    if (beside_ > 0) {
      out_.notes.push_back(
          Concat(folder_, ": ", base::CountOf(beside_, "tensor"),
                 " other than the model (optimizer, random numbers) not compared"));
    }
    for (auto& [name, tensor] : whole_) out_.tensors.push_back({name, std::move(tensor)});
    out_.kind = Concat("Megatron, ", base::CountOf(files_, "rank"), " (tensor ",
                       std::to_string(tensor_ranks_), ", pipeline ", std::to_string(pipelines_),
                       ", expert ", std::to_string(experts_), ")");
    return std::move(out_);
  }

 private:
  Status FindRanks() {
    const std::vector<std::string> folders = RankFolders(folder_);
    if (folders.empty()) {
      return base::NotFoundError(Concat(folder_, " holds no ", kRankFolder, "* folder"));
    }
    SONDE_ASSIGN_OR_RETURN(const CheckpointFile first, OpenCheckpointFile(PathOf(folders.front())));
    const auto setting = [&](const std::string& key, int64_t otherwise) {
      const auto found = first.settings.find(key);
      return found == first.settings.end() ? otherwise : std::max<int64_t>(found->second, 0);
    };
    // Without the arguments two numbers in a name are tensor and pipeline.
    const int64_t stages = setting("pipeline_model_parallel_size", first.settings.empty() ? 2 : 1);
    for (const std::string& name : folders) {
      const std::optional<MegatronRank> rank = ParseRank(name, stages);
      if (!rank) return base::CorruptDataError(Concat(JoinPath(folder_, name), " is no rank"));
      tensor_ranks_ = std::max(tensor_ranks_, rank->tensor + 1);
      pipelines_ = std::max(pipelines_, rank->pipeline + 1);
      experts_ = std::max(experts_, rank->expert + 1);
      ranks_[{rank->tensor, rank->pipeline, rank->expert}] = name;
    }
    experts_of_a_rank_ = setting("num_experts", 0) / experts_;
    gated_ = setting("swiglu", 0) != 0 || setting("gated_linear_unit", 0) != 0;
    return Status::Ok();
  }

  std::string PathOf(const std::string& rank) const {
    return JoinPath(JoinPath(folder_, rank), kFile);
  }

  Result<std::vector<Parts>> LoadStage(int64_t stage, int64_t expert) {
    std::vector<Parts> out;
    std::map<std::pair<int64_t, std::string>, size_t> places;
    for (int64_t rank = 0; rank < tensor_ranks_; ++rank) {
      const auto name = ranks_.find({rank, stage, expert});
      if (name == ranks_.end()) {
        return base::NotFoundError(Concat(folder_, ": the folder of tensor rank ",
                                          std::to_string(rank), ", stage ", std::to_string(stage),
                                          ", expert rank ", std::to_string(expert), " is missing"));
      }
      SONDE_ASSIGN_OR_RETURN(CheckpointFile file, OpenCheckpointFile(PathOf(name->second)));
      ++files_;
      out_.other_values += file.other_values;
      for (const std::string& text : file.left_out) {
        if (text.starts_with("model")) out_.left_out.push_back(Concat(name->second, ": ", text));
      }
      for (NamedTensor& named : file.tensors) Collect(std::move(named), &out, &places);
    }
    return out;
  }

  // Weights lie below "model", or "model0", "model1", ... of interleaved pipelines; optimizer and
  // random numbers are not compared.
  void Collect(NamedTensor named, std::vector<Parts>* out,
               std::map<std::pair<int64_t, std::string>, size_t>* places) {
    const size_t dot = named.name.find('.');
    const std::string_view head = std::string_view(named.name).substr(0, dot);
    const auto chunk = head == "model"             ? std::optional<int64_t>(0)
                       : head.starts_with("model") ? base::ParseInt64(head.substr(5))
                                                   : std::nullopt;
    if (!chunk || dot == std::string::npos) {
      ++beside_;
      return;
    }
    const std::string name = CoreName(named.name.substr(dot + 1));
    const auto [place, is_new] = places->try_emplace({*chunk, name}, out->size());
    if (is_new) out->push_back({name, *chunk, {}});
    (*out)[place->second].tensors.push_back(std::move(named.tensor));
  }

  static int64_t LayersOf(const std::vector<Parts>& parts) {
    int64_t last = 0;
    for (const Parts& part : parts) last = std::max(last, NumberBehind(part.name, "layers."));
    return last + 1;
  }

  void Add(const Parts& part, int64_t stage, int64_t expert, int64_t layers) {
    std::string name = Shifted(part.name, "layers.", (pipelines_ * part.chunk + stage) * layers);
    if (experts_of_a_rank_ > 0) {
      name = Shifted(name, "experts.", expert * experts_of_a_rank_);
      name = Shifted(name, "local_experts.", expert * experts_of_a_rank_);
    }
    Result<Tensor> whole = Joined(part);
    if (whole.ok()) {
      whole_.insert_or_assign(name, *std::move(whole));
    } else {
      out_.left_out.push_back(Concat(name, ": ", whole.status().message()));
    }
  }

  Result<Tensor> Joined(const Parts& part) {
    const std::vector<Tensor>& tensors = part.tensors;
    const bool is_norm = part.name.find("layer_norm") != part.name.npos;
    if (tensors.size() == 1 || is_norm) return tensors.front();
    if (HoldsOne(part.name, kCutAlongRows)) {
      const bool halves = gated_ && part.name.find("linear_fc1") != part.name.npos;
      return halves ? JoinedHalves(tensors) : Tensor::Concatenate(tensors, 0);
    }
    if (HoldsOne(part.name, kCutAlongColumns)) return Tensor::Concatenate(tensors, 1);
    NoteUnequal(part);
    return tensors.front();
  }

  // Each rank has the gate's rows above its other rows.
  static Result<Tensor> JoinedHalves(const std::vector<Tensor>& tensors) {
    std::vector<Tensor> parts;
    for (const int64_t half : {0, 1}) {
      for (const Tensor& tensor : tensors) {
        SONDE_ASSIGN_OR_RETURN(Tensor rows, tensor.Half(half));
        parts.push_back(std::move(rows));
      }
    }
    return Tensor::Concatenate(parts, 0);
  }

  // Tensors that are not cut are equal on every rank.
  void NoteUnequal(const Parts& part) {
    for (const Tensor& tensor : part.tensors) {
      if (tensor.SameBytes(part.tensors.front())) continue;
      out_.notes.push_back(Concat(folder_, ": ", part.name,
                                  " is not cut, but differs between the ranks of tensor "
                                  "parallelism; the first rank's is compared"));
      return;
    }
  }

  const std::string folder_;
  std::map<std::array<int64_t, 3>, std::string> ranks_;
  std::map<std::string, Tensor> whole_;
  int64_t tensor_ranks_ = 1;
  int64_t pipelines_ = 1;
  int64_t experts_ = 1;
  int64_t experts_of_a_rank_ = 0;
  bool gated_ = false;
  size_t files_ = 0;
  size_t beside_ = 0;
  Checkpoint out_;
};

}  // namespace

bool IsMegatronFolder(const std::string& path) {
  return base::PathExists(JoinPath(path, kTracker)) || !RankFolders(path).empty();
}

bool IsDistributed(const std::string& path) {
  return base::Extension(path) == ".distcp" || base::PathExists(JoinPath(path, ".metadata"));
}

Status RefuseDistributed(const std::string& path) {
  const std::string folder =
      base::IsDirectory(path) ? path : std::string(base::DirName(base::AbsolutePath(path)));
  return base::UnimplementedError(Concat(
      path,
      " is a distributed checkpoint, which only torch can put together: compare what 'python3 "
      "-m torch.distributed.checkpoint.format_utils dcp_to_torch ",
      folder, " FILE.pt' makes of it, or save with --ckpt-format torch (Megatron)"));
}

Result<Checkpoint> LoadMegatron(const std::string& path) {
  SONDE_ASSIGN_OR_RETURN(const std::string folder, IterationFolder(path));
  if (RankFolders(folder).empty() && base::PathExists(JoinPath(folder, ".metadata"))) {
    return RefuseDistributed(folder);
  }
  return Loader(folder).Load();
}

}  // namespace sonde::precision
