// AI2 Tango: each worker saves its own files, whose scalers are copies of one, in a folder for each step; a link leads
// to the newest. Source: tango/integrations/torch/{training_engine,train_config,train}.py.
#include <array>

#include "lib/dialect/frameworks/frameworks.hpp"

namespace tare {
namespace {

constexpr auto tango_places = std::to_array<KeptAt>({
    {"", "worker*", "", "AI2 Tango", Authority::own_rank},
});
constexpr auto tango_rank_words = std::to_array<RankWord>({
    {"worker", false},
});
constexpr auto tango_runs = std::to_array<RunFolder>({
    {RunFolder::Takes::link, "checkpoint_state_latest", "checkpoint_state_step#"},
    {RunFolder::Takes::highest, "checkpoint_state_step#"},
});

}  // namespace

constinit const Trainer tango_trainer = {
    .name = "AI2 Tango",
    .places = tango_places,
    .rank_words = tango_rank_words,
    .runs = tango_runs,
};

}  // namespace tare
