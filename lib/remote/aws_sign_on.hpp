// IAM Identity Center: keys for whoever signed on with `aws sso login`.
#pragma once

#include <string>

#include "lib/remote/aws_profile.hpp"
#include "lib/remote/http_client.hpp"

namespace tare {

struct AwsSignOn {
  std::string start_url;  ///< empty: nobody is to sign on
  std::string account, role;
  std::string portal;      ///< the service that gives keys for a token
  std::string token_file;  ///< where `aws sso login` leaves it
};

/// sso_session, or sso_start_url, of the profile.
AwsSignOn read_sign_on(const Environment& environment, const AwsProfile& profile);

/// Throws `io` where nobody is signed on, or not any more, or the role is not given.
void ask_sign_on(const AwsSignOn& sign_on, const HttpClient& client, S3Settings& settings);

}  // namespace tare
