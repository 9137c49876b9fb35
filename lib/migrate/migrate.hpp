// A scaler's state carried from one framework to another: read from wherever it is, converted, and put into a
// checkpoint that is there or a new file.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "lib/checkpoint/checkpoint.hpp"
#include "lib/codec/hdf5.hpp"
#include "lib/edit/plan.hpp"
#include "lib/state/convert.hpp"

namespace tare {

/// Something that the target framework takes from its configuration, not from the file, and that must be other than its
/// default for the state to go on as before.
struct Configured {
  std::optional<Role> role;
  std::string name;  ///< the target's rule's
  StateValue value;
  std::string sentence;  ///< how that framework is told: "Megatron takes its window from --loss-scale-window."
};

struct Migration {
  Conversion conversion;
  std::vector<Configured> configured;
  std::string flags = {};  ///< what to pass for those that the framework can be told; empty where there is none
};

/// Which state of a source.
struct SourceChoice {
  std::optional<std::string> at;         ///< the scaler there; of FP8 state the layers that match, as --layer has them
  std::optional<std::string> framework;  ///< where it goes: a policy of FP8 ("flax_fp8") takes FP8 state, others none
  /// Without a framework: FP8 state; else a loss scaler, and FP8 state where there is none.
  bool fp8 = false;
};

/// Opens a checkpoint as open_finished does.
using OpenSource = std::function<Checkpoint(const std::string& path)>;

/// The state that `path` holds: one of tare's own state files (JSON, HDF5), or the scaler of a checkpoint, where there
/// are several the one that is chosen. Throws what `open` and choosing throw, NoRule for a state that no rule runs, and
/// `invalid_argument` for a framework that is none, before anything is read. Findings are those of a state file, or
/// that the release which saved the scaler grows it otherwise than its rule here.
LoadedState migration_source(const std::string& path, const SourceChoice& choice, const OpenSource& open);

/// Parts of modules' paths ("decoder.layers"), and what the other checkpoint has in their place.
struct ModuleName {
  std::string from, to;
};

/// Splits "FROM=TO" at its first '='. Throws `invalid_argument` where there is none, or nothing before it.
ModuleName parse_module_name(const std::string& text);

struct IntoRequest {
  StateSection given;             ///< as ConversionTarget has it
  std::optional<std::string> at;  ///< which scaler of the checkpoint takes the state over, or which layers FP8 state
  std::vector<ModuleName> modules = {};  ///< of FP8 state: how the source's layers are called in the checkpoint
  bool align = false;                    ///< as for an edit
  bool force = false;
};

struct IntoPlan {
  Migration migration;
  EditPlan edit;
};

/// The edit that puts the state into every copy of a checkpoint's scaler; where there is none, into the place that its
/// framework keeps one at, if that is empty or broken. FP8 state takes the place of that of layers of the same names
/// (modules' paths, as `modules` puts them, and the tensors' roles); what these and the state do not have in common
/// stays, or is lost, and is told. Throws as plan_edit and plan_fill do.
IntoPlan plan_migration(const ScalerState& source, const Checkpoint& into, const IntoRequest& request);

struct NewFilePlan {
  Migration migration;
  Bytes contents;
};

/// A file that holds the state alone, as `framework` ("torch", "deepspeed fused" ...) would write it, named `path`; by
/// the endings .json and .h5 a state of tare's own under the policy that goes on with such a file; of a policy of FP8
/// there are those alone. Nothing is written. Throws as convert, convert_fp8 and template_for do.
NewFilePlan plan_new_file(const ScalerState& source, const std::string& framework, const std::string& path,
                          const StateSection& given);

/// The edit that puts the scalers of a trainer's checkpoint under the key that another release of that trainer looks
/// for: "lightning:2.2". `at` chooses one where those of several releases are in it. Changes nothing where they stand
/// there already. Throws `invalid_argument` for a release that is not known, `not_found` where no scaler stands under a
/// key of that trainer, `refused` where that release has no place for it, and as plan_edit does.
EditPlan plan_rename(const Checkpoint& checkpoint, const std::string& release, const std::optional<std::string>& at);

}  // namespace tare
