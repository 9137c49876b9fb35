// pytorch-pfn-extras: a snapshot holds what its manager was given; the scaler is an option of its handler and is not.
// Source: pytorch_pfn_extras/training/manager.py, state_dict; handler/_logic.py.
#include <array>

#include "lib/dialect/frameworks/frameworks.hpp"

namespace tare {
namespace {

constexpr auto pfn_extras_places = std::to_array<KeptAt>({
    {"state_objects.*", "", "ppe_version", "pytorch-pfn-extras"},
});
constexpr auto pfn_extras_marks = std::to_array<std::string_view>({"_start_iteration", "state_objects", "ppe_version"});
constexpr auto pfn_extras_resumes = std::to_array<Resume>({
    {.stored = Resume::Stored::no,
     .what = "keeps no scaler of its handler's `grad_scaler` option: a resumed run starts anew at 65536",
     .helps = "pass it to the manager as one of its state_objects",
     .source = "pytorch_pfn_extras/training/manager.py, _BaseExtensionsManager.state_dict",
     .was_run = true},
});

}  // namespace

constinit const Trainer pfn_extras_trainer = {
    .name = "pytorch-pfn-extras",
    .places = pfn_extras_places,
    .marks = pfn_extras_marks,
    .version_at = "ppe_version",
    .resumes = pfn_extras_resumes,
};

}  // namespace tare
