// What a name in a pickle means for whoever loads it.
#pragma once

#include <cstdint>
#include <string_view>

#include "lib/container/pickle/globals/torch_globals.hpp"

namespace tare {

enum class Verdict : std::uint8_t {
  allowed,    ///< torch.load(weights_only=True) of the release in question takes it
  framework,  ///< a listed class of a framework or of Python: data, not code of the file's author
  unknown,    ///< anything else: what it does on loading, only its own source can tell
  dangerous,  ///< reaches the operating system or runs code: no checkpoint needs it
};

std::string_view name(Verdict verdict);

Verdict verdict_of(std::string_view module, std::string_view name, TorchRelease release);

}  // namespace tare
