#include "lib/attest/broken_file.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "lib/attest/other_nature.hpp"
#include "lib/base/error.hpp"
#include "lib/container/numpy/npy.hpp"
#include "lib/container/pickle/read/probe.hpp"

namespace tare {
namespace {

/// Where a loader starts to unpickle.
std::uint64_t pickle_begin(const std::shared_ptr<const Source>& source) {
  constexpr std::uint64_t signature = 8;
  if (!starts_like_npy(source->read({0, std::min(source->size(), signature)}))) return 0;
  try {
    return read_npy(source).array.place.offset;
  } catch (const Error&) {
    return 0;  // nor does numpy read on
  }
}

}  // namespace

Doubt doubt_of_broken(const std::shared_ptr<const Source>& source, const std::string& why) {
  PickleProbe probe = probe_pickle(*source, pickle_begin(source));
  if (probe.end == ProbeEnd::fails) return {why, {}, 0};
  return {fmt::format("{}; {}", why, words_of(probe)), std::move(probe.globals), probe.calls,
          probe.unnamed.has_value()};
}

}  // namespace tare
