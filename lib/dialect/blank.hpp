// Files that hold a scaler alone, as each framework would write one: which keys, of which types, in which format.
#pragma once

#include <span>
#include <string>
#include <string_view>

#include "lib/dialect/dialect.hpp"
#include "lib/state/scaler_state.hpp"
#include "lib/tree/document.hpp"

namespace tare {

struct BlankField {
  std::string_view name;
  std::string_view type;      ///< "int", "float", "number" (as it comes), "bool", "tensor:float32[1]" ...
  std::string_view key = {};  ///< of the state, where that calls it otherwise
};

struct Blank {
  std::string_view name;  ///< what a user asks for: "torch", "deepspeed fused"
  const Dialect* dialect;
  std::string_view policy, variant;
  std::string_view endings;             ///< ".pt .pth": what such a file may be called
  std::string_view format;              ///< of the container: "torch_zip" ...
  std::string_view path;                ///< from the root to the scaler, dots between keys; empty: the root
  std::string_view module, class_name;  ///< of an object; empty: a dict
  std::span<const BlankField> fields;
  std::string_view version_key = {};  ///< at the root, of the framework's version, where the dialect is told by it
};

std::span<const Blank> blanks();

/// The blank of that name for a file with that ending. Throws `invalid_argument` for an unknown name, with those that
/// there are; `refused` where that framework has no file that holds a scaler alone, or none with that ending, with what
/// to do instead.
const Blank& blank_for(std::string_view name, std::string_view path);

/// The scaler alone: a map, or an object. REQUIRES: a state of the blank's policy and variant. Throws as `filled`.
Document scaler_of(const Blank& blank, const ScalerState& state);

/// Whether it holds the value of that native name.
bool holds(const Blank& blank, std::string_view native);

/// The file's content. REQUIRES: a state of the blank's policy and variant. Throws `refused` for a value that the type
/// in the file cannot hold.
Document filled(const Blank& blank, const ScalerState& state);

}  // namespace tare
