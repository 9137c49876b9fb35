// What a verb takes from the command line, as data: one table that words are parsed by and --help is written from.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <initializer_list>
#include <optional>
#include <string>
#include <variant>
#include <vector>

/// A whole number, which is told when it is in those bounds.
struct Within {
  int least;
  int most;
  std::function<void(std::int64_t)> set;
};

/// One of some words, of which `set` is told. --help calls it `name`.
struct OneOf {
  const char* name;
  std::vector<std::string> words;
  std::function<void(const std::string&)> set;
};

/// Where what was given goes: a flag, a text, a text that may also be empty, all texts, a number from 1 on ...
using Target = std::variant<bool*, std::string*, std::optional<std::string>*, std::vector<std::string>*, std::size_t*,
                            Within, OneOf>;

enum class Presence : std::uint8_t { optional, required };

struct Option {
  const char* names;  ///< "-y,--yes"; "PATH" for what goes by its place and has no name
  Target target;      ///< outlives the parse
  std::string purpose;
  Presence presence = Presence::optional;
  const char* heading = "";  ///< what --help lists it under
};

using OptionTable = std::vector<Option>;

/// The options of all tables, one table after the other.
OptionTable joined(std::initializer_list<OptionTable> tables);
