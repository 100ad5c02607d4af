// Texts and argument sets that hold for one session.
#include <algorithm>
#include <cstring>
#include <string>
#include <vector>

#include "base/files.h"
#include "capture/args.h"
#include "record/testing/session_fixture.h"

namespace sonde::record {
namespace {

using capture::RecordKind;

// Data of one record must not fill the memory of a server, nor be in later captures.
TEST_F(SessionTest, ArgumentsOfOneRecordAreOfOneSession) {
  sonde_args_builder builder;
  sonde_args_init(&builder);
  sonde_args_text(&builder, Name("prompt"), "secret", 6);
  EXPECT_EQ(sonde_args_once(&builder), 0u) << "no session";
  Start();
  const sonde_args first = sonde_args_once(&builder);
  const sonde_args second = sonde_args_once(&builder);
  sonde_mark(Name("one"), 0, first);
  const CheckedCapture before = Stop();
  EXPECT_NE(first, second);
  EXPECT_EQ(before.args.at(first), before.args.at(second));

  Start();
  const sonde_args third = sonde_args_once(&builder);
  const sonde_args kept = sonde_args_intern(&builder);
  const CheckedCapture after = Stop();
  EXPECT_TRUE(third == first || third == second) << "numbers are used again";
  EXPECT_NE(kept, third);
  EXPECT_EQ(after.args.count(first) + after.args.count(second), 1u);
  EXPECT_EQ(after.args.at(kept), after.args.at(third));
}

// Texts that differ each time (a step's number, a loss) are of the session in which they came.
TEST_F(SessionTest, TextsOfMarkersAreOfOneSession) {
  const auto mark = [](const std::string& text) { sonde_mark_text(text.data(), text.size(), 0); };
  mark("nobody records");
  EXPECT_EQ(sonde_name_once("x", 1), 0u) << "no session";
  const sonde_name kept = Name("kept");
  Start();
  for (int i = 0; i < 300; ++i) mark("loss " + std::to_string(i % 100));
  EXPECT_EQ(sonde_name_once("kept", 4), kept);
  sonde_range_push_text("pushed", 6, 0);
  sonde_range_pop();
  sonde_range_end(sonde_range_start_text("started", 7, 0));
  const CheckedCapture first = Stop();
  const auto marks = OfKind(first, RecordKind::kMark);
  ASSERT_EQ(marks.size(), 300u);
  for (size_t i = 0; i < marks.size(); ++i) {
    EXPECT_EQ(marks[i].name, "loss " + std::to_string(i % 100));
    EXPECT_EQ(marks[i].record.name, marks[i % 100].record.name) << "one number in a session";
  }
  EXPECT_EQ(OfKind(first, RecordKind::kRange).at(0).name, "pushed");
  EXPECT_EQ(OfKind(first, RecordKind::kSpanBegin).at(0).name, "started");

  Start();
  mark("another");
  mark("kept");
  const CheckedCapture second = Stop();
  const auto others = OfKind(second, RecordKind::kMark);
  ASSERT_EQ(others.size(), 2u);
  EXPECT_EQ(others[0].name, "another");
  EXPECT_EQ(others[0].record.name, marks[0].record.name) << "numbers are used again";
  EXPECT_EQ(others[1].record.name, kept);
  for (const auto& [id, text] : second.names) EXPECT_EQ(text.find("loss"), std::string::npos);
}

// More of them than the tables had room for at first: later ones are kept all the same, in this
// session and in the next one.
TEST_F(SessionTest, ManyTextsOfOneSessionLeaveRoomForOtherNames) {
  constexpr int kTexts = 5000;
  Start();
  for (int i = 0; i < kTexts; ++i) {
    const std::string text = "passing " + std::to_string(i);
    sonde_mark_text(text.data(), text.size(), 0);
    sonde_args_builder builder;
    sonde_args_init(&builder);
    sonde_args_int(&builder, Name("once"), i);
    ASSERT_NE(sonde_args_once(&builder), 0u);
  }
  const auto use_new_ones = [](const std::string& session) {
    for (int i = 0; i < kTexts; ++i) {
      sonde_args_builder builder;
      sonde_args_init(&builder);
      sonde_args_int(&builder, Name((session + " key").c_str()), i);
      const sonde_args args = sonde_args_intern(&builder);
      const std::string name = session + " " + std::to_string(i);
      ASSERT_NE(args, 0u) << name;
      sonde_mark(Name(name.c_str()), 0, args);
    }
  };
  use_new_ones("first");
  const CheckedCapture first = Stop();
  Start();
  use_new_ones("second");
  const CheckedCapture second = Stop();
  for (const std::string last : {"0", "4999"}) {
    EXPECT_EQ(first.Count(RecordKind::kMark, "passing " + last), 1u);
    EXPECT_EQ(first.Count(RecordKind::kMark, "first " + last), 1u);
    EXPECT_EQ(second.Count(RecordKind::kMark, "second " + last), 1u);
  }
  const auto nameless = [](const CheckedCapture& capture) {
    const auto marks = OfKind(capture, RecordKind::kMark);
    return std::count_if(marks.begin(), marks.end(),
                         [](const CheckedRecord& checked) { return checked.record.name == 0; });
  };
  EXPECT_EQ(nameless(first), 0);
  EXPECT_EQ(nameless(second), 0);
}

}  // namespace
}  // namespace sonde::record
