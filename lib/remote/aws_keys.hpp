// Keys of Amazon's that are not in variables: a file has them, or they are asked for, and good for some hours.
#pragma once

#include <string>

#include "lib/remote/aws_roles.hpp"
#include "lib/remote/aws_sign_on.hpp"
#include "lib/remote/http_client.hpp"
#include "lib/remote/s3_settings.hpp"

namespace tare {

/// Where keys come from that are not in variables, in the order in which the aws command asks. What is empty is not
/// asked. Source: botocore 1.43, credentials.py, create_credential_resolver.
struct AwsKeySources {
  /// Keys that a file has; the empty ones of nobody.
  struct Pair {
    std::string access, secret, token;
  };

  std::string absent_profile;  ///< which is named, and no file has
  AwsRole role;                ///< which the user or the container may take
  AwsSignOn sign_on;           ///< IAM Identity Center
  Pair of_credentials_file;    ///< of the profile
  std::string process;         ///< credential_process of the profile: a program that prints keys, and its words
  Pair of_config_file;
  std::string container_url;  ///< ECS, EKS
  std::string container_token;
  std::string metadata_url;  ///< of the machine, where it is one of EC2's
};

/// Of the profile AWS_PROFILE, with the role that it names; AWS_ROLE_ARN and AWS_WEB_IDENTITY_TOKEN_FILE;
/// AWS_CONTAINER_CREDENTIALS_RELATIVE_URI or _FULL_URI with _AUTHORIZATION_TOKEN or its _FILE; and
/// AWS_EC2_METADATA_SERVICE_ENDPOINT unless AWS_EC2_METADATA_DISABLED.
AwsKeySources read_aws_key_sources(const Environment& environment);

/// Puts the keys of the first source that is there into `settings`; leaves them as they are where none is. Throws `io`
/// where one that is named gives none, and `refused` for a container's URI that is neither https nor of this machine or
/// its containers' service. The words of an answer, which may be keys, are in no message.
void find_aws_keys(const AwsKeySources& sources, const HttpClient& client, S3Settings& settings);

}  // namespace tare
