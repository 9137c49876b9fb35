// Keys of Amazon's that are neither in variables nor in files: they are asked for, and good for some hours.
#pragma once

#include <string>

#include "lib/remote/aws_roles.hpp"
#include "lib/remote/http_client.hpp"
#include "lib/remote/s3_settings.hpp"

namespace tare {

/// Where such keys come from, as the aws command finds them. What is empty is not asked.
struct AwsKeySources {
  struct SignOn {
    std::string start_url, account, role;
    std::string portal;        ///< the service that gives keys for a token
    std::string token_folder;  ///< where `aws sso login` left it
  };

  std::string absent_profile;  ///< which is named, and no file has
  AwsRole role;                ///< which the user or the container may take
  SignOn sign_on;              ///< IAM Identity Center: sso_session, sso_start_url of the profile
  std::string process;         ///< credential_process of the profile: a program that prints keys, and its words
  std::string container_url;   ///< ECS, EKS
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
