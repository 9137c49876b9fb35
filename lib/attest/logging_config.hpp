// Settings of Python's logging in a file: MONAI hands `configs/logging.conf` of a bundle to logging.config.fileConfig,
// which evaluates parts of it. Source: Lib/logging/config.py (_install_handlers, _create_formatters),
// Lib/configparser.py.
#pragma once

#include <cstdint>
#include <string_view>
#include <vector>

#include "lib/container/container.hpp"

namespace tare {

/// Whether a text has a section of a handler or a formatter.
bool is_logging_config(std::string_view text);

/// `builtins.eval` for arguments that are more than values and the standard streams, and classes that are not those of
/// logging.
std::vector<GlobalName> names_in_logging_config(std::string_view text);

}  // namespace tare
