// Lightning keeps a precision plugin's state under its class's name, which changed from release to release; the newest
// ones still read `native_amp_scaling_state`, and no other name but their own. Source:
// pytorch_lightning/trainer/connectors/{accelerator_connector,checkpoint_connector}.py and plugins/precision/ of
// releases 1.5.10 to 2.6.5. Releases 1.7.0 and 1.7.1 used fairscale's key for torch's FSDP, too.
#include "lib/dialect/release_keys.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <limits>

#include "lib/base/error.hpp"
#include "lib/dialect/shapes.hpp"

namespace tare {
namespace {

constexpr std::string_view fsdp = "FSDP", sharded = "fairscale's sharded training",
                           fully_sharded = "fairscale's fully sharded training", apex = "apex.amp";

constexpr ReleaseKey lightning(std::string_view with, std::string_view since, std::string_view until,
                               std::string_view key) {
  const bool is_apex = with == apex;
  return {"lightning", "Lightning", is_apex ? &apex_amp_state : &torch_state, with, since, until, key, is_apex};
}

constexpr auto table = std::to_array<ReleaseKey>({
    lightning("", "", "1.5", "native_amp_scaling_state"),
    lightning("", "1.6", "1.8", "NativeMixedPrecisionPlugin"),
    lightning("", "1.9", "2.1.0", "MixedPrecisionPlugin"),
    lightning("", "2.1.1", "", "MixedPrecision"),
    lightning(fsdp, "1.7.2", "1.9", "FullyShardedNativeNativeMixedPrecisionPlugin"),
    lightning(fsdp, "2.0", "2.0", "FSDPMixedPrecisionPlugin"),
    lightning(fsdp, "2.1.0", "2.1.0", "FSDPPrecisionPlugin"),
    lightning(fsdp, "2.1.1", "", "FSDPPrecision"),
    lightning(sharded, "1.6", "1.9", "ShardedNativeMixedPrecisionPlugin"),
    lightning(fully_sharded, "1.6", "1.9", "FullyShardedNativeMixedPrecisionPlugin"),
    lightning(apex, "", "1.5", "amp_scaling_state"),
    lightning(apex, "1.6", "1.9", "ApexMixedPrecisionPlugin"),
});

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

}  // namespace

std::span<const ReleaseKey> release_keys() {
  return table;
}

const ReleaseKey* release_key_of(const FoundScaler& scaler) {
  const std::string_view path = scaler.path;
  const auto row = std::find_if(table.begin(), table.end(), [&](const ReleaseKey& one) {
    const bool is_below = one.holds_several && path.size() > one.key.size() && path[one.key.size()] == '.';
    return one.dialect == scaler.dialect && path.starts_with(one.key) && (path.size() == one.key.size() || is_below);
  });
  return row == table.end() ? nullptr : &*row;
}

std::string place_under(const ReleaseKey& row) {
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

const ReleaseKey& key_in_release(const ReleaseKey& row, std::string_view version) {
  const Version wanted = parse(version, newest);
  std::string others;
  for (const ReleaseKey& other : table) {
    if (other.trainer != row.trainer || other.with != row.with) continue;
    if (is_in(other, wanted)) return other;
    others += fmt::format("{}{} ({})", others.empty() ? "" : ", ", other.key, place_under(other));
  }
  throw Error(Status::refused, fmt::format("'{}': {} {} has no such scaler", row.key, row.title, version),
              fmt::format("these do: {}", others));
}

}  // namespace tare
