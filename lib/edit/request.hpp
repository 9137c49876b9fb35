// What a user asks to be changed, in the user's words.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <variant>
#include <vector>

#include "lib/dialect/extra_state.hpp"
#include "lib/state/scaler_state.hpp"

namespace tare {

/// The key is a role or a native name; where one word is both the role wins, `native:NAME` forces the other. The value
/// is a number, true or false; or text, as a user writes them (parse_number takes it, or it is one of these words).
struct Assignment {
  std::string key;
  StateValue value;
};

/// Values for fields.
struct Assign {
  std::vector<Assignment> values = {};
  bool align = false;  ///< copies that disagree first get the state that most of them have
};

/// The key at the file's root under which the scalers stand, anew.
struct RenameRoot {
  std::string key;
};

// ---- what can be done to the FP8 state of whole layers

/// Nothing is left of it, as where FP8 is off; its keys stay, unless they are to go, too.
struct StripFp8 {
  std::optional<TeRelease> release = {};  ///< nothing: what the file has tells
  bool remove_keys = false;
};
/// Scales of 1 and histories of 0.
struct ResetFp8 {
  std::int64_t history = 0;  ///< how many entries; 0: as many as they are
};
/// Scales from the histories, by the framework's rule.
struct RecomputeFp8 {};
/// Modules' paths: what holds the state gets another key.
struct RenameFp8 {
  std::string from, to;  ///< parts of a module's path, "core_attention.fused_attention"
};
/// Histories of another length, as TransformerEngine makes them: zeros or a cut at the end.
struct ResizeFp8 {
  std::int64_t history = 0;
};
/// In the form of another release of TransformerEngine.
struct ReencodeFp8 {
  TeRelease release;
};
/// A saved state, into the places of modules that keep none.
struct InjectFp8 {
  ScalerState state;
  std::optional<TeRelease> release = {};  ///< nothing: what the file has tells
};
/// A state of the layers' policy, in place of what they hold, tensor by tensor; layers that it does not name stay.
struct TakeFp8 {
  ScalerState state;
};
/// The columns of GroupedLinear in the order of a release.
struct RegroupFp8 {
  TeRelease release;
};

using EditAction = std::variant<Assign, RenameRoot, StripFp8, ResetFp8, RecomputeFp8, RenameFp8, ResizeFp8, ReencodeFp8,
                                InjectFp8, TakeFp8, RegroupFp8>;

struct EditRequest {
  EditAction action = {};
  std::optional<std::string> at = {};     ///< the path of one scaler, as inspect prints it
  std::optional<std::string> layer = {};  ///< FP8 state: the layers that match it, with * and ? as wildcards
  bool all = false;                       ///< every scaler, where there are several
  bool force = false;  ///< also values that the framework could not use, and files unlike their manifest
  /// Called with a sentence before something that takes long; may be empty.
  std::function<void(const std::string&)> announce = {};

  /// The action, where it is that one; else null.
  template <class Action>
  [[nodiscard]] const Action* as() const {
    return std::get_if<Action>(&action);
  }
};

/// Splits "scale=65536" at its first '=': a key, and a value as text. Throws `invalid_argument` where there is none or
/// no key before it.
Assignment parse_assignment(const std::string& text);

}  // namespace tare
