// Who a user is, by the list that every system keeps. (getpwuid asks modules of the very C library that a program was
// linked with, which a program without shared libraries does not bring along.)
#pragma once

#include <sys/types.h>

#include <istream>
#include <optional>
#include <string>

namespace tare {

struct User {
  std::string name;
  std::string home;  ///< as the list has it: empty or relative where that is
};

/// The first entry of `id` in a list such as /etc/passwd: a line each, seven parts between colons. What is no such line
/// counts for nothing, nor do lines of 4096 bytes and more.
std::optional<User> user_in(std::istream& list, uid_t id);

/// The same in /etc/passwd; nothing also where that is not to be read, or the user is kept elsewhere (LDAP, NIS).
std::optional<User> user_of(uid_t id);

}  // namespace tare
