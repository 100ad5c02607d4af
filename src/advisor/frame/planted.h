// Traces in which something is planted that a rule looks for, and the check that it fires there and
// not just below its limit. For tests; one thread.
#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "advisor/frame/evaluate.h"
#include "advisor/frame/rule.h"
#include "advisor/frame/tables.h"
#include "base/test_folder.h"
#include "recipes/registry.h"
#include "store/name_pool.h"
#include "store/rows.h"
#include "store/store.h"
#include "store/table_writer.h"

namespace sonde::advisor {

inline constexpr int64_t kMs = 1'000'000;
inline constexpr int64_t kUs = 1'000;
inline constexpr int64_t kMiB = int64_t{1} << 20U;

class PlantedTrace {
 public:
  PlantedTrace() : store_(store::Store::Create(folder_.File("trace.duckdb")).value()) {
    Put<store::TrackRow>({{.track_id = 0, .kind = Name("thread")},
                          {.track_id = 1, .kind = Name("stream")},
                          {.track_id = 2, .kind = Name("communication_plane")}});
  }

  int32_t Name(std::string_view text) { return names_.Intern(text); }

  template <class Row>
  void Put(const std::vector<Row>& rows) {
    auto transaction = store_->Begin();
    ASSERT_TRUE(transaction.ok());
    auto writer = store::TableWriter<Row>::Open(*transaction);
    ASSERT_TRUE(writer.ok());
    for (const Row& row : rows) writer->Append(row);
    ASSERT_TRUE(writer->Close().ok());
    ASSERT_TRUE(transaction->Commit().ok());
  }

  int32_t Slice(std::string_view name, int64_t ts, int64_t dur, int32_t track = 0,
                std::string_view category = "cpu_op") {
    return SliceOf(Name(name), ts, dur, track, category);
  }

  // A copy of a communication operation on a plane of its own, with arguments.
  void Copy(std::string_view name, int64_t ts, int64_t dur, int64_t bytes) {
    SliceOf(Name(name), ts, dur, 2, "copy");
    const auto args = static_cast<int32_t>(copies_++);
    slices_.back().args_id = args;
    Put<store::ArgsIntRow>({{.args_id = args, .key = Name("size(Byte)"), .value = bytes}});
    const auto text = [&](std::string_view key, std::string_view value) {
      Put<store::ArgsTextRow>({{.args_id = args, .key = Name(key), .value = Name(value)}});
    };
    text("transport type", "SDMA");
    text("link type", "HCCS");
  }

  void Kernel(std::string_view name, int64_t ts, int64_t dur, int64_t wait_ns) {
    Kernel({.name = Name(name), .core = Name("GPU")}, ts, dur, wait_ns);
  }

  // Of a more specific kind; its number is that of the task.
  int32_t Kernel(store::TaskKindRow kind, int64_t ts, int64_t dur, int64_t wait_ns = 0) {
    const auto id = static_cast<int32_t>(tasks_.size());
    kind.kind_id = id;
    const int32_t name = kind.name;
    kinds_.push_back(kind);
    tasks_.push_back({.task_id = id,
                      .slice_id = SliceOf(name, ts, dur, 1, "kernel"),
                      .track_id = 1,
                      .ts = ts,
                      .dur = dur,
                      .wait_ns = wait_ns,
                      .kind_id = id});
    return id;
  }

  // Hardware counters of a task.
  void Measure(int32_t task, std::string_view metric, double value) {
    measures_.push_back({.task_id = task, .metric = Name(metric), .value = value});
  }

  // Facts of the command line and of the files next to the tables.
  void Know(std::string_view name, Value value) { values_[std::string(name)] = std::move(value); }

  void Step(int64_t id, int64_t ts, int64_t dur) {
    steps_.push_back({.step_id = id, .slice_id = Slice("step", ts, dur), .ts = ts, .dur = dur});
  }

  // The advice of the rule; called once.
  std::optional<Advice> Ask(std::string_view name) {
    Put(slices_);
    Put(kinds_);
    Put(tasks_);
    Put(steps_);
    Put(measures_);
    auto transaction = store_->Begin();
    EXPECT_TRUE(names_.Write(*transaction).ok());
    EXPECT_TRUE(transaction->Commit().ok());
    EXPECT_TRUE(store_->Offer(recipes::MakeResults(*store_)).ok());
    book_ = LoadRules({}).value();
    Question question;
    question.store = store_.get();
    question.language = Language::kEnglish;
    question.values = values_;
    Needs needs(question);
    EXPECT_TRUE(ChooseTables(book_.tables, needs, question).ok());
    const auto rule = std::find_if(book_.rules.begin(), book_.rules.end(),
                                   [&](const Rule& r) { return r.name == name; });
    EXPECT_NE(rule, book_.rules.end());
    EXPECT_EQ(needs.Missing(rule->needs).value_or("failed"), "");
    auto advice = Evaluate(*rule, question);
    EXPECT_TRUE(advice.ok()) << advice.status().message();
    return advice.ok() ? *advice : std::nullopt;
  }

 private:
  int32_t SliceOf(int32_t name, int64_t ts, int64_t dur, int32_t track, std::string_view category) {
    slices_.push_back({.slice_id = static_cast<int32_t>(slices_.size()),
                       .ts = ts,
                       .dur = dur,
                       .track_id = track,
                       .name = name,
                       .category = Name(category)});
    return slices_.back().slice_id;
  }

  base::TestFolder folder_;
  std::unique_ptr<store::Store> store_;
  RuleBook book_;
  store::NamePool names_;
  std::vector<store::SliceRow> slices_;
  std::vector<store::TaskKindRow> kinds_;
  std::vector<store::DeviceTaskRow> tasks_;
  std::vector<store::StepRow> steps_;
  std::vector<store::DeviceTaskPmuRow> measures_;
  size_t copies_ = 0;
  Values values_ = {{"is_other", int64_t{1}},       {"is_ascend", int64_t{0}},
                    {"is_text", int64_t{0}},        {"env", Value()},
                    {"cann", std::string()},        {"torch", std::string()},
                    {"rank_column", std::string()}, {"language", std::string("en")}};
};

// "host_synchronisation" is "HostSynchronisation": a test of the suite Rules has the name of its
// rule, by which another test sees that no rule lacks one.
inline std::string TestNameOf(std::string_view rule) {
  std::string name;
  for (size_t i = 0; i < rule.size(); ++i) {
    const bool begins = i == 0 || rule[i - 1] == '_';
    if (rule[i] != '_') name += begins ? static_cast<char>(rule[i] - 'a' + 'A') : rule[i];
  }
  return name;
}

// Fires with `enough`, not with `too_little`; returns its advice.
inline Advice Check(std::string_view rule, const std::function<void(PlantedTrace&, int64_t)>& plant,
                    int64_t enough, int64_t too_little) {
  EXPECT_EQ(testing::UnitTest::GetInstance()->current_test_info()->name(), TestNameOf(rule));
  PlantedTrace silent;
  plant(silent, too_little);
  EXPECT_FALSE(silent.Ask(rule).has_value()) << "just below the limit";
  PlantedTrace trace;
  plant(trace, enough);
  const auto advice = trace.Ask(rule);
  EXPECT_TRUE(advice.has_value());
  if (!advice) return {};
  EXPECT_GT(advice->evidence.occurrences, 0);
  return *advice;
}

// The same for a rule that shows rows and suggests what to do.
inline Advice CheckWithRows(std::string_view rule,
                            const std::function<void(PlantedTrace&, int64_t)>& plant,
                            int64_t enough, int64_t too_little) {
  Advice advice = Check(rule, plant, enough, too_little);
  EXPECT_FALSE(advice.sheet.rows.empty());
  EXPECT_FALSE(advice.suggestions.empty());
  return advice;
}

}  // namespace sonde::advisor
