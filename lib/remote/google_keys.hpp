// A token of Google's that is in no variable: it is asked for, and good for an hour.
#pragma once

#include <string>

#include "lib/remote/http_client.hpp"
#include "lib/remote/s3_settings.hpp"

namespace tare {

/// Where it comes from, as Google's own libraries find it ("application default credentials"). What is empty is not
/// asked.
struct GoogleKeySources {
  std::string file;  ///< of a service account, or of a user who signed on (gcloud auth application-default login)
  std::string metadata_url;  ///< of the machine, where it is one of Google's
};

/// GOOGLE_APPLICATION_CREDENTIALS; else what gcloud left in CLOUDSDK_CONFIG or ~/.config/gcloud, unless
/// STORAGE_EMULATOR_HOST names an emulator; and GCE_METADATA_HOST, or the machine's own unless NO_GCE_CHECK is "true".
GoogleKeySources read_google_key_sources(const Environment& environment);

/// Puts a token of the first source that is there into `settings`; leaves them as they are where none is. A service
/// account signs its request with its key, RS256 (RFC 7523). Throws `io` where a source that is named gives none, and
/// `refused` for a token_uri that is neither https nor of this machine. The words of an answer are in no message.
void find_google_token(const GoogleKeySources& sources, const HttpClient& client, S3Settings& settings);

}  // namespace tare
