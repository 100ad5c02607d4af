#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <CLI/CLI.hpp>
#include <memory>

#include "base/strings.h"
#include "cli/commands.h"

namespace sonde::cli {
namespace {

using ::testing::HasSubstr;

CommandAction DeclareShow(CLI::App& app) {
  auto level = std::make_shared<int>(0);
  app.add_option("--level", *level, "how much");
  return [level](const Context& context) -> Result<int> {
    if (*level == 9) return NotFoundError("no such\nlevel");
    if (*level == 8) return WrongUsage(context, "level 8 is not for you");
    return *level;
  };
}

CommandAction DeclareExec(CLI::App& app) {
  auto flag = std::make_shared<bool>(false);
  app.add_flag("--flag", *flag, "a flag");
  return [flag](const Context& context) -> Result<int> {
    std::printf("%s%s", *flag ? "flag " : "", base::Join(context.command_line, "|").c_str());
    return 0;
  };
}

CommandAction DeclareGroup(CLI::App& app) {
  app.require_subcommand(1);
  CLI::App* list = app.add_subcommand("list", "names");
  list->alias("ls");
  app.add_subcommand("count", "numbers");
  return [](const Context& context) -> Result<int> { return WrongUsage(context, "not today"); };
}

std::string_view InsteadOfTree(std::string_view word) { return word == "tree" ? "use list" : ""; }

struct Outcome {
  int status;
  std::string out;
  std::string err;
};

Outcome RunWords(const std::vector<std::string>& arguments) {
  const std::vector<Command> commands = {{.name = "show",
                                          .summary = "Show it",
                                          .example = "sonde show --level 1",
                                          .declare = &DeclareShow},
                                         {.name = "exec",
                                          .summary = "Run it",
                                          .example = "sonde exec -- ls",
                                          .declare = &DeclareExec,
                                          .takes_command_line = true},
                                         {.name = "many",
                                          .summary = "Some of them",
                                          .example = "sonde many list",
                                          .declare = &DeclareGroup,
                                          .instead_of = &InsteadOfTree}};
  ::testing::internal::CaptureStdout();
  ::testing::internal::CaptureStderr();
  Context context;
  context.layout.home = "/no such installation";  // otherwise the current folder counts
  const int status = Dispatch(commands, arguments, context);
  return {status, ::testing::internal::GetCapturedStdout(),
          ::testing::internal::GetCapturedStderr()};
}

TEST(Dispatch, HelpListsCommandsAndShowsExamples) {
  for (const std::vector<std::string>& words :
       {std::vector<std::string>{"--help"}, {"help"}, {"-h"}}) {
    const Outcome outcome = RunWords(words);
    EXPECT_EQ(outcome.status, 0);
    EXPECT_THAT(outcome.out, HasSubstr("show  Show it"));
    EXPECT_EQ(outcome.err, "");
  }
  const Outcome show = RunWords({"show", "--help"});
  EXPECT_EQ(show.status, 0);
  EXPECT_THAT(show.out, HasSubstr("Example:\n  sonde show --level 1"));
  EXPECT_THAT(show.out, HasSubstr("--level"));
  EXPECT_EQ(RunWords({"help", "show"}).out, show.out);
  EXPECT_THAT(RunWords({"exec", "--help"}).out, HasSubstr("sonde exec [OPTIONS] -- COMMAND..."));
}

CommandAction DeclareLong(CLI::App& app) {
  std::string words;
  for (int i = 0; i < 40; ++i) words += "word ";
  app.add_flag_callback("--long", [] {}, words + "end");
  return [](const Context&) -> Result<int> { return 0; };
}

TEST(Dispatch, LongDescriptionsAreBroken) {
  const std::vector<Command> commands = {{.name = "long", .declare = &DeclareLong}};
  ::testing::internal::CaptureStdout();
  EXPECT_EQ(Dispatch(commands, std::vector<std::string>{"long", "--help"}, Context()), 0);
  const std::string help = ::testing::internal::GetCapturedStdout();
  EXPECT_THAT(help, HasSubstr("word end"));
  for (const std::string_view line : base::Split(help, '\n')) EXPECT_LE(line.size(), 110U) << line;
}

TEST(Dispatch, EveryRealCommandHasSummaryAndExample) {
  for (const Command& command : AllCommands()) {
    EXPECT_FALSE(command.summary.empty()) << command.name;
    EXPECT_TRUE(command.example.starts_with("sonde ")) << command.name;
  }
}

TEST(Dispatch, StatusAndOneErrorLine) {
  EXPECT_EQ(RunWords({"show", "--level", "3"}).status, 3);
  const Outcome failed = RunWords({"show", "--level", "9"});
  EXPECT_EQ(failed.status, 1);
  EXPECT_EQ(failed.err, "sonde: error: no such level\n");
  const Outcome misused = RunWords({"show", "--level", "8"});
  EXPECT_EQ(misused.status, 2);
  EXPECT_EQ(misused.err, "sonde: error: level 8 is not for you (see 'sonde show --help')\n");
}

TEST(Dispatch, WrongUsageNamesWhatWasMeant) {
  EXPECT_EQ(RunWords({}).status, 2);
  EXPECT_THAT(RunWords({}).err, HasSubstr("no command given (see 'sonde --help')"));
  const Outcome command = RunWords({"shwo"});
  EXPECT_EQ(command.status, 2);
  EXPECT_EQ(command.err,
            "sonde: error: unknown command 'shwo'; did you mean 'show'? (see 'sonde --help')\n");
  EXPECT_THAT(RunWords({"frob\x1bn\ticate"}).err, HasSubstr("unknown command 'frob?n icate'"));
  EXPECT_THAT(RunWords({"frobnicate"}).err, HasSubstr("unknown command 'frobnicate' (see"));
  const Outcome option = RunWords({"show", "--levle=3"});
  EXPECT_EQ(option.status, 2);
  EXPECT_EQ(option.err,
            "sonde: error: unknown option '--levle'; did you mean '--level'? (see 'sonde show "
            "--help')\n");
  EXPECT_EQ(RunWords({"show", "--level", "x"}).status, 2);
  EXPECT_EQ(RunWords({"show", "--level"}).status, 2);
  EXPECT_THAT(RunWords({"show", "extra"}).err, HasSubstr("unexpected argument 'extra'"));
  EXPECT_THAT(RunWords({"--level"}).err, HasSubstr("a command comes first"));
}

TEST(Dispatch, CommandsBelowACommand) {
  EXPECT_EQ(
      RunWords({"many"}).err,
      "sonde: error: one of its commands is missing: list, count (see 'sonde many --help')\n");
  EXPECT_EQ(RunWords({"many", "tree"}).err,
            "sonde: error: there is no 'tree' here: use list (see 'sonde many --help')\n");
  EXPECT_THAT(RunWords({"many", "lis"}).err,
              HasSubstr("unknown command 'lis'; did you mean 'list'?"));
  EXPECT_EQ(RunWords({"many", "ls"}).err,
            "sonde: error: not today (see 'sonde many list --help')\n");
  EXPECT_THAT(RunWords({"many", "count", "--x"}).err, HasSubstr("'sonde many count --help'"));
}

TEST(Dispatch, TheCommandLineOfAnotherProgramIsLeftAlone) {
  EXPECT_EQ(RunWords({"exec", "--flag", "--", "ls", "--flag", "--", "-x"}).out,
            "flag ls|--flag|--|-x");
  EXPECT_EQ(RunWords({"exec", "--flag", "ls", "--flag", "-x"}).out, "flag ls|--flag|-x");
  EXPECT_EQ(RunWords({"exec"}).out, "");
  EXPECT_EQ(RunWords({"exec", "--flga", "ls"}).status, 2);
  const Outcome mixed = RunWords({"exec", "ls", "--", "x"});
  EXPECT_EQ(mixed.out, "ls|--|x");
}

TEST(Dispatch, Version) {
  const Outcome outcome = RunWords({"--version"});
  EXPECT_EQ(outcome.status, 0);
  EXPECT_TRUE(outcome.out.starts_with("sonde "));
}

TEST(Dispatch, LicensesOfAProgramThatIsNotInstalledAreAnError) {
  const Outcome outcome = RunWords({"--licenses"});
  EXPECT_EQ(outcome.status, 1);
  EXPECT_THAT(outcome.err, HasSubstr("make wheel"));
}

}  // namespace
}  // namespace sonde::cli
