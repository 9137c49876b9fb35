#include "lib/remote/s3_settings.hpp"

#include <initializer_list>

#include "lib/base/letters.hpp"
#include "lib/remote/aws_profile.hpp"
#include "lib/remote/settings_text.hpp"
#include "lib/remote/url.hpp"

namespace tare {
namespace {

std::string first_set(const Environment& environment, std::initializer_list<const char*> names) {
  for (const char* name : names) {
    if (std::string value = environment(name); !value.empty()) return value;
  }
  return {};
}

/// Of variables, of S3 in the section of services that the profile names, or of all services in the profile itself.
std::string endpoint_of(const Environment& environment, const AwsProfile& profile) {
  if (environment("AWS_IGNORE_CONFIGURED_ENDPOINT_URLS") == "true") return {};
  const std::string given = first_set(environment, {"AWS_ENDPOINT_URL_S3", "AWS_ENDPOINT_URL"});
  if (!given.empty()) return given;
  const std::string services = profile.value("services");
  const std::string own =
      services.empty() ? "" : ini_value_within(profile.config, "services " + services, "s3", "endpoint_url");
  return own.empty() ? profile.value("endpoint_url") : own;
}

}  // namespace

S3Settings read_s3_settings(const Environment& environment) {
  const AwsProfile profile = read_aws_profile(environment);
  S3Settings settings;
  settings.access_key = environment("AWS_ACCESS_KEY_ID");
  settings.secret_key = environment("AWS_SECRET_ACCESS_KEY");
  settings.session_token = first_set(environment, {"AWS_SESSION_TOKEN", "AWS_SECURITY_TOKEN"});
  if (settings.access_key.empty() || settings.secret_key.empty()) settings = {};
  std::string region = first_set(environment, {"AWS_REGION", "AWS_DEFAULT_REGION"});
  if (region.empty()) region = profile.value("region");
  if (!region.empty()) settings.region = region;
  settings.endpoint = endpoint_of(environment, profile);
  while (settings.endpoint.ends_with('/')) settings.endpoint.pop_back();
  settings.hosts = read_aws_hosts(environment, profile);
  const std::string dual_stack = profile.in_config_within("s3", "use_dualstack_endpoint");
  settings.hosts.is_dual_stack = settings.hosts.is_dual_stack || in_small_letters(dual_stack) == "true";
  settings.pays = environment("AWS_REQUEST_PAYER") == "requester";
  const std::string style = profile.in_config_within("s3", "addressing_style");
  if (style == "path") settings.style = S3Settings::Style::path;
  if (style == "virtual") settings.style = S3Settings::Style::virtual_host;
  return settings;
}

S3Settings read_google_settings(const Environment& environment) {
  S3Settings settings;
  settings.style = S3Settings::Style::path;
  settings.region = "auto";
  settings.signature = S3Settings::Signature::google;
  settings.token = first_set(environment, {"GOOGLE_OAUTH_ACCESS_TOKEN", "CLOUDSDK_AUTH_ACCESS_TOKEN"});
  if (settings.token.empty()) {
    settings.access_key = environment("GS_ACCESS_KEY_ID");
    settings.secret_key = environment("GS_SECRET_ACCESS_KEY");
  }
  constexpr std::string_view api = "/storage/v1";  // which gcloud has behind it
  settings.endpoint = first_set(environment, {"STORAGE_EMULATOR_HOST", "CLOUDSDK_API_ENDPOINT_OVERRIDES_STORAGE"});
  while (settings.endpoint.ends_with('/')) settings.endpoint.pop_back();
  if (settings.endpoint.ends_with(api)) settings.endpoint.erase(settings.endpoint.size() - api.size());
  if (settings.endpoint.empty()) settings.endpoint = "https://storage.googleapis.com";
  if (!is_http(settings.endpoint) && !is_https(settings.endpoint)) settings.endpoint.insert(0, "http://");
  return settings;
}

}  // namespace tare
