// The lines of a session as people read them.
#include "exporters/serving/serving.h"

#include <gtest/gtest.h>

namespace sonde::exporters {
namespace {

recipes::ServingSummary Served() {
  recipes::ServingSummary summary;
  summary.requests = summary.whole_requests = 2;
  summary.output_tokens = summary.step_output_tokens = 20;
  summary.prompt_tokens = 8;
  summary.duration_ns = summary.steps_duration_ns = 1'000'000'000;
  return summary;
}

TEST(ServingText, WholeRequestsNeedOneSetOfNumbers) {
  const std::string text = RenderServing(Served(), /*is_long=*/true);
  EXPECT_TRUE(
      text.starts_with("Served: 2 requests, 2 of them whole; 1.00 s\n"
                       "  prompt tokens 8, of them cached 0; output tokens 20\n"))
      << text;
  EXPECT_EQ(text.find("as far as recorded"), std::string::npos);
  EXPECT_EQ(text.find("speculation"), std::string::npos);
}

TEST(ServingText, IncompleteRequestsHaveAReasonAndTheirTokensAreListed) {
  recipes::ServingSummary summary = Served();
  summary.requests = 8;
  summary.failed_requests = 1;
  summary.cut_requests = 3;
  summary.refused_requests = summary.open_requests = summary.earlier_requests = 1;
  summary.step_output_tokens = 180;
  const std::string text = RenderServing(summary, /*is_long=*/false);
  EXPECT_TRUE(text.starts_with(
      "Served: 8 requests, 2 of them whole (1 aborted), 3 cut by an error of the engine or its "
      "end, 1 refused, 1 still running at the end, 1 begun before; 1.00 s\n"
      "  of the whole ones: prompt tokens 8, of them cached 0; output tokens 20\n"))
      << text;
  EXPECT_NE(text.find("  of all, as far as recorded: 180 output tokens, 180.00 output tokens/s\n"),
            std::string::npos)
      << text;
}

TEST(ServingText, SpeculationIsShownWhereThereIsSome) {
  recipes::ServingSummary summary = Served();
  summary.drafts = 10;
  summary.drafted_tokens = 30;
  summary.accepted_tokens = 15;
  EXPECT_NE(RenderServing(summary, true)
                .find("  speculation: 30 tokens drafted, 15 accepted (50.00 %), 2.50 tokens a "
                      "drafted step\n"),
            std::string::npos);
}

}  // namespace
}  // namespace sonde::exporters
