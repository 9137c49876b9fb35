#include "lib/transaction/origin.hpp"

#include <fmt/format.h>
#include <sys/random.h>
#include <unistd.h>

#include <array>
#include <ctime>
#include <string_view>
#include <utility>

#include "lib/base/limits.hpp"
#include "lib/base/text.hpp"
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

constexpr std::string_view of_too_many_words = "# not all of a command that is too long to be kept: ";

/// As many whole words as there is room for.
std::string joined(std::span<char* const> words, std::size_t room) {
  std::string text;
  for (const char* word : words) {
    const std::string next = (text.empty() ? "" : " ") + shell_word(word);
    if (text.size() + next.size() > room) break;
    text += next;
  }
  return text;
}

}  // namespace

std::string recorded_command(std::span<char* const> words) {
  std::string whole = joined(words, std::string::npos);
  if (whole.size() <= limits::max_origin_bytes) return whole;
  return std::string(of_too_many_words) + joined(words, limits::max_origin_bytes - of_too_many_words.size());
}

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
