// Keys as services and programs give them: a JSON object.
#pragma once

#include "lib/base/bytes.hpp"
#include "lib/remote/s3_settings.hpp"

namespace tare {

/// Keys by the names that a source gives them.
struct KeyNames {
  const char *access, *secret, *token;
};

/// Does `text` hold keys? Then they are put into `settings`. `inside`: the member that they stand in; empty: the
/// document itself.
bool take_keys(ByteView text, const char* inside, const KeyNames& names, S3Settings& settings);

}  // namespace tare
