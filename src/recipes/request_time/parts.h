// The parts into which the time of a request is split: from the moment when its client had sent it
// to the last byte of its answer. They do not overlap and add up. Everything that names a part
// (columns, texts, the page) takes it from this list; the texts are `request_cause.KEY` and
// `request_part.KEY` in finding/texts.inc.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <string_view>

namespace sonde::recipes {

// P(Part, key, "meaning"). What a step takes longer than steps with such a batch usually do is in
// the parts from `engine` to `slow_step`; the rest of it is in prefill, other_prefill or decode.
#define SONDE_REQUEST_PARTS(P)                                                               \
  P(EventLoop, event_loop,                                                                   \
    "the front-end's event loop stood still: before it saw the request, or with its tokens") \
  P(Tokenizing, tokenizing, "in the front-end, until the engine was asked")                  \
  P(HandOver, hand_over, "until the engine took it from the front-end")                      \
  P(Queue, queue, "in the engine's queue")                                                   \
  P(Prefill, prefill, "computing its own prompt, in steps of usual length")                  \
  P(OtherPrefill, other_prefill, "prompts of others that its steps computed, too")           \
  P(Preemption, preemption, "put back into the queue, and computed again")                   \
  P(Decode, decode, "computing its tokens, in steps of usual length")                        \
  P(Engine, engine, "longer than usual: the engine, outside the work of its ranks")          \
  P(Computing, computing, "longer than usual: the ranks' own work")                          \
  P(Communication, communication, "longer than usual: the ranks communicated")               \
  P(RankWait, rank_wait, "longer than usual: ranks waited for a slower one")                 \
  P(Processor, processor, "a rank, the engine or the front-end's loop had no processor")     \
  P(MajorFaults, major_faults, "pages were read from a disk or swap: the same three waited") \
  P(Compiling, compiling, "longer than usual: code was compiled")                            \
  P(Garbage, garbage_collection, "garbage was collected, in the front-end or in a step")     \
  P(SlowStep, slow_step, "longer than usual: steps whose ranks were not recorded")           \
  P(Delivery, delivery, "from the engine's output to the client, while the loop ran")        \
  P(Unexplained, unexplained, "not explained by anything recorded")

enum class RequestPart : uint8_t {
#define SONDE_REQUEST_PART(part, key, meaning) k##part,
  SONDE_REQUEST_PARTS(SONDE_REQUEST_PART)
#undef SONDE_REQUEST_PART
};

inline constexpr auto kRequestPartKeys = std::to_array<std::string_view>({
#define SONDE_REQUEST_PART(part, key, meaning) #key,
    SONDE_REQUEST_PARTS(SONDE_REQUEST_PART)
#undef SONDE_REQUEST_PART
});
inline constexpr size_t kRequestParts = kRequestPartKeys.size();

constexpr std::string_view KeyOfPart(RequestPart part) {
  return kRequestPartKeys[static_cast<size_t>(part)];
}

// Nanoseconds of each part.
struct PartTimes {
  std::array<int64_t, kRequestParts> ns{};

  int64_t& operator[](RequestPart part) { return ns[static_cast<size_t>(part)]; }
  int64_t operator[](RequestPart part) const { return ns[static_cast<size_t>(part)]; }
  int64_t Sum() const {
    int64_t sum = 0;
    for (const int64_t one : ns) sum += one;
    return sum;
  }
};

}  // namespace sonde::recipes
