// Where Amazon's services are, in each of the worlds that it keeps apart.
#pragma once

#include <string>
#include <string_view>

namespace tare {

/// What somebody wants of all hosts: AWS_USE_FIPS_ENDPOINT, AWS_USE_DUALSTACK_ENDPOINT, or the profile's settings.
struct AwsHosts {
  bool is_fips = false;        ///< only cryptography that the US government has approved
  bool is_dual_stack = false;  ///< IPv6 as well as IPv4
};

/// Of S3, "https://s3.REGION.amazonaws.com", without a bucket.
std::string s3_service(const AwsHosts& hosts, std::string_view region);
/// Of another service ("sts", "portal.sso").
std::string aws_service(const AwsHosts& hosts, std::string_view name, std::string_view region);

}  // namespace tare
