// Raw records of a device: time to read them, and time to make their store.
//
// Usage: sonde_raw_bench FOLDER STORE_FOLDER. Prints for each stage the seconds, those of the
// processor, and bytes of records a second of the processor: read (files to rows in memory), write
// (their order and the tables of the store), publish (the rest of the store). Its caller binds it
// to one processor (bench/raw/run.sh).
#include <sys/resource.h>

#include <cstdio>
#include <string>

#include "base/clock.h"
#include "base/files.h"
#include "importers/ascend_raw/files.h"
#include "importers/ascend_raw/import.h"
#include "store/store.h"

namespace {

using sonde::Status;

int64_t CpuNs() {
  rusage usage{};
  getrusage(RUSAGE_SELF, &usage);
  const auto ns = [](const timeval& time) {
    return int64_t{time.tv_sec} * 1'000'000'000 + int64_t{time.tv_usec} * 1000;
  };
  return ns(usage.ru_utime) + ns(usage.ru_stime);
}

class Stopwatch {
 public:
  explicit Stopwatch(double megabytes) : megabytes_(megabytes) {}
  void Lap(const char* stage) {
    const int64_t now_ns = sonde::base::MonotonicRawNs();
    const int64_t cpu_ns = CpuNs();
    const double cpu_s = static_cast<double>(cpu_ns - last_cpu_ns_) / 1e9;
    std::printf("%-8s %6.2f s, %6.2f s of processor: %5.0f MB/s\n", stage,
                static_cast<double>(now_ns - last_ns_) / 1e9, cpu_s, megabytes_ / cpu_s);
    last_ns_ = now_ns;
    last_cpu_ns_ = cpu_ns;
  }

 private:
  double megabytes_;
  int64_t last_ns_ = sonde::base::MonotonicRawNs();
  int64_t last_cpu_ns_ = CpuNs();
};

double MegabytesOf(const std::string& folder) {
  uint64_t bytes = 0;
  for (const std::string& file : sonde::importers::raw::FindFiles(folder).all()) {
    bytes += sonde::base::FileSize(file).value_or(0);
  }
  return static_cast<double>(bytes) / 1e6;
}

Status Run(const std::string& folder, const std::string& store_folder) {
  const double megabytes = MegabytesOf(folder);
  std::printf("%.0f MB\n", megabytes);
  Stopwatch watch(megabytes);
  SONDE_ASSIGN_OR_RETURN(const auto store, sonde::store::Store::Create(sonde::base::JoinPath(
                                               store_folder, "raw_bench.sonde")));
  {
    sonde::importers::TraceRows rows(store_folder);
    sonde::importers::ReadAscendRaw(folder, rows);
    watch.Lap("read");
    SONDE_ASSIGN_OR_RETURN(auto transaction, store->Begin());
    SONDE_RETURN_IF_ERROR(rows.Write(transaction).status());
    SONDE_RETURN_IF_ERROR(transaction.Commit());
  }
  watch.Lap("write");
  SONDE_RETURN_IF_ERROR(store->Publish());
  watch.Lap("publish");
  rusage usage{};
  getrusage(RUSAGE_SELF, &usage);
  std::printf("memory   %ld MB\n", usage.ru_maxrss / 1024);
  return {};
}

}  // namespace

int main(int argc, char** argv) {
  if (argc != 3) {
    std::fprintf(stderr, "usage: %s FOLDER STORE_FOLDER\n", argv[0]);
    return 2;
  }
  const Status status = Run(argv[1], argv[2]);
  if (!status.ok()) std::fprintf(stderr, "%s\n", std::string(status.message()).c_str());
  return status.ok() ? 0 : 1;
}
