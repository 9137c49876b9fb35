#include "lib/transaction/origin.hpp"

#include <fmt/format.h>
#include <sys/random.h>
#include <unistd.h>

#include <array>
#include <ctime>
#include <utility>

#include "lib/base/limits.hpp"
#include "lib/transaction/user_list.hpp"

namespace tare {
namespace {

std::string user_name() {
  const uid_t id = ::geteuid();
  const auto user = user_of(id);
  return user ? user->name : std::to_string(id);
}

std::string host_name() {
  std::array<char, 256> name{};
  return ::gethostname(name.data(), name.size() - 1) == 0 ? std::string(name.data()) : std::string();
}

std::string cut(std::string text) {
  if (text.size() > limits::max_origin_bytes) text.resize(limits::max_origin_bytes);
  return text;
}

}  // namespace

Origin this_origin(std::string command) {
  return {cut(user_name()), cut(host_name()), cut(std::move(command))};
}

std::string new_edit_id() {
  std::array<unsigned char, 6> bytes{};
  if (::getrandom(bytes.data(), bytes.size(), 0) != static_cast<ssize_t>(bytes.size())) {
    return fmt::format("{:012x}", static_cast<std::uint64_t>(::time(nullptr)));
  }
  return fmt::format("{:02x}", fmt::join(bytes, ""));
}

}  // namespace tare
