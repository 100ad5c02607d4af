#include "precision/analysis/first_node.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

namespace sonde::precision {
namespace {

TimelineCall Op(std::string_view name, bool wrong = false) {
  return {.name = name, .wrong = wrong, .is_communication = false, .communication = {}};
}

TimelineCall Collective(bool wrong = false) {
  TimelineCall call = {"Distributed.all_reduce.0.forward", wrong, true, {}};
  call.communication.op = "all_reduce";
  call.communication.group_id = "g";
  return call;
}

TimelineCall PeerCall(bool send, int64_t peer, bool wrong = false) {
  TimelineCall call = {
      send ? "Distributed.send.0.forward" : "Distributed.recv.0.forward", wrong, true, {}};
  call.communication.kind = send ? Communication::Kind::kSend : Communication::Kind::kReceive;
  call.communication.peer = peer;
  return call;
}

std::vector<std::string> Find(const std::vector<RankTimeline>& timelines, bool one = false) {
  std::vector<std::string> out;
  for (const FoundCall& found : FindFirstNodes(timelines, {.one_in_communication_phase = one})) {
    out.push_back(std::to_string(timelines[found.timeline].rank) + " " +
                  std::string(timelines[found.timeline].calls[found.call].name));
  }
  return out;
}

using Texts = std::vector<std::string>;

TEST(FirstNodeTest, BeforeCommunicationEveryRankReportsItsFirst) {
  EXPECT_EQ(Find({{0, {Op("a"), Op("b", true), Op("c", true), Collective(true)}},
                  {1, {Op("a"), Op("b"), Collective(true)}},
                  {2, {Op("a", true), Collective(true)}}}),
            (Texts{"0 b", "2 a"}));
}

TEST(FirstNodeTest, BetweenCommunicationsTheSmallestLayerWins) {
  EXPECT_EQ(
      Find({{0, {Op("a"), Collective(), Op("b"), Collective(), Op("c", true), Collective()}},
            {1, {Op("a"), Collective(), Op("b", true), Collective(), Op("c"), Collective()}}}),
      Texts{"1 b"});
  const std::vector<RankTimeline> tie = {{0, {Collective(), Op("b", true), Collective()}},
                                         {1, {Collective(), Op("b", true), Collective()}}};
  EXPECT_EQ(Find(tie), (Texts{"0 b", "1 b"}));
  EXPECT_EQ(Find(tie, true), Texts{"0 b"});
}

TEST(FirstNodeTest, AReceivingRankIsLaterThanItsSender) {
  // Rank 1 gets its data from rank 0's second communication: its wrong call is fed by rank 0's.
  EXPECT_EQ(Find({{0, {PeerCall(true, 2), Op("origin", true), PeerCall(true, 1), Op("x")}},
                  {1, {PeerCall(false, 0), Op("later", true), PeerCall(true, 3)}},
                  {2, {PeerCall(false, 0)}},
                  {3, {PeerCall(false, 1)}}}),
            Texts{"0 origin"});
}

TEST(FirstNodeTest, AfterTheLastCommunication) {
  EXPECT_EQ(Find({{0, {Collective(), Op("b")}}, {1, {Collective(), Op("b", true)}}}), Texts{"1 b"});
  EXPECT_EQ(Find({{0, {Op("a"), Collective()}}}), Texts{});
  EXPECT_EQ(Find({}), Texts{});
}

TEST(LinkTest, BatchesRootsAndMissingPartners) {
  TimelineCall batch = {"Distributed.batch_isend_irecv.0.forward", false, true, {}};
  batch.communication.kind = Communication::Kind::kBatch;
  batch.communication.batch = {{true, 1}, {false, 1}};
  TimelineCall back = batch;
  back.communication.batch = {{true, 0}, {false, 0}};
  EXPECT_EQ(LinkCommunications({{0, {batch}}, {1, {back}}}).size(), 2U);
  TimelineCall broadcast = Collective();
  broadcast.communication.kind = Communication::Kind::kFromSource;
  broadcast.communication.peer = 1;
  const auto links = LinkCommunications({{0, {broadcast}}, {1, {broadcast}}, {2, {broadcast}}});
  ASSERT_EQ(links.size(), 2U);
  EXPECT_EQ(links[0].from.timeline, 1U);
  EXPECT_TRUE(LinkCommunications({{0, {PeerCall(true, 7)}}}).empty());
}

}  // namespace
}  // namespace sonde::precision
