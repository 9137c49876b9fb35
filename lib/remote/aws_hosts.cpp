#include "lib/remote/aws_hosts.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>

namespace tare {
namespace {

/// Source: botocore 1.43, data/partitions.json.
struct Partition {
  std::string_view begin_of_region, domain, dual_stack_domain;
};
constexpr auto partitions = std::to_array<Partition>({
    {"cn-", "amazonaws.com.cn", "api.amazonwebservices.com.cn"},
    {"eusc-", "amazonaws.eu", "api.amazonwebservices.eu"},
    {"us-iso-", "c2s.ic.gov", "api.aws.ic.gov"},
    {"us-isob-", "sc2s.sgov.gov", "api.aws.scloud"},
    {"eu-isoe-", "cloud.adc-e.uk", "api.cloud-aws.adc-e.uk"},
    {"us-isof-", "csp.hci.ic.gov", "api.aws.hci.ic.gov"},
});
constexpr Partition of_all_others{"", "amazonaws.com", "api.aws"};

const Partition& partition_of(std::string_view region) {
  const auto* const found = std::ranges::find_if(
      partitions, [&](const Partition& partition) { return region.starts_with(partition.begin_of_region); });
  return found == partitions.end() ? of_all_others : *found;
}

}  // namespace

std::string s3_service(const AwsHosts& hosts, std::string_view region) {
  return fmt::format("https://s3{}{}.{}.{}", hosts.is_fips ? "-fips" : "", hosts.is_dual_stack ? ".dualstack" : "",
                     region, partition_of(region).domain);
}

std::string aws_service(const AwsHosts& hosts, std::string_view name, std::string_view region) {
  const Partition& partition = partition_of(region);
  return fmt::format("https://{}{}.{}.{}", name, hosts.is_fips ? "-fips" : "", region,
                     hosts.is_dual_stack ? partition.dual_stack_domain : partition.domain);
}

}  // namespace tare
