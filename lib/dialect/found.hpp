// Scalers that were found in a file: tree -> state.
#pragma once

#include <cstdint>
#include <deque>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "lib/base/boxed.hpp"
#include "lib/base/finding.hpp"
#include "lib/dialect/dialect.hpp"
#include "lib/state/role.hpp"
#include "lib/tree/tree.hpp"

namespace tare {

struct Field {
  std::string name;          ///< native
  std::optional<Role> role;  ///< None has a role too, but no number: value.number() is null then
  Value value;
  NodeId node = nowhere;
  bool editable = false;            ///< a number in a node of its own that a container can be asked to change
  std::vector<NodeId> inside = {};  ///< where `node` holds a document of its own: the field's node in that
  NodeId mirror = nowhere;          ///< another node that says the same: it changes along
};

/// A value that a framework is told, from a configuration that was saved with the state.
struct ConfiguredValue {
  std::string_view key;  ///< a role's name, or the rule's own where there is none
  std::string from;      ///< where it stands: "args.loss_scale_window"
  Value value;           ///< a number
};

/// "every_rank" ...; empty for unknown.
std::string_view name(Authority authority);
/// "every rank loads this copy" ...; empty for unknown.
std::string_view sentence(Authority authority);

struct FoundScaler {
  const Dialect* dialect = nullptr;
  std::string path;                  ///< of the dict or object, as corpus and reports write paths
  std::vector<std::string> also_at;  ///< other paths to the very same one
  std::string_view place;            ///< who keeps it there: "Lightning 2.1 or newer"; empty where nothing tells
  Authority authority = Authority::unknown;
  /// Where releases of its framework grow it otherwise, and the file tells which one saved it: how that one does.
  std::optional<Growth> growth_of_release = {};
  NodeId node = nowhere;
  Boxed<std::string> in_file = {};             ///< FP8 state: whose path other files of the checkpoint have, too
  std::vector<Field> fields;                   ///< in file order
  std::vector<ConfiguredValue> configuration;  ///< of what no field says
  std::vector<std::string_view> beside;        ///< those of the dialect's telling keys that are there

  [[nodiscard]] const Field* find(Role role) const;              ///< with a number; null where none is stored
  [[nodiscard]] const Field* find(std::string_view name) const;  ///< by native name
  /// The number of that role: a field's, else the configuration's; null where there is none.
  [[nodiscard]] const Value* known(Role role) const;
};

/// There can be very many, and a vector would hold them twice while it grows. Three go into a block of libstdc++'s
/// deque, as long as none is larger than 170 bytes.
using FoundScalers = std::deque<FoundScaler>;

/// What a dialect may know of the file beside its tree.
struct FileContext {
  std::string_view name;                ///< relative to the checkpoint: "mp_rank_00/model_optim_rng.pt"
  const Tree* configuration = nullptr;  ///< saved beside the tree's values; null: none
};

/// A configuration that stands in a file of its own, for the scalers of other files.
struct SavedConfiguration {
  const ConfigurationPlaces* places;  ///< of the dialects whose scalers it is for
  std::vector<ConfiguredValue> values;
};

/// Told of each scaler when it is found and before the next one is read, so that it can let go of what need not be
/// kept: histories of a whole model are large.
using OnFound = std::function<void(FoundScaler&)>;

/// All scalers in file order, each once. State that is there and cannot be read (FP8, a scale that is no number) is
/// told in `findings`, with its path. Throws what Tree::value throws, and `refused` for more than limits::max_scalers.
FoundScalers find_scalers(const Tree& tree, const FileContext& file, std::vector<Finding>& findings,
                          const OnFound& on_found = {});

/// What the file's root holds of the configurations of frameworks.
std::vector<SavedConfiguration> find_configurations(const Tree& tree);

/// Same dialect, path and fields, value by value: copies of one scaler.
bool same_state(const FoundScaler& a, const FoundScaler& b);

// ---- what it means

struct GrowthOutlook {
  std::optional<std::int64_t> clean_steps;  ///< until the next growth, this one included; nothing: never, or not known
  std::string sentence;                     ///< for a reader: "next growth after 1958 clean steps"
};

/// The scale that the run's configuration sets after each step, whatever the state says; null where it sets none.
const ConfiguredValue* static_scale(const FoundScaler& scaler);

/// Whether its rule never moves the scale.
bool is_static(const FoundScaler& scaler);

/// Why its framework stops when it loads the state: the flag says that the scale moves, and the state lacks what is
/// asked for then. Nothing: it does not.
std::optional<std::string> why_load_stops(const FoundScaler& scaler);

GrowthOutlook growth_outlook(const FoundScaler& scaler);

/// Where releases of its framework grow it otherwise than its rule here, and one of them saved it or nothing tells
/// which one did: a sentence.
std::optional<std::string> grows_otherwise(const FoundScaler& scaler);

/// What is plainly sick about the state; warnings, with the path set.
std::vector<Finding> judge(const FoundScaler& scaler);

/// What a file without a scaler holds, in words: "a model of 12 tensors (bfloat16) and an optimizer".
std::string describe_contents(const Tree& tree);

}  // namespace tare
