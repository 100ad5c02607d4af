// The user at the other end of a connection of this machine. No text of errors; any thread.
#ifndef SONDE_RECORD_PEER_USER_H_
#define SONDE_RECORD_PEER_USER_H_

namespace sonde::record {

// Whether the socket at the other end of a TCP connection over 127.0.0.1 was made by this user or
// by root, according to the system's list of sockets (/proc/net). False, too, where that has no
// such socket.
bool IsPeerThisUser(int fd);

}  // namespace sonde::record

#endif  // SONDE_RECORD_PEER_USER_H_
