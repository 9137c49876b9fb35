// Every dialect's name inside this room; each is defined in its framework's file.
#pragma once

#include "lib/dialect/dialect.hpp"

namespace tare {

#define TARE_DIALECT(name) extern const Dialect name;
#include "lib/dialect/frameworks/table.inc"
#undef TARE_DIALECT

}  // namespace tare
