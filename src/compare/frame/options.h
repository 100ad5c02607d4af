// Scope and method of a comparison: the options of the command line that the sheets know.
#pragma once

#include <cstdint>
#include <map>
#include <string>

namespace sonde::compare {

struct Options {
  // Which sheets; none of them means all.
  bool profiling = false;
  bool operators = false;
  bool memory = false;
  bool communication = false;
  bool api = false;
  bool kernels = false;
  // How.
  bool disable_details = false;
  bool disable_module = false;
  bool use_input_shape = false;
  bool use_kernel_type = false;
  int64_t max_kernel_num = -1;                  // -1: operators are not divided
  std::map<std::string, std::string> name_map;  // operators of the base by their other name

  bool WantsAll() const {
    return !(profiling || operators || memory || communication || api || kernels);
  }
};

}  // namespace sonde::compare
