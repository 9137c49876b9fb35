// What errors advise is said in the command's words: a call has options in the place of its flags.
#pragma once

#include <string_view>

namespace tare::capi {

/// The first piece of `advice`: a flag of the command's, or what stands in front of one. Whole commands stand between
/// backticks, and are no flags.
struct AdvicePiece {
  std::string_view given;  ///< of the advice, from its begin
  std::string_view said;   ///< in the words of options: "force", in quotes, for --force
};

/// REQUIRES: !advice.empty(). Allocates nothing.
AdvicePiece first_piece(std::string_view advice);

}  // namespace tare::capi
