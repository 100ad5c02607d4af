// What a recording keeps of compiled code, whose kernels are called by generated Python modules.
//
//   call site   the line of the generated module that calls a kernel. Operators and kernels there
//               have a call stack also where stacks are not recorded: the innermost frames
//   graph       metadata "compiled_graph:<file>", written by python/sonde/torch/_graphs.py:
//               {"modules": [[path, class, module around it or -1]],
//                "frames": [[file, line, function]],
//                "sites": {"<line>": {"kernel", "module", "also": [..], "frames": [..],
//                                     "lines": [..], "operators": [..], "output", "by",
//                                     "bytes", "flops"}},
//                "file", "backward", "compile_id", "key", "prefix", "by"}
//               numbers in a site are those of modules and frames, innermost frame first;
//               "prefix": path of the compiled module in its model, "by": how the modules were
//               found where not by the compiler's notes
#pragma once

#include <cstddef>
#include <string_view>

namespace sonde::capture {

// Of a call site: the line itself is behind frames of torch and of ours.
inline constexpr size_t kCallSiteFrames = 4;

inline constexpr std::string_view kCompiledGraphKey = "compiled_graph:";

// Arguments that an import gives to kernels of compiled code, and to calls of modules there; bytes
// and FLOPs of a kernel have the keys of args.h, as text.
inline constexpr std::string_view kKeyCompiled = "compiled";
inline constexpr std::string_view kKeyCompiledModule = "module";
inline constexpr std::string_view kKeyFusedWith = "fused with";
inline constexpr std::string_view kKeyOperators = "operators";
inline constexpr std::string_view kKeyLines = "lines";
inline constexpr std::string_view kKeyOutput = "output";
inline constexpr std::string_view kKeyCall = "call";
inline constexpr std::string_view kKeyKnownBy = "module known by";

// The range around the kernels of a graph, by its name.
inline constexpr std::string_view kCompiledGraphRange = "## Call CompiledFxGraph";

}  // namespace sonde::capture
