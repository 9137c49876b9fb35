#include "lib/dialect/release_keys.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <iterator>
#include <limits>
#include <string>
#include <vector>

#include "lib/base/error.hpp"
#include "lib/dialect/frameworks/lightning.hpp"

namespace tare {
namespace {

constexpr int newest = std::numeric_limits<int>::max();
using Version = std::array<int, 3>;

/// What is not said of a version is `rest`. Throws `invalid_argument`.
Version parse(std::string_view text, int rest) {
  Version version = {rest, rest, rest};
  const char* at = text.data();
  const char* const end = at + text.size();
  for (int& number : version) {
    const auto [after, problem] = std::from_chars(at, end, number);
    if (problem != std::errc() || number < 0) break;
    if (after == end) return version;
    if (*after != '.') break;
    at = after + 1;
  }
  throw Error(Status::invalid_argument, fmt::format("'{}' is no version", text), "write it like 2.2 or 2.1.4");
}

bool is_in(const ReleaseKey& row, const Version& version) {
  return (row.since.empty() || parse(row.since, 0) <= version) &&
         (row.until.empty() || version <= parse(row.until, newest));
}

std::string place_text(const ReleaseKey& row) {
  std::string place = fmt::format("{}, ", row.title);
  if (row.since.empty()) {
    place += fmt::format("{} or older", row.until);
  } else if (row.until.empty()) {
    place += fmt::format("{} or newer", row.since);
  } else {
    place += row.since == row.until ? std::string(row.since) : fmt::format("{} to {}", row.since, row.until);
  }
  return row.with.empty() ? place : fmt::format("{}, with {}", place, row.with);
}

}  // namespace

std::optional<bool> release_is_in(std::string_view version, std::string_view since, std::string_view until) {
  std::string numbers(version.substr(0, version.find_first_not_of("0123456789.")));
  while (numbers.ends_with('.')) numbers.pop_back();
  const std::size_t first = numbers.find('.');
  const std::size_t second = first == numbers.npos ? first : numbers.find('.', first + 1);
  const std::size_t third = second == numbers.npos ? second : numbers.find('.', second + 1);
  numbers.resize(std::min(third, numbers.size()));
  if (numbers.empty()) return std::nullopt;
  const Version one = parse(numbers, 0);
  return (since.empty() || parse(since, 0) <= one) && (until.empty() || one <= parse(until, newest));
}

std::span<const ReleaseKey> release_keys() {
  return lightning_keys();
}

const ReleaseKey* release_key_of(const FoundScaler& scaler) {
  const std::string_view path = scaler.path;
  const auto row = std::ranges::find_if(release_keys(), [&](const ReleaseKey& one) {
    const bool is_below = one.holds_several && path.size() > one.key.size() && path[one.key.size()] == '.';
    return one.dialect == scaler.dialect && path.starts_with(one.key) && (path.size() == one.key.size() || is_below);
  });
  return row == release_keys().end() ? nullptr : &*row;
}

std::string_view place_under(const ReleaseKey& row) {
  static const std::vector<std::string> places = [] {
    std::vector<std::string> all;
    std::ranges::transform(release_keys(), std::back_inserter(all), place_text);
    return all;
  }();
  return places[static_cast<std::size_t>(&row - release_keys().data())];
}

const ReleaseKey& key_in_release(const ReleaseKey& row, std::string_view version) {
  const Version wanted = parse(version, newest);
  std::string others;
  for (const ReleaseKey& other : release_keys()) {
    if (other.trainer != row.trainer || other.with != row.with) continue;
    if (is_in(other, wanted)) return other;
    others += fmt::format("{}{} ({})", others.empty() ? "" : ", ", other.key, place_under(other));
  }
  throw Error(Status::refused, fmt::format("'{}': {} {} has no such scaler", row.key, row.title, version),
              fmt::format("these do: {}", others));
}

}  // namespace tare
