// Composer: torch's scaler in a save of its own, and in newer releases in a pickle `resumption.pkl`; a link leads to
// the newest save. Source: composer/{core/state,callbacks/checkpoint_saver}.py,
// composer/checkpoint/{save,state_dict}.py.
#include <algorithm>
#include <array>
#include <iterator>

#include "lib/dialect/frameworks/frameworks.hpp"

namespace tare {
namespace {

constexpr auto composer_places = std::to_array<KeptAt>({
    {"state.scaler.*", "", "", "composer"},
    {"scaler.*", "resumption.pkl", "", "composer"},
});
constexpr auto composer_runs = std::to_array<RunFolder>({
    {RunFolder::Takes::link, "latest-rank0.pt", "*-rank0.pt"},
    {RunFolder::Takes::link, "latest-rank0.pt", "ep*-ba*"},  // of sharded saves, folders
});
/// Of "ep0-ba10-rank0.pt" and the like, where no link leads to one, the newest.
std::optional<Saves> highest_of_composer(const std::vector<std::string>& names) {
  const auto is_save = [](const std::string& name) { return is_named("ep*-ba*-rank*.pt", name); };
  if (!std::ranges::all_of(names, is_save)) return std::nullopt;
  std::vector<std::string> of_first_rank;
  std::ranges::copy_if(names, std::back_inserter(of_first_rank),
                       [](const std::string& name) { return name.ends_with("-rank0.pt"); });
  const auto name = highest_save(of_first_rank, "-ba");
  return name ? std::optional(Saves{*name, of_first_rank.size(), "the highest"}) : std::nullopt;
}

constexpr auto composer_resumes = std::to_array<Resume>({
    {.until = "0.8",
     .stored = Resume::Stored::yes,
     .what = "loads the state into a scaler that it replaces after that: a resumed run starts anew at 65536",
     .helps = "0.9 and later keep it",
     .source = "mosaicml/composer#1376",
     .was_run = true},
});

}  // namespace

constinit const Trainer composer_trainer = {
    .name = "composer",
    .places = composer_places,
    .runs = composer_runs,
    .choose_save = highest_of_composer,
    .version_at = "state.metadata.composer_env_info.composer_version",
    .resumes = composer_resumes,
};

}  // namespace tare
