// Where the parts of this installation lie: the binary, the recorder's libraries, the Python
// package.
//
// Two shapes are known, distinguished by the files that exist:
//   installed  <home>/bin/sonde, <home>/lib/libsonde_record.so, <home>/_inject/ (home = the
//   package) built      <repo>/build/<preset>/bin/sonde, .../lib/, <repo>/python/sonde/_inject/
// SONDE_HOME, the folder with bin/ and lib/, overrides where to start.
#pragma once

#include <string>

#include "base/status.h"

namespace sonde::cli {

struct Layout {
  std::string binary;          // absolute path of this program
  std::string home;            // folder with bin/ and lib/
  std::string library_folder;  // <home>/lib
  std::string python_package;  // the folder `sonde` of the Python package; empty where not found

  // The folder that goes first on PYTHONPATH.
  std::string InjectFolder() const { return python_package + "/_inject"; }
  // Holds the package: for sys.path.
  std::string PythonFolder() const;
};

// `binary`: this program's path; `sonde_home`: the variable's value, or null.
Layout FindLayout(const std::string& binary, const char* sonde_home);

// The path of the running program.
Result<std::string> SelfPath();

}  // namespace sonde::cli
