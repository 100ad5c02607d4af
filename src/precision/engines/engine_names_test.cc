#include "precision/engines/engine_names.h"

#include <gtest/gtest.h>

namespace sonde::precision {
namespace {

TEST(EngineNames, CallsAreTakenApart) {
  const EngineCall module = TakeApart("Module.model.layers.0.mlp.MLP.forward.3");
  EXPECT_EQ(module.op, "Module.model.layers.0.mlp.MLP");
  EXPECT_EQ(module.direction, "forward.3");
  EXPECT_TRUE(module.forward);
  const EngineCall api = TakeApart("Functional.linear.7.backward");
  EXPECT_EQ(api.op, "Functional.linear");
  EXPECT_EQ(api.direction, "7.backward");
  EXPECT_TRUE(api.backward);
  EXPECT_EQ(TakeApart("Module.a.B.parameters_grad").direction, "parameters_grad");
  for (const char* other : {"", "forward", "Module", "Torch.mm", "forward.0"}) {
    EXPECT_EQ(TakeApart(other).direction, "") << other;
  }
}

TEST(EngineNames, FsdpAndInferenceMeet) {
  const std::string whole =
      InferenceKey("Module.model.layers.11.self_attn.qkv_proj.QKVParallelLinear", Engine::kFsdp);
  for (const char* part : {"q_proj", "k_proj", "v_proj"}) {
    const std::string op = std::string(
                               "Module._fsdp_wrapped_module.model.layers.11."
                               "_fsdp_wrapped_module.self_attn.") +
                           part + ".Linear";
    EXPECT_EQ(TrainingKey(op, Engine::kFsdp), whole);
  }
  EXPECT_EQ(TrainingKey("Module._fsdp_wrapped_module.model.embed_tokens.Embedding", Engine::kFsdp),
            InferenceKey("Module.model.embed_tokens.VocabParallelEmbedding", Engine::kFsdp));
  EXPECT_NE(TrainingKey("Module._fsdp_wrapped_module.model.layers.1.x.o_proj.L", Engine::kFsdp),
            InferenceKey("Module.model.layers.11.x.o_proj.L", Engine::kFsdp));
}

TEST(EngineNames, MegatronAndInferenceMeet) {
  struct Pair {
    const char* training;
    const char* inference;
  };
  for (const Pair& pair : {
           Pair{"Module.0.module.module.embedding.word_embeddings.VocabParallelEmbedding",
                "Module.model.embed_tokens.VocabParallelEmbedding"},
           Pair{"Module.0.module.module.decoder.layers.2.self_attention.linear_qkv.Linear",
                "Module.model.layers.2.self_attn.qkv_proj.QKVParallelLinear"},
           Pair{"Module.0.module.module.decoder.layers.2.mlp.router.TopKRouter",
                "Module.model.layers.2.mlp.gate.ReplicatedLinear"},
           Pair{"Module.0.module.module.decoder.layers.2.mlp.linear_fc2.Linear",
                "Module.model.layers.2.mlp.down_proj.RowParallelLinear"},
       }) {
    EXPECT_EQ(TrainingKey(pair.training, Engine::kMegatron),
              InferenceKey(pair.inference, Engine::kMegatron))
        << pair.training;
  }
}

// Calls of functions have no module; two of them are the same only by their own name.
TEST(EngineNames, FunctionsKeepTheirName) {
  EXPECT_EQ(TrainingKey("Functional.silu", Engine::kFsdp),
            InferenceKey("Functional.silu", Engine::kFsdp));
  EXPECT_NE(TrainingKey("Functional.silu", Engine::kFsdp),
            InferenceKey("Functional.linear", Engine::kFsdp));
}

TEST(EngineNames, TheComparedPass) {
  const auto call = [](const char* name) { return TakeApart(name); };
  EXPECT_TRUE(BeginsTraining(call("Module.model.e.Embedding.forward.0"), Engine::kFsdp));
  EXPECT_FALSE(BeginsTraining(call("Module.model.e.Embedding.backward.0"), Engine::kFsdp));
  EXPECT_FALSE(BeginsTraining(call("Module.m.VocabParallelEmbedding.forward.0"), Engine::kFsdp));
  EXPECT_TRUE(BeginsTraining(call("Module.m.VocabParallelEmbedding.forward.0"), Engine::kMegatron));
  EXPECT_TRUE(EndsTraining(call("Module.model.Qwen3MoeModel.backward.0"), Engine::kFsdp));
  EXPECT_FALSE(EndsTraining(call("Module.model.Qwen3MoeModel.forward.0"), Engine::kFsdp));
  EXPECT_TRUE(EndsTraining(call("Module.0.GPTModel.backward.0"), Engine::kMegatron));
}

}  // namespace
}  // namespace sonde::precision
