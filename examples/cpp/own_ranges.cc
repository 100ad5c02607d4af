// A C++ program with ranges of its own. Built with it: build/<preset>/bin/example_own_ranges.
//   SONDE_RECORD=1 SONDE_SAVE_PATH=captures ./example_own_ranges
#include <sonde/sonde.hpp>
#include <thread>
#include <vector>

double Work(int rows) {
  SONDE_SCOPE("work");  // a range until the end of the function
  double sum = 0;
  for (int i = 0; i < rows * 1000; ++i) sum += i * 0.5;
  return sum;
}

int main() {
  sonde_thread_name("main loop");
  double result = 0;
  for (int step = 0; step < 10; ++step) {
    sonde_step(step);  // one ProfilerStep# a round
    std::vector<std::thread> workers;
    for (int w = 0; w < 2; ++w) workers.emplace_back([step] { Work(step); });
    result += Work(step);
    for (std::thread& worker : workers) worker.join();
    sonde::Counter("result", result);
  }
  sonde_step(-1);
  return result > 0 ? 0 : 1;
}
