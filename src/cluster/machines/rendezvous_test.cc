#include "cluster/machines/rendezvous.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <chrono>
#include <memory>
#include <string>
#include <utility>

#include "base/files.h"
#include "base/test_folder.h"

namespace sonde::cluster {
namespace {

constexpr std::chrono::seconds kAtOnce{0};
constexpr std::chrono::seconds kLong{120};
constexpr Place kSecond{.number = 1, .count = 2, .given_by = ""};

class RendezvousTest : public ::testing::Test {
 protected:
  std::unique_ptr<Rendezvous> Opened() {
    auto rendezvous = Rendezvous::Open(place());
    EXPECT_TRUE(rendezvous.ok()) << rendezvous.status().message();
    return rendezvous.ok() ? std::move(*rendezvous) : nullptr;
  }
  std::string place() const { return folder_.File("rendezvous"); }

  base::TestFolder folder_;
};

TEST_F(RendezvousTest, AMessageReachesTheOtherProcess) {
  const auto head = Opened();
  const auto other = Rendezvous::Join(place(), kSecond, kLong);
  ASSERT_TRUE(other.ok()) << other.status().message();
  ASSERT_TRUE((*other)->Leave("ask.0", "all of it").ok());
  EXPECT_EQ(head->Take("ask.0").value(), "all of it");
  EXPECT_EQ(head->Take("ask.1").value(), std::nullopt);
  EXPECT_TRUE(head->IsThere(1));
  EXPECT_TRUE((*other)->IsThere(0));
}

TEST_F(RendezvousTest, ADamagedMessageIsRefused) {
  const auto head = Opened();
  ASSERT_TRUE(head->Leave("ask.0", "all of it").ok());
  bool is_damaged = false;
  const auto entries = base::ListDirectory(place());
  ASSERT_TRUE(entries.ok());
  for (const base::DirectoryEntry& entry : *entries) {
    if (!entry.name.ends_with(".ask.0")) continue;
    const std::string path = base::JoinPath(place(), entry.name);
    std::string bytes = base::ReadFile(path).value();
    bytes.pop_back();
    is_damaged = base::WriteFileAtomically(path, bytes).ok();
  }
  ASSERT_TRUE(is_damaged);
  EXPECT_EQ(head->Take("ask.0").status().code(), base::StatusCode::kCorruptData);
}

TEST_F(RendezvousTest, OneRunAtATime) {
  auto head = Opened();
  const auto second = Rendezvous::Open(place());
  EXPECT_EQ(second.status().code(), base::StatusCode::kFailedPrecondition);
  ASSERT_TRUE(head->Leave("ask.0", "of the run that ended").ok());
  head.reset();  // without a word, as one that is killed
  EXPECT_FALSE(Rendezvous::Join(place(), kSecond, kAtOnce).ok());
  head = Opened();
  EXPECT_EQ(head->Take("ask.0").value(), std::nullopt);
  EXPECT_EQ(base::ListDirectory(place()).value().size(), 1U) << "the pulse alone";
}

TEST_F(RendezvousTest, FilesOfOthersStay) {
  const std::string own = base::JoinPath(place(), "2026.txt");
  ASSERT_TRUE(base::MakeDirectories(place()).ok());
  ASSERT_TRUE(base::WriteFileAtomically(own, "mine").ok());
  auto head = Opened();
  ASSERT_TRUE(head->Leave("ask.0", "text").ok());
  head->Close();
  EXPECT_EQ(base::ListDirectory(place()).value().size(), 1U);
  EXPECT_EQ(base::ReadFile(own).value(), "mine");
  ASSERT_TRUE(base::RemoveTree(own).ok());
  head.reset();
  head = Opened();
  head->Close();
  EXPECT_FALSE(base::IsDirectory(place()));
}

TEST_F(RendezvousTest, PlantedLinksLeadNowhere) {
  const std::string victim = folder_.File("victim");
  ASSERT_TRUE(base::WriteFileAtomically(victim, "mine").ok());
  ASSERT_TRUE(base::MakeDirectories(place()).ok());
  for (const std::string name : {"head", "head.new"}) {
    ASSERT_EQ(::symlink(victim.c_str(), base::JoinPath(place(), name).c_str()), 0);
  }
  const auto head = Opened();
  ASSERT_NE(head, nullptr);
  EXPECT_TRUE(Rendezvous::Join(place(), kSecond, kLong).ok());
  EXPECT_EQ(base::ReadFile(victim).value(), "mine");
}

TEST_F(RendezvousTest, JoiningWithoutProcess0IsAnError) {
  const auto other = Rendezvous::Join(place(), kSecond, kAtOnce);
  EXPECT_EQ(other.status().code(), base::StatusCode::kUnavailable);
}

}  // namespace
}  // namespace sonde::cluster
