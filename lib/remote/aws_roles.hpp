// Amazon's roles, which somebody takes for some hours: by a token that somebody else vouches with, or by keys of one's
// own.
#pragma once

#include <string>
#include <string_view>

#include "lib/remote/aws_profile.hpp"
#include "lib/remote/http_client.hpp"
#include "lib/remote/s3_settings.hpp"

namespace tare {

struct AwsRole {
  std::string arn;          ///< empty: none is to be taken
  std::string session;      ///< what the session is called
  std::string external_id;  ///< which the role's owner may ask for
  std::string service;      ///< that gives keys for it (STS)
  std::string region;
  std::string token_file;  ///< web identity; empty: it is asked for with keys
  /// By whose keys: of `source_profile`; else the machine's or the container's, as `credential_source` says.
  std::string source_profile, credential_source;
  bool wants_code = false;       ///< of a device
  Environment environment = {};  ///< that of the source
  int depth = 0;                 ///< of roles that are taken to take this one
};

/// role_arn of the profile, with source_profile or credential_source; else AWS_ROLE_ARN and
/// AWS_WEB_IDENTITY_TOKEN_FILE, or what the profile says of these. None where keys are in variables.
AwsRole read_aws_role(const Environment& environment, const AwsProfile& profile);

/// Puts the role's keys into `settings`. Throws `io` where it is not given, `refused` for one that wants a code typed
/// (mfa_serial), for a service that is neither https nor of this machine, and for a chain of roles that does not end.
void take_role(const AwsRole& role, const HttpClient& client, S3Settings& settings);

}  // namespace tare
