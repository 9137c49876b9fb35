// All that tare knows of a framework. A dialect is one shape that one framework gives its scaler's state: a table of
// native keys and their roles, and what else is to be known of a state of that shape: which rule goes on with it, who
// keeps it where, how a new one looks, how the framework is told what it does not store. It never sees bytes, and the
// same dialect works in any container. Each is filled in by its framework's file in frameworks/.
#pragma once

#include <cstdint>
#include <list>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "lib/base/finding.hpp"
#include "lib/dialect/fp8_convention.hpp"
#include "lib/state/role.hpp"
#include "lib/tree/tree.hpp"

namespace tare {

struct Dialect;
struct FoundScaler;

// ---- its shape

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
  when_at_least,     ///< tracker + 1 >= interval: one at or beyond the interval grows at the next clean step
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

/// A state that a dialect's own finder saw in a map: for shapes that no table of keys describes (keys with a module's
/// name in front, positions that stand for names).
struct Match {
  struct Part {
    std::string name;  ///< native
    NodeId node = nowhere;
    std::optional<Role> role = {};
    NodeId mirror = nowhere;                  ///< another node that says the same: it changes along
    std::shared_ptr<const Value> value = {};  ///< where it is more than the tree says of the node
  };

  const Dialect* dialect = nullptr;  ///< where it is not the finder's own
  std::string path;                  ///< below the map's own; empty: the map itself
  std::vector<Part> parts;           ///< in file order
  /// Where the state is a document of its own inside `holder` (Tree::open): what finds the parts in it once it is open.
  /// None found: there is no such state.
  NodeId holder = nowhere;
  std::vector<Part> (*parts_in)(const Tree& document) = nullptr;
  /// Whose it is, where that is known when the fields are read.
  const Dialect* (*dialect_of)(const FoundScaler& state) = nullptr;
  std::string problem = {};  ///< why a state that is there cannot be read; empty if it can
};

/// There can be very many: whoever takes them over takes each away.
using Matches = std::list<Match>;

/// Everything of that dialect in `map`, without what is deeper in it. `root` holds the file's own keys. Called for
/// every map where a dialect of that form can stand, so it must see quickly that there is nothing.
using FindIn = Matches (*)(const Tree& tree, NodeId map, NodeId root);

// ---- its rule

/// A state that has `having`, as a field or beside its fields (empty: any), runs under that policy and variant.
struct PolicyUse {
  std::string_view having;
  std::string_view policy;
  std::string_view variant = {};
  std::string_view text = {};  ///< what that field must say; empty: no matter
};

/// Why a state is shown and edited, and no rule goes on with it.
struct NoPolicy {
  std::string_view why;
  std::string_view instead;
};

// ---- its configuration

/// What a user passes to the framework for a value that it takes from its configuration.
struct Flag {
  std::optional<Role> role;
  std::string_view text;       ///< before the value
  std::string_view name = {};  ///< the rule's, of what has no role
};

/// As the framework's own command line, configuration or constructor spells them; the dialect's settings name the same
/// in sentences.
struct Flags {
  std::string_view before, between, after;  ///< around all of them, and between two
  std::span<const Flag> each = {};
};

/// A value of a configuration that was saved.
struct ConfigurationKey {
  std::string_view name;  ///< in that configuration
  std::string_view key;   ///< as ConfiguredValue has it
};

/// The key of a scale that the run's configuration sets after each step, whatever the state says.
inline constexpr std::string_view static_scale_key = "static_scale";

/// A configuration that is stored as Python's source, for the states at one place.
struct ConfigurationText {
  std::string_view path;                         ///< of such a state, or its beginning where it ends with a star
  std::string_view at;                           ///< of the text, from the root, with dots between keys
  std::span<const std::string_view> statements;  ///< those that assign one of these names
  std::string_view keyword;                      ///< which is given a float there: the same wherever it is given
  std::string_view key;                          ///< as ConfiguredValue has it
};

/// Where the framework keeps its configuration: keys with dots between them. A list of one item is seen through.
struct ConfigurationPlaces {
  std::span<const std::string_view> around = {};  ///< from a map around the state
  std::span<const std::string_view> beside = {};  ///< from the configuration of the file (Keras')
  std::span<const ConfigurationKey> keys = {};
  std::span<const ConfigurationText> texts = {};
};

// ---- its files

/// Which ranks load a copy when its framework resumes.
enum class Authority : std::uint8_t {
  unknown,
  every_rank,  ///< all of them load this one
  own_rank,    ///< each loads the copy in its own file: all must be alike
  rank_group,  ///< those of one data-parallel group do: the groups' copies must be alike
  no_rank,     ///< another copy comes before this one
};

/// Who keeps a state under which key of which file. The first that fits counts.
struct KeptAt {
  std::string_view path;      ///< whole, or its beginning where it ends with a star
  std::string_view file;      ///< the file's name, written likewise; empty: any
  std::string_view root_key;  ///< a key that is at the file's root too; empty: no matter
  std::string_view trainer;
  Authority authority = Authority::every_rank;
  std::string_view other_root_key = {};  ///< one more
};

/// Where there is nothing, or None, if the scaler is off.
struct EmptyAt {
  std::string_view path;
  std::string_view file = {};     ///< its name; empty: any
  bool lacks_key = false;         ///< the last key of the path may not be there at all
  std::string_view read_by = {};  ///< which runs load what is put there; empty: any
};

/// What the framework says and does when it loads a file: what no state in it tells. `name` is the file's.
using TellLoading = std::vector<Finding> (*)(const Tree& tree, std::string_view name);

struct TemplateField {
  std::string_view name;
  std::string_view type;  ///< "int", "float", "number" (as it comes), "bool", "text:dynamic", "tensor:float32[1]" ...
  std::string_view key = {};  ///< of the state, where that calls it otherwise
};

/// A file that holds a scaler alone, as its framework would write it.
struct StateTemplate {
  std::string_view name;  ///< what a user asks for: "torch", "deepspeed fused"
  const Dialect* dialect;
  std::string_view policy;
  std::string_view variant = {};
  std::string_view endings;  ///< ".pt .pth": what such a file may be called
  std::string_view format;   ///< of the container: "torch_zip" ...
  std::span<const TemplateField> fields;
  std::string_view path = {};                     ///< from the root to the scaler, dots between keys; empty: the root
  std::string_view module = {}, class_name = {};  ///< of an object; empty: a dict
  std::string_view version_key = {};  ///< at the root, of the framework's version, where the dialect is told by it
  bool is_usual = false;              ///< in a file of that format of which nothing tells whose it is
};

/// A class or function that pickles name, spelled just so.
struct ClassName {
  std::string_view module, name;
  friend auto operator<=>(const ClassName&, const ClassName&) = default;
};

// ---- its FP8 state

/// The scale that the framework's rule makes of an amax, both as they are stored.
using NextScale = float (*)(float stored, float amax, float fp8_max, float two_to_margin);

/// What a longer or shorter history keeps.
enum class HistoryResize : std::uint8_t {
  refused,    ///< the length is that of a configuration
  rows,       ///< rows from the front, and zeros behind them
  entry_age,  ///< each entry where the rule looks for one of its age
};

struct Fp8Facts {
  std::span<const Fp8Convention> conventions = {};  ///< the first that fits the number of columns counts
  std::string_view policy = {};                     ///< that goes on with it; empty: none
  NextScale next_scale = nullptr;                   ///< null where stored numbers were quantised with the scales
  HistoryResize resize = HistoryResize::refused;
  /// Whether an item of that key (dots between its parts) may be such a state, where each item is stored by itself.
  bool (*is_item)(std::string_view key) = nullptr;
  /// The format's largest number where other fields than the rule's say it, or the path does; nothing: they do not.
  std::optional<double> (*format_max)(const FoundScaler& state, const Fp8Rule& rule) = nullptr;
  /// Whether the columns are those of one tensor of all matrix products, then of the next: none where they go product
  /// by product.
  bool (*has_columns_by_tensor)(const FoundScaler& state) = nullptr;
};

struct Dialect {
  std::string_view name = {};            ///< as reports name it: "torch", "megatron" ...
  std::string_view kind = "loss_scale";  ///< or "fp8"
  std::string_view framework = {};       ///< as sentences name it: "PyTorch's GradScaler"
  Form form = Form::map;
  std::span<const FieldRule> fields = {};  ///< the first one's name tells; empty where there is a finder
  FindIn find_in = nullptr;                ///< instead of `fields`
  /// Finders: what some key of a map contains where there is anything to be found; empty: each map is looked at.
  std::string_view telling_word = {};
  Growth growth = Growth::not_stored;
  std::string_view plain_modulo_until = {};  ///< the last release of `modulo` where it is `modulo_either`
  /// Where one chain of optimizers may have a scaler each, the first of which scales the loss: what stands before the
  /// optimizer's number in a scaler's path.
  std::span<const std::string_view> before_chain_number = {};
  std::span<const Setting> settings = {};
  std::span<const Reset> resets = {};
  /// What a load asks for, too, where the flag that is stored says that the scale moves: without one of them it stops.
  std::span<const std::string_view> needed_when_dynamic = {};
  std::string_view under = {};  ///< the key that it must stand under; empty: any
  /// Parts: keys beside the fields whose presence tells which of the framework's classes wrote them.
  std::span<const std::string_view> telling_keys = {};
  /// At least one of these is there, seen from the file's root, with dots between keys; empty: no matter.
  std::span<const std::string_view> beside_root_keys = {};
  /// Objects: parts of the class's dotted module name, one of which it has, and the class's names; empty: any.
  std::span<const std::string_view> module_parts = {};
  std::span<const std::string_view> class_names = {};
  bool class_tells_dynamic = false;  ///< objects: a scale moves where its class counts steps, whatever a flag says
  std::span<const std::string_view> left_out = {};  ///< attributes that are no state
  bool grows_by_two = false;  ///< whatever it is told: a scale that is no power of two is not its own
  TellLoading tell_loading = nullptr;
  bool is_whole_file = false;                ///< what it sees is all that there is: nothing else is looked for
  std::span<const PolicyUse> policies = {};  ///< the first that fits counts
  NoPolicy no_policy = {};
  Flags flags = {};
  const ConfigurationPlaces* configuration = nullptr;  ///< null: none is saved
  std::span<const KeptAt> places = {};
  std::span<const EmptyAt> empty_at = {};
  std::span<const StateTemplate> templates = {};
  std::string_view never_alone = {};  ///< why no file holds such a state alone
  /// What its pickles name beside plain data, sorted. Their constructors were read: none runs or imports what its
  /// arguments say, nor opens a connection.
  std::span<const ClassName> classes = {};
  Fp8Facts fp8 = {};
};

/// Every dialect, in the order in which they are tried: the first that fits counts.
std::span<const Dialect* const> dialects();

/// One sentence for a role that `dialect` does not store: how it is set, or that there is no such thing.
std::string how_it_is_set(const Dialect& dialect, Role role);

}  // namespace tare
