#include "tools/waiting.hpp"

#include <fmt/format.h>

#include <filesystem>
#include <optional>

#include "lib/base/text.hpp"
#include "lib/transaction/recover.hpp"
#include "tools/journals.hpp"

using namespace tare;

namespace {

/// What is at work in the folder of `path`, on whichever of its files.
std::optional<Pending> at_work_beside(const std::string& path) {
  std::error_code unknown;
  const std::filesystem::path whole = std::filesystem::canonical(path, unknown);
  if (unknown) return std::nullopt;
  const bool is_folder = std::filesystem::is_directory(whole, unknown);
  for (const auto& folder : {whole, whole.parent_path()}) {
    if (folder == whole && !is_folder) continue;
    try {
      auto pending = find_pending(scope_for_reading(folder.string()));
      if (pending && pending->state == PendingState::in_progress) return pending;
    } catch (const Error&) {
      return std::nullopt;  // it tells who, and is no answer of its own
    }
  }
  return std::nullopt;
}

}  // namespace

Option wait_option(int& seconds) {
  constexpr int longest = 86400;
  const auto set = [&seconds](std::int64_t value) { seconds = static_cast<int>(value); };
  return {"--wait", Within{0, longest, set},
          fmt::format("Seconds to wait while somebody else edits in the same folder ({} unless told otherwise)",
                      usual_wait_seconds)};
}

Error with_holder(const Error& busy, const std::string& path, int seconds) {
  std::string message = busy.what();
  if (const auto pending = at_work_beside(path)) {
    message += fmt::format(": {}@{} since {}: {}", pending->origin.user, pending->origin.host, pending->when,
                           pending->origin.command);
  }
  return {Status::busy, message,
          fmt::format("it was waited for {} second{}; --wait SECONDS waits longer", seconds, seconds == 1 ? "" : "s")};
}
