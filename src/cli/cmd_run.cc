// `sonde run`: starts a command so that every Python process below it records its PyTorch work, and
// has the captures parsed when it has ended.
#include <CLI/CLI.hpp>
#include <algorithm>
#include <cerrno>
#include <cstdlib>
#include <filesystem>
#include <memory>

#include "base/count_of.h"
#include "base/files.h"
#include "base/host/private_folder.h"
#include "base/strings.h"
#include "cli/analyse_rank.h"
#include "cli/analyse_server.h"
#include "cli/command.h"
#include "cli/run_device.h"
#include "cli/run_dump.h"
#include "cli/run_list.h"
#include "cli/run_options.h"
#include "cli/run_view.h"
#include "cli/supervise.h"
#include "importers/capture/import.h"

namespace sonde::cli {
namespace {

using base::Concat;

constexpr std::string_view kRunExample =
    "sonde run -- python3 train.py\n"
    "sonde run --profile-step-start 5 --profile-step-end 8 --profile-ranks 0 \\\n"
    "    --profile-record-shapes -- torchrun --nproc-per-node 2 train.py\n"
    "sonde run --control http://127.0.0.1:8765 -- vllm serve ...   # POST /start_profile\n"
    "sonde run --dump-config config.json -- python3 generate.py     # values instead of times";

// A flag that stays absent unless it or its "--no-" form is given.
void AddSwitch(CLI::App& app, std::optional<bool>& value, const std::string& group,
               const std::string& name, const std::string& help) {
  app.add_flag_function(
         Concat("--", name, ",!--no-", name), [&value](int64_t count) { value = count > 0; }, help)
      ->group(group);
}

void DeclareSelection(CLI::App& app, RunOptions& options) {
  const std::string group = "When and where";
  app.add_flag("--profile", options.profile,
               "Accepted for MindSpeed-LLM command lines: recording is on anyway")
      ->group(group);
  app.add_option("--profile-step-start", options.step_start,
                 "First step to record, from 0 (default: from the import of torch)")
      ->group(group);
  app.add_option("--profile-step-end", options.step_end,
                 "First step not to record; -1: record to the end")
      ->group(group);
  app.add_option("--profile-step-mark", options.step_mark,
                 "Steps are the ranges of this name (record_function; mstx of MindSpore)")
      ->group(group);
  app.add_option("--profile-ranks", options.ranks, "Ranks to record, as 0 1 or 0,1; -1: all")
      ->delimiter(',')
      ->group(group);
  app.add_option("--control", options.control,
                 "Record on POST /start_profile to http://127.0.0.1:PORT or unix:PATH")
      ->group(group);
  app.add_flag("--view", options.view,
               "Offer a page with buttons that start and stop recording (implies --control "
               "http://127.0.0.1:0)")
      ->group(group);
}

void DeclareDump(CLI::App& app, RunOptions& options) {
  const std::string group = "Values instead of times (precision)";
  app.add_option("--dump-config", options.dump_config,
                 "Dump inputs and outputs of the outermost modules as set in this config.json")
      ->group(group);
  app.add_option(
         "--provide", options.provide,
         "msprobe: its imports in the program reach Sonde's PrecisionDebugger; torch_npu: its "
         "profiler and marks are Sonde's, where there is no NPU")
      ->delimiter(',')
      ->allow_extra_args(false)
      ->group(group);
}

void DeclareContent(CLI::App& app, RunOptions& options) {
  const std::string group = "What is recorded";
  app.add_option("--profile-level", options.level,
                 "level_none, level0 (default), level1 (default of a server), level2")
      ->group(group);
  AddSwitch(app, options.with_cpu, group, "profile-with-cpu", "Host side of the operators (on)");
  AddSwitch(app, options.record_shapes, group, "profile-record-shapes",
            "Shapes and types of the inputs (off)");
  AddSwitch(app, options.with_memory, group, "profile-with-memory",
            "Events of the memory allocator (off)");
  AddSwitch(app, options.with_stack, group, "profile-with-stack", "Python call stacks (off)");
  AddSwitch(app, options.with_modules, group, "profile-with-modules",
            "One range for each nn.Module call (on)");
  AddSwitch(app, options.with_device, group, "profile-with-device",
            "Tasks of an NVIDIA GPU by CUPTI, of an Ascend NPU by CANN's libmspti.so (on where "
            "those are; without the switch torch_npu's own profiler goes first, and its records "
            "are parsed)");
  AddSwitch(app, options.mstx, group, "profile-mstx", "Ranges and marks of the program (on)");
  AddSwitch(app, options.request_text, group, "profile-request-text",
            "Texts of the prompts and answers of a server (off)");
  app.add_option("--profile-gc-threshold-ms", options.gc_threshold_ms,
                 "Garbage collections at least this long; 0: all (default: none)")
      ->group(group);
}

void DeclareKeeping(CLI::App& app, RunOptions& options) {
  app.add_option("--keep-last", options.keep_last_s,
                 "Keep the last SECONDS of a recording only, as a flight recorder does")
      ->check(CLI::Range(int64_t{0}, int64_t{1} << 31))
      ->type_name("SECONDS")
      ->group("When and where");
}

void DeclareOutput(CLI::App& app, RunOptions& options) {
  const std::string group = "What is written";
  app.add_option("--profile-save-path", options.save_path,
                 Concat("Folder for the captures (default: ", kDefaultSavePath, ")"))
      ->group(group);
  app.add_option("--profile-max-size", options.max_size,
                 "A recording ends when its capture has this size: 4G, 500M (servers: 4G, else no "
                 "limit)")
      ->group(group);
  app.add_option("--profile-max-seconds", options.max_seconds,
                 "A recording ends after so many seconds (servers: 1800, else no limit)")
      ->group(group);
  app.add_option("--profile-export-type", options.export_types, "text (default), db, or text,db")
      ->delimiter(',')
      ->group(group);
  AddSwitch(app, options.data_simplification, group, "profile-data-simplification",
            "Remove the raw capture after parsing (off)");
  AddSwitch(app, options.analyse, group, "analyse",
            "Parse the captures into ASCEND_PROFILER_OUTPUT (on)");
  AddSwitch(app, options.wait, group, "profile-wait",
            "/stop_profile of a vLLM server answers when the files are there (off)");
  AddSwitch(app, options.routes, group, "profile-routes",
            "A vLLM server gets its profiling routes without --profiler-config (on)");
  app.add_flag_function(
         "-q,--quiet", [&options](int64_t) { options.quiet = true; },
         "No lines on standard error except errors")
      ->group(group);
}

using FileTime = std::filesystem::file_time_type;

// A file in the temporary folder that goes with the object.
class RunListFile {
 public:
  static Result<RunListFile> Create() {
    SONDE_ASSIGN_OR_RETURN(auto folder, base::PrivateFolder::Make("run"));
    RunListFile file(std::move(folder));
    SONDE_RETURN_IF_ERROR(base::WriteFileAtomically(file.path_, ""));
    return file;
  }
  const std::string& path() const { return path_; }
  FileTime created() const { return created_; }

 private:
  explicit RunListFile(std::unique_ptr<base::PrivateFolder> folder)
      : folder_(std::move(folder)), path_(base::JoinPath(folder_->path(), "list")) {}
  std::unique_ptr<base::PrivateFolder> folder_;
  std::string path_;
  FileTime created_ = FileTime::clock::now();
};

// Our folders first, then what the user has.
std::string PythonPath(const std::string& folders) {
  const char* theirs = std::getenv("PYTHONPATH");
  if (theirs == nullptr || *theirs == '\0') return folders;
  const std::string_view text = theirs;
  if (text == folders || text.starts_with(folders + ":")) return std::string(text);
  return Concat(folders, ":", text);
}

// --profile-data-simplification: the analysis removed the records that its store holds wholly.
void ReportKeptRecords(const std::vector<std::string>& captures) {
  for (const std::string& capture : captures) {
    if (!IsAnalysed(capture)) continue;
    const std::string folder = base::JoinPath(capture, "SONDE");
    if (importers::IsCapture(folder)) {
      PrintNotice(
          Concat("the records in '", folder, "' stay: the store next to them is not complete"));
    } else {
      ::rmdir(folder.c_str());  // goes where nothing is left in it
    }
  }
}

// Parses what the processes themselves did not, and sums up all; to standard error, because
// standard output is the program's.
void AnalyseCaptures(const Context& context, const RunOptions& options, const RunList& list) {
  std::vector<std::string> captures;
  for (const std::string& capture : list.captures) {
    if (base::IsDirectory(capture)) captures.push_back(capture);
  }
  // Sessions are summed up by their server, which may have ended in one.
  for (const std::string& session : list.sessions) {
    if (base::IsDirectory(session) && !IsServed(session)) captures.push_back(session);
  }
  if (captures.empty()) return;
  std::vector<std::string> words = {context.layout.binary, "analyse", "--only-missing"};
  words.insert(words.end(), captures.begin(), captures.end());
  for (const std::string& type : options.export_types) {
    words.insert(words.end(), {"--export-type", type});
  }
  const bool is_quiet = options.quiet.value_or(false);
  const Result<ProgramEnd> end = Supervise({.path = words.front(),
                                            .words = words,
                                            .variables = {{kQuietVariable, is_quiet ? "1" : "0"}},
                                            .stdout_to_stderr = !is_quiet,
                                            .without_stdout = is_quiet});
  if (end.ok() && end->exit_status == 0) return;
  // The parser has reported the error; this adds what remains and how to continue.
  std::erase_if(captures, &IsAnalysed);
  PrintError(Concat("captures could not be parsed",
                    end.ok() ? "" : Concat(" (", end.status().message(), ")"),
                    ": they stay in place; later: sonde analyse ", base::Join(captures, " ")));
}

// The span folders that a forked child left, if it recorded anything.
void AddCapturesOf(const ForkedProcess& child, FileTime run_start,
                   std::vector<std::string>& captures) {
  const auto entries = base::ListDirectory(child.folder);
  if (!entries.ok()) return;
  for (const base::DirectoryEntry& entry : *entries) {
    if (entry.name.find(Concat("_", child.pid, "_")) == std::string::npos) continue;
    const std::string path = base::JoinPath(child.folder, entry.name);
    const std::string records = base::JoinPath(path, "SONDE");
    if (!importers::IsCapture(records)) continue;
    std::error_code error;
    // Not that of an older process with the same number.
    if (std::filesystem::last_write_time(records, error) >= run_start) captures.push_back(path);
  }
}

// Span folders that helper processes of this run left. Theirs may be hundreds (a data loader starts
// new ones for every epoch), so they are parsed only when the user asks for it.
std::vector<std::string> WorkerCaptures(const RunList& list, FileTime run_start) {
  std::vector<std::string> found;
  for (const std::string& path : list.workers) {
    if (importers::IsCapture(base::JoinPath(path, "SONDE"))) found.push_back(path);
  }
  for (const ForkedProcess& child : list.forked) {
    if (child.is_helper) AddCapturesOf(child, run_start, found);
  }
  return found;
}

void ReportRun(const Context& context, const RunOptions& options, const RunListFile& list_file,
               bool has_failed) {
  const Result<std::string> text = base::ReadFile(list_file.path());
  if (!text.ok()) {
    PrintError(text.status().message());
    return;
  }
  RunList list = ParseRunList(*text);
  for (const ForkedProcess& child : list.forked) {
    if (!child.is_helper) AddCapturesOf(child, list_file.created(), list.captures);
  }
  if (options.analyse.value_or(true)) AnalyseCaptures(context, options, list);
  if (options.data_simplification.value_or(false)) ReportKeptRecords(list.captures);
  if (options.quiet.value_or(false)) return;
  if (list.captures.empty()) {
    PrintNotice(NothingRecordedReason(list, has_failed));
    return;
  }
  for (const std::string& reason : list.failed) PrintNotice(Concat("not recorded: ", reason));
  for (const std::string& line : MissingLines(list)) PrintNotice(line);
  std::vector<std::string> kept;
  std::copy_if(list.captures.begin(), list.captures.end(), std::back_inserter(kept),
               [](const std::string& path) { return base::IsDirectory(path); });
  PrintNotice(Concat("recorded: ", FoldersInWords(kept)));
  const std::vector<std::string> workers = WorkerCaptures(list, list_file.created());
  if (workers.empty()) return;
  PrintNotice(
      Concat("recorded, too: ", base::CountOf(workers.size(), "helper process", "helper processes"),
             " (data loader workers and the like); parse them by: sonde analyse ",
             base::DirName(workers.front())));
}

void ReportDump(const RunListFile& list_file) {
  const Result<std::string> text = base::ReadFile(list_file.path());
  if (!text.ok()) return;
  const std::string reason = NothingDumpedReason(ParseRunList(*text));
  if (!reason.empty()) PrintNotice(reason);
}

// Takes the values of environment variables into the options. An error is one of usage.
Status CompleteOptions(const Context& context, RunOptions& options) {
  if (context.command_line.empty()) {
    return InvalidArgumentError("no command to run: sonde run [OPTIONS] -- COMMAND...");
  }
  SONDE_RETURN_IF_ERROR(ReadVariables(&std::getenv, options));
  if (options.view && !options.control) options.control = "http://127.0.0.1:0";
  SONDE_RETURN_IF_ERROR(CheckRunOptions(options));
  SONDE_RETURN_IF_ERROR(CheckProvided(options));
  return IsDump(options) ? CheckDump(options) : Status::Ok();
}

EnvironmentVariables VariablesOf(const Context& context, const RunOptions& options,
                                 const RunListFile& list) {
  EnvironmentVariables variables = ToEnvironment(options);
  std::string python_folders = context.layout.InjectFolder();
  const bool is_dump = IsDump(options);
  python_folders += ProvidedFolders(options, context.layout);
  if (options.dump_config) {
    variables.emplace_back("SONDE_DUMP_CONFIG", base::AbsolutePath(*options.dump_config));
  }
  if (const auto library = FindMspti(&std::getenv);
      library && !is_dump && options.with_device.value_or(true)) {
    AddDeviceVariables(*library, &std::getenv, variables);
  }
  variables.emplace_back("SONDE_ATTACH", is_dump ? "dump" : "profile");
  variables.emplace_back("SONDE_HOME", context.layout.home);
  variables.emplace_back("SONDE_RUN_LIST", list.path());
  variables.emplace_back("PYTHONPATH", PythonPath(python_folders));
  return variables;
}

// The program finds the packages that it asked for, and nothing is recorded.
EnvironmentVariables VariablesWithoutRecording(const Context& context, const RunOptions& options) {
  EnvironmentVariables variables = {{"SONDE_ATTACH", "0"}};
  const std::string folders = ProvidedFolders(options, context.layout);
  if (!folders.empty()) {
    variables.emplace_back("SONDE_HOME", context.layout.home);
    variables.emplace_back("PYTHONPATH",
                           PythonPath(folders.substr(folders.find_first_not_of(':'))));
  }
  return variables;
}

// What a recording needs on this machine.
Result<RunListFile> Prepare(const Context& context, const RunOptions& options,
                            const std::string& save_path) {
  if (!IsDump(options)) {
    SONDE_RETURN_IF_ERROR(base::CheckWritableDirectory(save_path).Annotate("--profile-save-path"));
  }
  if (context.layout.python_package.empty()) {
    return NotFoundError(Concat("Sonde's Python package was not found near '", context.layout.home,
                                "' (set SONDE_HOME to the folder that holds bin/ and lib/)"));
  }
  return RunListFile::Create();
}

// A folder that the user names and that cannot be used is a mistake to repair first; that there is
// no space, or no place of the machine's own, is none of hers.
bool IsWrongPath(const RunOptions& options, const Status& status) {
  const bool is_path = options.save_path && status.message().starts_with("--profile-save-path");
  return is_path && status.code() != StatusCode::kResourceExhausted;
}

Result<int> RunProgram(const Context& context, RunOptions options) {
  const Status status = CompleteOptions(context, options);
  if (!status.ok()) return WrongUsage(context, status.message());
  const bool is_dump = IsDump(options);
  const std::string save_path = options.save_path.value_or(kDefaultSavePath);
  const Result<std::string> program = FindProgram(context.command_line.front());
  if (!program.ok()) {
    PrintError(program.status().message());
    return program.status().code() == StatusCode::kNotFound ? kExitNotFound : kExitNotExecutable;
  }
  const Result<RunListFile> list = Prepare(context, options, save_path);
  if (!list.ok() && IsWrongPath(options, list.status())) return list.status();
  std::optional<LivePage> page;
  if (!list.ok()) {
    // The work of the program matters more than its recording.
    PrintError(Concat("the program runs without recording: ", list.status().message()));
  } else if (options.view) {
    SONDE_ASSIGN_OR_RETURN(LivePage started,
                           LivePage::Start(context.layout.binary, list->path(), save_path));
    page.emplace(std::move(started));
  }
  const Result<ProgramEnd> end =
      Supervise({.path = *program,
                 .words = context.command_line,
                 .variables = list.ok() ? VariablesOf(context, options, *list)
                                        : VariablesWithoutRecording(context, options)});
  if (!end.ok()) {
    PrintError(end.status().message());
    return kExitNotExecutable;
  }
  if (!is_dump && list.ok()) ReportRun(context, options, *list, end->exit_status != 0);
  if (options.dump_config && list.ok()) ReportDump(*list);
  if (page) page->StayOpen();
  page.reset();
  if (end->signal == 0) return end->exit_status;
  if (list.ok()) unlink(list->path().c_str());
  EndLike(*end);
}

CommandAction DeclareRun(CLI::App& app) {
  auto options = std::make_shared<RunOptions>();
  DeclareSelection(app, *options);
  DeclareKeeping(app, *options);
  DeclareContent(app, *options);
  DeclareOutput(app, *options);
  DeclareDump(app, *options);
  return [options](const Context& context) { return RunProgram(context, *options); };
}

}  // namespace

Command RunCommand() {
  return {.name = "run",
          .summary = "Run a command and record its PyTorch work, without changing its code",
          .example = kRunExample,
          .declare = &DeclareRun,
          .takes_command_line = true};
}

}  // namespace sonde::cli
