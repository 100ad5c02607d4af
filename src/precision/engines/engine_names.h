// The names under which a training engine and an inference engine know the same call.
//
// Pure, any thread.
#pragma once

#include <string>
#include <string_view>

#include "precision/compare/comparison.h"

namespace sonde::precision {

// "Module.model.layers.3.self_attn.q_proj.Linear.forward.0" taken apart.
struct EngineCall {
  std::string_view op;         // "Module.model.layers.3.self_attn.q_proj.Linear"
  std::string_view direction;  // "forward.0", "0.forward" (APIs), "parameters_grad"; empty: no call
  bool forward = false;
  bool backward = false;
};
EngineCall TakeApart(std::string_view api);

// The text that is equal for calls of the same module: layer and module, the module under the name
// that the inference engine has for it.
std::string TrainingKey(std::string_view op, Engine engine);
std::string InferenceKey(std::string_view op, Engine engine);

// Where the forward pass of the training engine begins, and where its backward pass begins: what
// lies between is compared.
bool BeginsTraining(const EngineCall& call, Engine engine);
bool EndsTraining(const EngineCall& call, Engine engine);

}  // namespace sonde::precision
