// What a user asks to be changed, in the user's words.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "lib/dialect/extra_state.hpp"
#include "lib/state/scaler_state.hpp"

namespace tare {

/// KEY=VALUE. The key is a role or a native name; where one word is both the role wins, `native:NAME` forces the other.
/// The value is a number as parse_number takes it, or true or false.
struct Assignment {
  std::string key;
  std::string value;
};

/// What can be done to the FP8 state of whole layers.
enum class Fp8Verb : std::uint8_t {
  strip,      ///< nothing is left of it, as where FP8 is off; its keys stay
  reset,      ///< scales of 1 and histories of 0
  recompute,  ///< scales from the histories, by the framework's rule
  rename,     ///< modules' paths: what holds the state gets another key
  resize,     ///< histories of another length, as TransformerEngine makes them: zeros or a cut at the end
  reencode,   ///< in the form of another release of TransformerEngine
  inject,     ///< a saved state, into the places of modules that keep none
  regroup,    ///< the columns of GroupedLinear in the order of a release
};

struct Fp8Request {
  Fp8Verb verb = Fp8Verb::strip;
  std::int64_t history = 0;  ///< resize: how many entries; reset: likewise, 0 leaves them as many as they are
  bool remove = false;       ///< strip: the keys go, too
  std::string from, to;      ///< rename: parts of a module's path, "core_attention.fused_attention"
  std::optional<TeRelease> release = {};  ///< strip, reencode, inject, regroup; nothing: what the file has tells
  std::optional<ScalerState> state = {};  ///< inject
};

struct EditRequest {
  std::vector<Assignment> set;
  std::optional<std::string> at;     ///< the path of one scaler, as inspect prints it
  std::optional<std::string> layer;  ///< FP8 state: the layers that match it, with * and ? as wildcards
  std::optional<Fp8Request> fp8;     ///< instead of `set`
  /// The key at the file's root under which the scalers stand, anew; instead of `set`.
  std::optional<std::string> root_key = {};
  bool all = false;    ///< every scaler, where there are several
  bool align = false;  ///< copies that disagree first get the state that most of them have
  bool force = false;  ///< also values that the framework could not use, and files unlike their manifest
  /// Called with a sentence before something that takes long; may be empty.
  std::function<void(const std::string&)> announce = {};
};

/// Splits "scale=65536" at its first '='. Throws `invalid_argument` where there is none or no key before it.
Assignment parse_assignment(const std::string& text);

}  // namespace tare
