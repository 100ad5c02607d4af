// The fast path as an adapter compiles it; check_fast_path.py looks at the instructions.
#include "record/fast_path.h"

extern "C" void probe_push(uint32_t name, uint32_t args) {
  const uint32_t word = sonde::record::SessionWord();
  if (word == 0) return;
  sonde::record::PushOpen(word, sonde::record::RecordKind::kOp, 0, name, args, 0, -1);
}

extern "C" void probe_pop(void) {
  const uint32_t word = sonde::record::SessionWord();
  if (word != 0) sonde::record::PopClose(word);
}

extern "C" void probe_complete(uint32_t name, uint64_t start_ticks, uint64_t end_ticks) {
  const uint32_t word = sonde::record::SessionWord();
  if (word == 0) return;
  sonde::record::EmitComplete(word, sonde::record::RecordKind::kOp, 0, name, 0, 0, -1, start_ticks,
                              end_ticks);
}

extern "C" void probe_memory(const sonde_memory_event* event) {
  const uint32_t word = sonde::record::SessionWord();
  if (word != 0) sonde::record::EmitMemory(word, *event);
}
