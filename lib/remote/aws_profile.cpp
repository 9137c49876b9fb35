#include "lib/remote/aws_profile.hpp"

#include "lib/base/letters.hpp"
#include "lib/remote/settings_text.hpp"

namespace tare {
namespace {

std::string text_of(const Environment& environment, const char* variable, const char* usual) {
  std::string path = environment(variable);
  if (path.empty()) path = usual;
  if (path.starts_with("~/")) path.replace(0, 1, environment("HOME"));
  return small_file(path);
}

std::string section_in_config(const std::string& profile) {
  return profile == "default" ? profile : "profile " + profile;
}

}  // namespace

bool AwsProfile::is_there() const {
  return has_section(config, section_in_config(name)) || has_section(credentials, name);
}

std::string AwsProfile::in_credentials(std::string_view key) const {
  return ini_value(credentials, name, key);
}

std::string AwsProfile::in_config(std::string_view key) const {
  return ini_value(config, section_in_config(name), key);
}

std::string AwsProfile::in_config_within(std::string_view group, std::string_view key) const {
  return ini_value_within(config, section_in_config(name), group, key);
}

std::string AwsProfile::value(std::string_view key) const {
  const std::string own = in_credentials(key);
  return own.empty() ? in_config(key) : own;
}

AwsProfile read_aws_profile(const Environment& environment) {
  AwsProfile profile;
  for (const char* variable : {"AWS_PROFILE", "AWS_DEFAULT_PROFILE"}) {
    if (profile.name.empty()) profile.name = environment(variable);
  }
  if (profile.name.empty()) profile.name = "default";
  profile.credentials = text_of(environment, "AWS_SHARED_CREDENTIALS_FILE", "~/.aws/credentials");
  profile.config = text_of(environment, "AWS_CONFIG_FILE", "~/.aws/config");
  return profile;
}

AwsHosts read_aws_hosts(const Environment& environment, const AwsProfile& profile) {
  const auto is_wanted = [&](const char* variable, std::string_view key) {
    const std::string given = environment(variable);
    return in_small_letters(given.empty() ? profile.value(key) : given) == "true";
  };
  return {is_wanted("AWS_USE_FIPS_ENDPOINT", "use_fips_endpoint"),
          is_wanted("AWS_USE_DUALSTACK_ENDPOINT", "use_dualstack_endpoint")};
}

}  // namespace tare
