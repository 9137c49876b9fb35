// What the two files of the aws command say of a profile, merged as it merges them.
#pragma once

#include <string>
#include <string_view>

#include "lib/remote/aws_hosts.hpp"
#include "lib/remote/s3_settings.hpp"

namespace tare {

struct AwsProfile {
  std::string name;
  std::string credentials, config;  ///< the texts of the files

  [[nodiscard]] bool is_there() const;
  /// What the credentials file says comes first.
  [[nodiscard]] std::string value(std::string_view key) const;
  [[nodiscard]] std::string in_credentials(std::string_view key) const;
  [[nodiscard]] std::string in_config(std::string_view key) const;
  /// Of the lines of the configuration that are set in below `group =`.
  [[nodiscard]] std::string in_config_within(std::string_view group, std::string_view key) const;
};

/// Of AWS_PROFILE, AWS_DEFAULT_PROFILE, or "default", in AWS_SHARED_CREDENTIALS_FILE and AWS_CONFIG_FILE, where '~' is
/// HOME; else in ~/.aws.
AwsProfile read_aws_profile(const Environment& environment);

/// AWS_USE_FIPS_ENDPOINT and AWS_USE_DUALSTACK_ENDPOINT, or use_fips_endpoint and use_dualstack_endpoint of the
/// profile.
AwsHosts read_aws_hosts(const Environment& environment, const AwsProfile& profile);

}  // namespace tare
