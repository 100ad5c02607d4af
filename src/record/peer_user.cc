#include "record/peer_user.h"

#include <arpa/inet.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <string>

namespace sonde::record {
namespace {

// "0100007F:1F90": the form of the list, which prints the address as the number in memory.
std::string TableText(const sockaddr_in& name, bool mapped) {
  char text[48];
  snprintf(text, sizeof(text), "%s%08X:%04X", mapped ? "0000000000000000FFFF0000" : "",
           name.sin_addr.s_addr, ntohs(name.sin_port));
  return text;
}

// Begin of the field `count` fields behind the first; the end of the text where there is none.
const char* Field(const char* text, int count) {
  text += std::strspn(text, " ");
  while (count-- > 0) {
    text += std::strcspn(text, " ");
    text += std::strspn(text, " ");
  }
  return text;
}

// The user of the socket with these ends; -1 where the list has none. A socket that its program has
// closed has no file any more (inode 0) and is listed as root's: it has no user.
long UserIn(const char* path, const std::string& local, const std::string& remote) {
  FILE* file = fopen(path, "re");
  if (file == nullptr) return -1;
  const std::string ends = ": " + local + " " + remote + " ";
  char line[512];
  long user = -1;
  while (user < 0 && fgets(line, sizeof(line), file) != nullptr) {
    const char* at = std::strstr(line, ends.c_str());
    if (at == nullptr) continue;
    // The user follows the state, queues, timer and retransmissions, then the timeout, then the
    // inode.
    const char* const uid = Field(at + ends.size(), 4);
    const char* const inode = Field(uid, 2);
    if (std::strtol(inode, nullptr, 10) != 0) user = std::strtol(uid, nullptr, 10);
  }
  fclose(file);
  return user;
}

}  // namespace

bool IsPeerThisUser(int fd) {
  sockaddr_in own{};
  sockaddr_in peer{};
  socklen_t own_size = sizeof(own);
  socklen_t peer_size = sizeof(peer);
  if (getsockname(fd, reinterpret_cast<sockaddr*>(&own), &own_size) != 0 ||
      getpeername(fd, reinterpret_cast<sockaddr*>(&peer), &peer_size) != 0 ||
      own.sin_family != AF_INET || peer.sin_family != AF_INET) {
    return false;
  }
  long user = UserIn("/proc/net/tcp", TableText(peer, false), TableText(own, false));
  if (user < 0) user = UserIn("/proc/net/tcp6", TableText(peer, true), TableText(own, true));
  return user == 0 || (user > 0 && static_cast<uid_t>(user) == geteuid());
}

}  // namespace sonde::record
