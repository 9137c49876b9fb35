// Waiting for others who edit in the same folder.
#pragma once

#include <string>

#include "lib/base/files.hpp"
#include "lib/base/patience.hpp"
#include "tools/option.hpp"

/// How long a verb waits for others before it gives up.
inline constexpr int usual_wait_seconds = 5;

/// --wait SECONDS
Option wait_option(int& seconds);

/// `busy`, and who it is that edits in the folder of `path`, as far as that can be told.
tare::Error with_holder(const tare::Error& busy, const std::string& path, int seconds);

/// Calls `attempt` again while it throws `busy`, for so many seconds. REQUIRES: where it throws, it has done nothing.
template <class Attempt>
auto while_others_edit(const std::string& path, int seconds, const Attempt& attempt) {
  try {
    const bool is_far = tare::is_url(path);
    return tare::patiently(seconds, attempt, is_far ? std::chrono::seconds(1) : tare::usual_pause);
  } catch (const tare::Error& error) {
    if (error.status != tare::Status::busy) throw;
    throw with_holder(error, path, seconds);
  }
}
