// Composer: torch's scaler in a save of its own, and in newer releases in a pickle `resumption.pkl`; a link leads to
// the newest save. Source: composer/{core/state,callbacks/checkpoint_saver}.py,
// composer/checkpoint/{save,state_dict}.py.
#include <array>

#include "lib/dialect/frameworks/frameworks.hpp"

namespace tare {
namespace {

constexpr auto composer_places = std::to_array<KeptAt>({
    {"state.scaler.*", "", "", "composer"},
    {"scaler.*", "resumption.pkl", "", "composer"},
});
constexpr auto composer_runs = std::to_array<RunFolder>({
    {RunFolder::Takes::link, "latest-rank0.pt", "*-rank0.pt"},
});
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
    .version_at = "state.metadata.composer_env_info.composer_version",
    .resumes = composer_resumes,
};

}  // namespace tare
