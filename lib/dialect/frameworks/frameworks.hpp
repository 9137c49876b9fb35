// Every dialect's and trainer's name inside this room; each is defined in its framework's file.
#pragma once

#include "lib/dialect/dialect.hpp"
#include "lib/dialect/trainer.hpp"

namespace tare {

#define TARE_DIALECT(name) extern const Dialect name;
#include "lib/dialect/frameworks/table.inc"
#undef TARE_DIALECT

#define TARE_TRAINER(name) extern const Trainer name;
#include "lib/dialect/frameworks/trainers.inc"
#undef TARE_TRAINER

}  // namespace tare
