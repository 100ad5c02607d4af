#include "record/peer_user.h"

#include <arpa/inet.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cstdio>
#include <cstring>
#include <string>

namespace sonde::record {
namespace {

// "0100007F:1F90": as the list has it, which prints the address as the number that lies in memory.
std::string TableText(const sockaddr_in& name, bool mapped) {
  char text[48];
  snprintf(text, sizeof(text), "%s%08X:%04X", mapped ? "0000000000000000FFFF0000" : "",
           name.sin_addr.s_addr, ntohs(name.sin_port));
  return text;
}

// The user of the socket with these ends; -1 where the list has none. One that its program has
// closed already has no file any more (inode 0), and counts as root's there: it is nobody's.
long UserIn(const char* path, const std::string& local, const std::string& remote) {
  FILE* file = fopen(path, "re");
  if (file == nullptr) return -1;
  const std::string ends = ": " + local + " " + remote + " ";
  char line[512];
  long user = -1;
  while (user < 0 && fgets(line, sizeof(line), file) != nullptr) {
    const char* at = std::strstr(line, ends.c_str());
    if (at == nullptr) continue;
    long uid = 0;  // behind state, queues, timer and retransmissions
    long inode = 0;
    const int found = sscanf(at + ends.size(), "%*s %*s %*s %*s %ld %*s %ld", &uid, &inode);
    if (found == 2 && inode != 0) user = uid;
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
