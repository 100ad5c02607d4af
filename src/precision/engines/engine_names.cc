#include "precision/engines/engine_names.h"

#include <algorithm>
#include <array>

#include "base/strings.h"

namespace sonde::precision {
namespace {

struct Renaming {
  std::string_view training;
  std::string_view inference;
};

constexpr std::array<Renaming, 5> kFsdpModules = {{
    {"q_proj", "qkv_proj"},
    {"k_proj", "qkv_proj"},
    {"v_proj", "qkv_proj"},
    {"gate_proj", "gate_up_proj"},
    {"up_proj", "gate_up_proj"},
}};
constexpr std::array<Renaming, 10> kMegatronModules = {{
    {"word_embeddings", "embed_tokens"},
    {"self_attention", "self_attn"},
    {"linear_qkv", "qkv_proj"},
    {"q_layernorm", "q_norm"},
    {"k_layernorm", "k_norm"},
    {"core_attention", "attn"},
    {"linear_proj", "o_proj"},
    {"router", "gate"},
    {"linear_fc1", "gate_up_proj"},
    {"linear_fc2", "down_proj"},
}};

template <size_t N>
std::string_view Renamed(const std::array<Renaming, N>& table, std::string_view module) {
  for (const Renaming& entry : table) {
    if (entry.training == module) return entry.inference;
  }
  return module;
}

std::string_view Inference(Engine engine, std::string_view module) {
  return engine == Engine::kFsdp ? Renamed(kFsdpModules, module)
                                 : Renamed(kMegatronModules, module);
}

size_t DigitsAt(std::string_view text, size_t at) {
  size_t end = at;
  while (end < text.size() && text[end] >= '0' && text[end] <= '9') ++end;
  return end - at;
}

constexpr std::string_view kLayers = "layers.";

// The number behind the first "layers.", or "-1".
std::string_view LayerOf(std::string_view op) {
  for (size_t at = op.find(kLayers); at != std::string_view::npos; at = op.find(kLayers, at + 1)) {
    const size_t digits = DigitsAt(op, at + kLayers.size());
    if (digits > 0) return op.substr(at + kLayers.size(), digits);
  }
  return "-1";
}

// The part after the last "layers.<n>.", or everything.
std::string_view BehindLayers(std::string_view op) {
  for (size_t at = op.rfind(kLayers); at != std::string_view::npos && at > 0;
       at = op.rfind(kLayers, at - 1)) {
    const size_t end = at + kLayers.size() + DigitsAt(op, at + kLayers.size());
    if (end > at + kLayers.size() && end < op.size() && op[end] == '.') return op.substr(end + 1);
  }
  return op;
}

std::string_view Behind(std::string_view text, std::string_view last_mark) {
  const size_t at = text.rfind(last_mark);
  return at == std::string_view::npos ? text : text.substr(at + last_mark.size());
}

// "self_attn.q_proj.Linear" -> "self_attn.q_proj": without the class, which differs.
std::string_view WithoutClass(std::string_view module_class) {
  const size_t dot = module_class.rfind('.');
  return dot == std::string_view::npos ? std::string_view() : module_class.substr(0, dot);
}

std::string_view BehindFirstDot(std::string_view module) {
  const size_t dot = module.find('.');
  return dot == std::string_view::npos ? module : module.substr(dot + 1);
}

bool IsModule(std::string_view op) { return op.starts_with("Module.") || op.starts_with("Cell."); }

// Other calls have no place in the model: their own name is the module.
std::string KeyOf(std::string_view op, std::string_view module) {
  return base::Concat(LayerOf(op), "/", IsModule(op) ? module : op);
}

std::string_view ClassOf(std::string_view op) { return op.substr(op.rfind('.') + 1); }

}  // namespace

EngineCall TakeApart(std::string_view api) {
  EngineCall out;
  const size_t last_dot = api.rfind('.');
  if (last_dot == std::string_view::npos) return out;
  const std::string_view last = api.substr(last_dot + 1);
  const size_t second_dot = last_dot == 0 ? std::string_view::npos : api.rfind('.', last_dot - 1);
  const std::string_view second =
      api.substr(second_dot == std::string_view::npos ? 0 : second_dot + 1,
                 last_dot - (second_dot == std::string_view::npos ? 0 : second_dot + 1));
  if (last == "parameters_grad" || second == "parameters_grad") {
    out.op = api.substr(0, last_dot);
    out.direction = "parameters_grad";
    return out;
  }
  out.forward = last == "forward" || second == "forward";
  out.backward = !out.forward && (last == "backward" || second == "backward");
  if ((!out.forward && !out.backward) || second_dot == std::string_view::npos) return {};
  out.op = api.substr(0, second_dot);
  out.direction = api.substr(second_dot + 1);
  return out;
}

std::string TrainingKey(std::string_view op, Engine engine) {
  std::string_view rest =
      engine == Engine::kFsdp ? Behind(op, "_fsdp_wrapped_module.") : BehindLayers(op);
  rest = Behind(rest, "module.module.");
  return KeyOf(op, Inference(engine, BehindFirstDot(WithoutClass(rest))));
}

std::string InferenceKey(std::string_view op, Engine engine) {
  std::string_view rest = BehindLayers(op);
  if (rest.starts_with("Module.model."))
    rest.remove_prefix(std::string_view("Module.model.").size());
  const std::string_view module = WithoutClass(rest);
  if (engine == Engine::kFsdp) return KeyOf(op, module.substr(module.rfind('.') + 1));
  return KeyOf(op, Inference(engine, BehindFirstDot(module)));
}

bool BeginsTraining(const EngineCall& call, Engine engine) {
  const std::string_view name = ClassOf(call.op);
  return call.forward &&
         name == (engine == Engine::kFsdp ? std::string_view("Embedding")
                                          : std::string_view("VocabParallelEmbedding"));
}

bool EndsTraining(const EngineCall& call, Engine engine) {
  const std::string_view name = ClassOf(call.op);
  if (!call.backward) return false;
  if (engine == Engine::kMegatron) return name == "GPTModel";
  return name == "Qwen2Model" || name == "Qwen3Model" || name == "Qwen3MoeModel";
}

}  // namespace sonde::precision
