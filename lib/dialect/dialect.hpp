// Tree -> scaler state. A dialect is one shape that one framework gives its scaler's state: a table of native keys and
// their roles. It never sees bytes, and the same dialect works in any container.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "lib/base/finding.hpp"
#include "lib/state/role.hpp"
#include "lib/tree/tree.hpp"

namespace tare {

// ---- what a dialect says of itself

/// One native key of a state.
struct FieldRule {
  std::string_view name;
  std::optional<Role> role = {};
  bool required = false;  ///< without it this is not that state; it must hold a number
};

enum class Form : std::uint8_t {
  map,     ///< a dict of its own: all of its keys are fields
  part,    ///< keys among others in a larger dict: only the table's keys are fields
  object,  ///< an instance: all of its attributes are fields
};

/// When a clean step makes the scale grow.
enum class Growth : std::uint8_t {
  when_equal,        ///< tracker + 1 == interval: a tracker at or beyond the interval never grows again
  modulo,            ///< (step - last overflow) is a multiple of the interval
  modulo_after_one,  ///< (step - last overflow - 1) is one, and not 0
  modulo_either,     ///< one of the two, by release
  when_reached,      ///< interval <= step - last overflow, before the step is counted; a growth counts as one
  not_stored,        ///< the state does not say
};

/// How a role that the state does not hold is set in that framework.
struct Setting {
  Role role;
  std::string_view sentence;  ///< "Megatron takes its window from --loss-scale-window."
};

/// A field that is saved, and that its framework sets anew when it loads.
struct Reset {
  std::string_view name;  ///< native
  std::int64_t value;
  std::string_view sentence;  ///< why
};

struct Dialect;

/// A state that a dialect's own finder saw in a map: for shapes that no table of keys describes (keys with a module's
/// name in front, positions that stand for names).
struct Sighting {
  struct Part {
    std::string name;  ///< native
    NodeId node = nowhere;
    std::optional<Role> role = {};
    NodeId mirror = nowhere;          ///< another node that says the same: it changes along
    std::optional<Value> value = {};  ///< where it is more than the tree says of the node
  };

  const Dialect* dialect = nullptr;  ///< where it is not the finder's own
  std::string path;                  ///< below the map's own; empty: the map itself
  std::vector<Part> parts;           ///< in file order
  /// Where the state is a document of its own inside `holder` (Tree::open): what finds the parts in it once it is open.
  /// None found: there is no such state.
  NodeId holder = nowhere;
  std::vector<Part> (*parts_in)(const Tree& document) = nullptr;
  std::string problem = {};  ///< why a state that is there cannot be read; empty if it can
};

/// Everything of that dialect in `map`, without what is deeper in it. `root` holds the file's own keys. Called for
/// every map where a dialect of that form can stand, so it must see quickly that there is nothing.
using FindIn = std::vector<Sighting> (*)(const Tree& tree, NodeId map, NodeId root);

struct Dialect {
  std::string_view name = {};            ///< as reports name it: "torch", "megatron" ...
  std::string_view kind = "loss_scale";  ///< or "fp8"
  std::string_view framework = {};       ///< as sentences name it: "PyTorch's GradScaler"
  Form form = Form::map;
  std::span<const FieldRule> fields = {};  ///< the first one's name tells; empty where there is a finder
  FindIn find_in = nullptr;                ///< instead of `fields`
  Growth growth = Growth::not_stored;
  std::span<const Setting> settings = {};
  std::span<const Reset> resets = {};
  std::string_view under = {};  ///< the key that it must stand under; empty: any
  /// Parts: keys beside the fields whose presence tells which of the framework's classes wrote them.
  std::span<const std::string_view> telling_keys = {};
  /// At least one of these keys is at the file's root; empty: no matter.
  std::span<const std::string_view> beside_root_keys = {};
  /// Objects: parts of the class's dotted module name, one of which it has, and the class's names; empty: any.
  std::span<const std::string_view> module_parts = {};
  std::span<const std::string_view> class_names = {};
  std::span<const std::string_view> left_out = {};  ///< attributes that are no state
  bool is_whole_file = false;                       ///< what it sees is all that there is: nothing else is looked for
};

/// Every dialect, in the order in which they are tried: the first that fits counts.
std::span<const Dialect* const> dialects();

/// One sentence for a role that `dialect` does not store: how it is set, or that there is no such thing.
std::string how_it_is_set(const Dialect& dialect, Role role);

// ---- what was found

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

/// Which ranks load a copy when its framework resumes.
enum class Authority : std::uint8_t {
  unknown,
  every_rank,  ///< all of them load this one
  own_rank,    ///< each loads the copy in its own file: all must be alike
  rank_group,  ///< those of one data-parallel group do: the groups' copies must be alike
  no_rank,     ///< another copy comes before this one
};

/// "every_rank" ...; empty for unknown.
std::string_view name(Authority authority);
/// "every rank loads this copy" ...; empty for unknown.
std::string_view sentence(Authority authority);

struct FoundScaler {
  const Dialect* dialect = nullptr;
  std::string path;                  ///< of the dict or object, as corpus and reports write paths
  std::vector<std::string> also_at;  ///< other paths to the very same one
  std::string place;                 ///< who keeps it there: "Lightning 2.1 or newer"; empty where nothing tells
  Authority authority = Authority::unknown;
  std::vector<Field> fields;                   ///< in file order
  std::vector<ConfiguredValue> configuration;  ///< of what no field says
  std::vector<std::string_view> beside;        ///< those of the dialect's telling keys that are there
  NodeId node = nowhere;

  [[nodiscard]] const Field* find(Role role) const;              ///< with a number; null where none is stored
  [[nodiscard]] const Field* find(std::string_view name) const;  ///< by native name
  /// The number of that role: a field's, else the configuration's; null where there is none.
  [[nodiscard]] const Value* known(Role role) const;
};

/// What a dialect may know of the file beside its tree.
struct FileContext {
  std::string_view name;                ///< relative to the checkpoint: "mp_rank_00/model_optim_rng.pt"
  const Tree* configuration = nullptr;  ///< saved beside the tree's values; null: none
};

/// A configuration that stands in a file of its own, for the scalers of other files.
struct SavedConfiguration {
  std::string_view dialect;
  std::vector<ConfiguredValue> values;
};

/// Told of each scaler when it is found and before the next one is read, so that it can let go of what need not be
/// kept: histories of a whole model are large.
using OnFound = std::function<void(FoundScaler&)>;

/// All scalers in file order, each once. State that is there and cannot be read (FP8, a scale that is no number) is
/// told in `findings`, with its path. Throws what Tree::value throws, and `refused` for more than limits::max_scalers.
std::vector<FoundScaler> find_scalers(const Tree& tree, const FileContext& file, std::vector<Finding>& findings,
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

GrowthOutlook growth_outlook(const FoundScaler& scaler);

/// What is plainly sick about the state; warnings, with the path set.
std::vector<Finding> judge(const FoundScaler& scaler);

/// What a file without a scaler holds, in words: "a model of 12 tensors (bfloat16) and an optimizer".
std::string describe_contents(const Tree& tree);

}  // namespace tare
