// A framework that nobody wrote: the one file that tare would need for it.
#include <array>

#include "lib/dialect/frameworks/frameworks.hpp"

namespace tare {
namespace {

constexpr auto fields = std::to_array<FieldRule>({
    {"made_up_scale", Role::scale, true},
    {"made_up_steps", Role::growth_tracker, true},
});
constexpr auto settings = std::to_array<Setting>({
    {Role::growth_interval, "Made-up takes its window from --made-up-window."},
});
constexpr auto policies = std::to_array<PolicyUse>({{"", "torch"}});
constexpr auto each_flag = std::to_array<Flag>({{Role::growth_interval, "--made-up-window "}});
constexpr Flags flags{"", " ", "", each_flag};
constexpr auto around = std::to_array<std::string_view>({"options"});
constexpr auto configuration_keys = std::to_array<ConfigurationKey>({{"window", "growth_interval"}});
constexpr ConfigurationPlaces configuration{.around = around, .keys = configuration_keys};
constexpr auto places = std::to_array<KeptAt>({{"made_up_scaler", "", "", "Made-up trainer", Authority::own_rank}});
constexpr auto empty_at = std::to_array<EmptyAt>({{"made_up_scaler"}});
constexpr auto template_fields =
    std::to_array<TemplateField>({{"made_up_scale", "float", "scale"}, {"made_up_steps", "int", "_growth_tracker"}});
constexpr auto templates = std::to_array<StateTemplate>({
    {.name = "made-up",
     .dialect = &made_up_state,
     .policy = "torch",
     .endings = ".pt",
     .format = "torch_zip",
     .fields = template_fields,
     .path = "made_up_scaler"},
});

}  // namespace

constinit const Dialect made_up_state = {
    .name = "made_up",
    .framework = "Made-up's scaler",
    .fields = fields,
    .growth = Growth::when_equal,
    .settings = settings,
    .policies = policies,
    .flags = flags,
    .configuration = &configuration,
    .places = places,
    .empty_at = empty_at,
    .templates = templates,
};

}  // namespace tare
