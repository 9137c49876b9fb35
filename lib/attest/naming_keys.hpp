// The keys under which texts name what their loaders import and call, and how the values under them are read.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string_view>

#include "lib/container/container.hpp"

namespace tare {

enum class Says : std::uint8_t {
  path,          ///< module and name, parted by the last dot
  target,        ///< the same; without a dot a module; behind a dollar sign Python
  likely_path,   ///< the same under a key that others use for words of their own: only what looks like one
  likely_class,  ///< the same, if its last part is spelled as a class is, or is known to be dangerous
  module,        ///< a module, of which a function is called
  module_path,   ///< a module, a slash, and the whole path to what is taken of it
  evaluated,     ///< Python
};

struct NamingKey {
  std::string_view text;
  Says says;
  std::string_view beside = {};  ///< a key that has to stand there, too
};

/// In what a framework keeps its settings: any tree, any text.
std::span<const NamingKey> naming_keys();
/// In texts; in pickles these are frequent for words of others.
std::span<const NamingKey> text_naming_keys();
/// In pickles, where Lightning's hyperparameters are.
std::span<const NamingKey> pickle_naming_keys();
/// In configurations alone: JSON as a whole and YAML. They are looked for behind the others.
std::span<const NamingKey> lone_naming_keys();
/// The same in the checkpoints of Lightning.
std::span<const NamingKey> hyperparameter_naming_keys();

/// Whether a character can be part of a name in a text of ASCII or UTF-8.
bool is_word(char c);

bool is_digit(char c);

/// Whether it can be part of a path: of words, dots, and what stands in the names of repositories.
bool is_in_path(char c);

/// What a value under a key names; nothing where it is no name.
std::optional<GlobalName> named(Says says, std::string_view value, std::uint64_t offset);

/// What a name costs here, and among those that are told.
std::uint64_t memory_of(const GlobalName& name);

}  // namespace tare
