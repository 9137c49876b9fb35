// Who asks S3, and where it is: as the aws command and its libraries find it.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <string_view>

#include "lib/remote/aws_hosts.hpp"

namespace tare {

struct S3Settings {
  std::string access_key;  ///< empty: requests are anonymous
  std::string secret_key;
  std::string session_token;
  std::string token;  ///< sent in place of a signature: Google's
  std::string region = "us-east-1";
  std::string endpoint;  ///< of another service that speaks S3; empty: Amazon's
  AwsHosts hosts = {};   ///< of Amazon's
  /// Whose names a signature has: Google's is Amazon's, with others; Amazon's services have each its own.
  enum class Signature : std::uint8_t { amazon, google, amazon_tokens } signature = Signature::amazon;
  bool pays = false;  ///< for requests to buckets whose owner has whoever asks pay
  /// Where the bucket stands in the URL.
  enum class Style : std::uint8_t {
    usual,         ///< in the host's name at Amazon, where it can; in the path below an endpoint
    path,          ///< always in the path
    virtual_host,  ///< always in the host's name
  } style = Style::usual;
};

/// A variable's value, "" where it is not set.
using Environment = std::function<std::string(const char* name)>;

/// AWS_ACCESS_KEY_ID, AWS_SECRET_ACCESS_KEY, AWS_SESSION_TOKEN; AWS_REGION or AWS_DEFAULT_REGION, AWS_ENDPOINT_URL_S3
/// or AWS_ENDPOINT_URL; of places, where these say nothing, what the profile says, which has the addressing_style, too.
/// No keys where variables have none: find_aws_keys() looks further. AWS_REQUEST_PAYER is "requester" for who pays, as
/// GDAL has it: the aws command has no variable.
S3Settings read_s3_settings(const Environment& environment);

/// Of Google's Cloud Storage, which is asked as S3 is: GOOGLE_OAUTH_ACCESS_TOKEN or CLOUDSDK_AUTH_ACCESS_TOKEN; else
/// the HMAC key GS_ACCESS_KEY_ID and GS_SECRET_ACCESS_KEY, as GDAL has it. STORAGE_EMULATOR_HOST: of an emulator;
/// CLOUDSDK_API_ENDPOINT_OVERRIDES_STORAGE: another address, as gcloud has it.
S3Settings read_google_settings(const Environment& environment);

}  // namespace tare
