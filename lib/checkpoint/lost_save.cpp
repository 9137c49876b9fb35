#include "lib/checkpoint/lost_save.hpp"

#include <fmt/format.h>

#include <utility>
#include <vector>

#include "lib/base/error.hpp"
#include "lib/checkpoint/listing.hpp"
#include "lib/checkpoint/resolve.hpp"
#include "lib/checkpoint/run_folders.hpp"
#include "lib/checkpoint/run_pointers.hpp"

namespace tare {
namespace {

bool is_hollow(const Files& files, const std::string& path) {
  if (files.type(path) != FileType::folder) return false;
  std::vector<Finding> findings;
  const Listing listing = list_files(files, path, findings);
  const bool is_known = !findings.empty() || !listing.links.empty() || listing.unfinished != nullptr;
  return !is_known && listing.files.empty() && listing.weights.empty() && listing.wholes.empty();
}

}  // namespace

std::optional<LostSave> lost_save(const Files& files, const std::string& directory) {
  try {
    if (const auto astray = pointer_problem(files, directory)) {
      return LostSave{directory, {Severity::error, "pointer-astray", astray->what(), "", ""}};
    }
    std::vector<Finding> led_there;
    const std::string save = resolve_run(files, directory, led_there);
    std::string path = fmt::format("{}/{}", directory, save);
    const bool may_hold_anything = has_nobodys_name(save);  // pictures of a step, beside a file that is its save
    if (save.empty() || may_hold_anything || !is_hollow(files, path)) return std::nullopt;
    std::string why = fmt::format("{}: no checkpoint in this folder; {}", path, led_there.back().message);
    return LostSave{std::move(path), {Severity::error, "incomplete-checkpoint", std::move(why), "", ""}};
  } catch (const LinkNotFollowed& error) {
    return LostSave{error.link, {Severity::warning, "link-not-read", error.what(), "", ""}};
  } catch (const Error&) {
    return std::nullopt;  // told by who opens the run
  }
}

}  // namespace tare
