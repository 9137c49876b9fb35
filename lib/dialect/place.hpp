// Which trainer keeps a scaler under which key and in which file.
#pragma once

#include <string_view>

#include "lib/dialect/found.hpp"

namespace tare {

struct KnownPlace {
  std::string_view trainer;  ///< as a sentence names it; empty where nothing tells
  Authority authority = Authority::unknown;
};

KnownPlace place_of(const FoundScaler& scaler, const FileContext& file, const Tree& tree);

}  // namespace tare
