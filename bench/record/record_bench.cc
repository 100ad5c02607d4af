// What one range costs, begin to end: two bare readings of the processor's counter, Sonde not
// attached, Sonde recording through its C interface and through the adapters' inline path, and an
// LTTng-UST pair of events when its session runs. All variants alternate in one process.
//
//   record_bench [--threads N] [--sessions N] [--json]     (bench/record/run.sh does all of it)
//
// A round is one batch of each variant, timed by the CPU time of its thread; between batches the
// drain thread gets time, so that no ring runs full. Threads record into rings in their steady
// state, once round; the first batch of a session is reported beside. Reported is the lower
// quartile over the rounds, which a busy machine disturbs least, and beside it the median.
#include <time.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <barrier>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <string>
#include <thread>
#include <vector>

#include "record/fast_path.h"
#include "sonde/sonde.hpp"

#if defined(SONDE_BENCH_LTTNG)
extern "C" void bench_lttng_pairs(unsigned count, unsigned name);
#endif

namespace {

constexpr unsigned kBatch = 10'000;
constexpr uint32_t kRingSlots = 64 * 1024;  // the default
constexpr int kRoundsOfSession = 20;
sonde_name name;

void CounterPairs(unsigned count) {
  for (unsigned i = 0; i < count; ++i) {
    const uint64_t begin = sonde::record::Ticks(true);
    asm volatile("" ::"r"(begin));
    const uint64_t end = sonde::record::Ticks(true);
    asm volatile("" ::"r"(end));
  }
}

void ApiPairs(unsigned count) {
  for (unsigned i = 0; i < count; ++i) {
    sonde_range_push(name, 0);
    sonde_range_pop();
  }
}

void ScopePairs(unsigned count) {
  for (unsigned i = 0; i < count; ++i) {
    SONDE_SCOPE("bench");
  }
}

void InlinePairs(unsigned count) {
  for (unsigned i = 0; i < count; ++i) {
    const uint32_t word = sonde::record::SessionWord();
    if (word == 0) continue;
    sonde::record::PushOpen(word, sonde::record::RecordKind::kOp, 0, name, 0, 0, -1);
    sonde::record::PopClose(word);
  }
}

#if defined(SONDE_BENCH_LTTNG)
void LttngPairs(unsigned count) { bench_lttng_pairs(count, name); }
#endif

struct Variant {
  const char* label;
  void (*run)(unsigned);
  bool recording;  // inside a Sonde session?
};

constexpr Variant kVariants[] = {
    {"two_counter_reads", CounterPairs, false}, {"api_not_attached", ApiPairs, false},
    {"scope_not_attached", ScopePairs, false},  {"api_attached", ApiPairs, true},
    {"scope_attached", ScopePairs, true},       {"inline_attached", InlinePairs, true},
#if defined(SONDE_BENCH_LTTNG)
    {"lttng_pair", LttngPairs, false},
#endif
};
constexpr size_t kVariantCount = sizeof(kVariants) / sizeof(kVariants[0]);

double ThreadCpuNs() {
  timespec now{};
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
  return static_cast<double>(now.tv_sec) * 1e9 + static_cast<double>(now.tv_nsec);
}

void Pause(long ns) {
  const timespec pause{0, ns};
  nanosleep(&pause, nullptr);
}

struct Settings {
  int threads = 1;
  int sessions = 10;
  bool json = false;
};

using Samples = std::vector<double>;

double Quantile(Samples samples, double q) {
  std::sort(samples.begin(), samples.end());
  return samples[static_cast<size_t>(q * static_cast<double>(samples.size() - 1))];
}

// The threads that record: the same ones all the time, as rings belong to threads.
class Workers {
 public:
  explicit Workers(int threads) : ns_(static_cast<size_t>(threads)), barrier_(threads + 1) {
    for (int t = 0; t < threads; ++t) threads_.emplace_back([this, t] { Loop(t); });
  }
  ~Workers() {
    run_ = nullptr;
    barrier_.arrive_and_wait();
    for (std::thread& thread : threads_) thread.join();
  }
  Workers(const Workers&) = delete;
  Workers& operator=(const Workers&) = delete;

  // One batch of a variant on all threads at once; ns a range, one sample a thread.
  void RunBatch(void (*run)(unsigned), Samples* samples) {
    run_ = run;
    barrier_.arrive_and_wait();
    barrier_.arrive_and_wait();
    samples->insert(samples->end(), ns_.begin(), ns_.end());
  }

 private:
  void Loop(int t) {
    for (;;) {
      barrier_.arrive_and_wait();
      if (run_ == nullptr) return;
      run_(100);  // the thread's ring exists, code and data are warm
      const double begin = ThreadCpuNs();
      run_(kBatch);
      ns_[static_cast<size_t>(t)] = (ThreadCpuNs() - begin) / kBatch;
      barrier_.arrive_and_wait();
    }
  }

  void (*run_)(unsigned) = nullptr;
  std::vector<double> ns_;
  std::barrier<> barrier_;
  std::vector<std::thread> threads_;
};

sonde_session_status SessionStatus() {
  sonde_session_status status{};
  status.struct_size = sizeof(status);
  sonde_session_get_status(&status);
  return status;
}

bool StartSession(const std::string& directory) {
  sonde_session_config config{};
  config.struct_size = sizeof(config);
  config.directory = directory.c_str();
  config.ring_slots = kRingSlots;
  if (sonde_session_start(&config) == 0) return true;
  fprintf(stderr, "record_bench: %s\n", sonde_last_error());
  return false;
}

void RunVariants(bool recording, Workers* workers, std::vector<Samples>* samples) {
  for (size_t v = 0; v < kVariantCount; ++v) {
    if (kVariants[v].recording != recording) continue;
    workers->RunBatch(kVariants[v].run, &(*samples)[v]);
    if (recording) Pause(15'000'000);  // for the drain thread
  }
}

// A session of several rounds: the first one, on memory never touched before, is reported by
// itself.
bool RunSession(Workers* workers, const std::string& directory, std::vector<Samples>* samples,
                Samples* first, uint64_t* dropped) {
  for (int round = 0; round < kRoundsOfSession; ++round) RunVariants(false, workers, samples);
  if (!StartSession(directory)) return false;
  workers->RunBatch(ApiPairs, first);
  for (uint32_t used = kBatch; used < kRingSlots; used += kBatch) {  // once round the ring
    Pause(15'000'000);
    Samples ignored;
    workers->RunBatch(ApiPairs, &ignored);
  }
  for (int round = 0; round < kRoundsOfSession; ++round) RunVariants(true, workers, samples);
  sonde_session_discard();
  *dropped += SessionStatus().dropped;
  return true;
}

// Microseconds that the first record of a new thread takes, of threads a millisecond apart.
bool FirstRecords(const std::string& directory, Samples* samples) {
  constexpr int kNewThreads = 500;
  if (!StartSession(directory)) return false;
  for (int i = 0; i < kNewThreads; ++i) {
    std::thread([&] {
      const auto begin = std::chrono::steady_clock::now();
      sonde_mark(name, 0, 0);
      const std::chrono::duration<double, std::micro> took =
          std::chrono::steady_clock::now() - begin;
      samples->push_back(took.count());
    }).join();
    Pause(1'000'000);
  }
  sonde_session_discard();
  return true;
}

void Report(const Settings& settings, const std::vector<Samples>& samples, const Samples& first,
            uint64_t dropped) {
  if (settings.json) {
    printf("{\"threads\": %d, \"dropped\": %llu, \"ns\": {\"first_of_session\": %.2f",
           settings.threads, static_cast<unsigned long long>(dropped), Quantile(first, 0.25));
  }
  for (size_t v = 0; v < kVariantCount; ++v) {
    const double low = Quantile(samples[v], 0.25);
    if (settings.json) {
      printf(", \"%s\": %.2f", kVariants[v].label, low);
    } else {
      printf("%-20s %8.1f ns a range (median %.1f)\n", kVariants[v].label, low,
             Quantile(samples[v], 0.5));
    }
  }
  if (settings.json) {
    printf("}}\n");
    return;
  }
  printf("%-20s %8.1f ns a range (memory not yet touched)\n", "first_of_session",
         Quantile(first, 0.25));
  if (dropped != 0) printf("records dropped: %llu\n", static_cast<unsigned long long>(dropped));
}

}  // namespace

int main(int argc, char** argv) {
  Settings settings;
  for (int i = 1; i < argc; ++i) {
    if (std::strcmp(argv[i], "--threads") == 0 && i + 1 < argc) {
      settings.threads = std::max(1, std::atoi(argv[++i]));
    } else if (std::strcmp(argv[i], "--sessions") == 0 && i + 1 < argc) {
      settings.sessions = std::max(1, std::atoi(argv[++i]));
    } else if (std::strcmp(argv[i], "--json") == 0) {
      settings.json = true;
    } else {
      fprintf(stderr, "usage: record_bench [--threads N] [--sessions N] [--json]\n");
      return 2;
    }
  }
  name = sonde::Intern("bench");
  char directory[] = "/tmp/sonde_record_bench_XXXXXX";
  if (mkdtemp(directory) == nullptr) {
    perror("record_bench: mkdtemp");
    return 1;
  }
  std::vector<Samples> samples(kVariantCount);
  Samples first;
  uint64_t dropped = 0;
  Workers workers(settings.threads);
  bool ok = true;
  for (int session = 0; ok && session < settings.sessions; ++session) {
    ok = RunSession(&workers, directory, &samples, &first, &dropped);
  }
  Samples first_records;
  ok = ok && FirstRecords(directory, &first_records);
  rmdir(directory);
  if (!ok) return 1;
  Report(settings, samples, first, dropped);
  if (!settings.json) {
    printf("%-20s %8.1f us (median %.1f)\n", "first_of_thread", Quantile(first_records, 0.25),
           Quantile(first_records, 0.5));
  }
  return 0;
}
