#include "cluster/calibrate_npu_gpu/close_match.h"

#include <array>
#include <cstddef>
#include <utility>

namespace sonde::cluster {
namespace {

struct Block {
  size_t a = 0;
  size_t b = 0;
  size_t size = 0;
};

struct Window {
  size_t a_begin = 0;
  size_t a_end = 0;
  size_t b_begin = 0;
  size_t b_end = 0;
};

class Matcher {
 public:
  Matcher(std::string_view a, std::string_view b) : a_(a), b_(b) {
    for (size_t i = 0; i < b.size(); ++i) places_[Byte(b[i])].push_back(i);
    constexpr size_t kLong = 200;
    if (b.size() < kLong) return;
    for (auto& list : places_) {
      if (list.size() > b.size() / 100 + 1) list.clear();
    }
  }

  size_t Matching() const {
    size_t sum = 0;
    std::vector<Window> open = {{0, a_.size(), 0, b_.size()}};
    while (!open.empty()) {
      const Window window = open.back();
      open.pop_back();
      const Block block = Longest(window);
      if (block.size == 0) continue;
      sum += block.size;
      open.push_back({window.a_begin, block.a, window.b_begin, block.b});
      open.push_back({block.a + block.size, window.a_end, block.b + block.size, window.b_end});
    }
    return sum;
  }

 private:
  static size_t Byte(char c) { return static_cast<unsigned char>(c); }

  Block Longest(const Window& window) const {
    Block best{window.a_begin, window.b_begin, 0};
    std::vector<size_t> before(b_.size() + 1, 0);  // length of the run that ends at [b - 1]
    std::vector<size_t> now(b_.size() + 1, 0);
    for (size_t i = window.a_begin; i < window.a_end; ++i) {
      now.assign(now.size(), 0);
      for (const size_t j : places_[Byte(a_[i])]) {
        if (j < window.b_begin || j >= window.b_end) continue;
        now[j + 1] = before[j] + 1;
        if (now[j + 1] > best.size) best = {i + 1 - now[j + 1], j + 1 - now[j + 1], now[j + 1]};
      }
      std::swap(before, now);
    }
    Widen(window, best);
    return best;
  }

  // By what begins no block.
  void Widen(const Window& window, Block& block) const {
    while (block.a > window.a_begin && block.b > window.b_begin &&
           a_[block.a - 1] == b_[block.b - 1]) {
      --block.a;
      --block.b;
      ++block.size;
    }
    while (block.a + block.size < window.a_end && block.b + block.size < window.b_end &&
           a_[block.a + block.size] == b_[block.b + block.size]) {
      ++block.size;
    }
  }

  std::string_view a_;
  std::string_view b_;
  std::array<std::vector<size_t>, 256> places_;
};

}  // namespace

double MatchRatio(std::string_view text, std::string_view wanted) {
  const size_t length = text.size() + wanted.size();
  if (length == 0) return 1;
  return 2.0 * static_cast<double>(Matcher(text, wanted).Matching()) / static_cast<double>(length);
}

const std::string* CloseMatch(std::string_view wanted, const std::vector<std::string>& choices,
                              double cutoff) {
  const std::string* best = nullptr;
  double most = cutoff;
  for (const std::string& choice : choices) {
    const double ratio = MatchRatio(choice, wanted);
    const bool is_better = ratio > most || (ratio == most && (best == nullptr || choice > *best));
    if (!is_better) continue;
    most = ratio;
    best = &choice;
  }
  return best;
}

}  // namespace sonde::cluster
