#include "lib/remote/s3_settings.hpp"

#include <initializer_list>

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
std::string endpoint_of(const Environment& environment, std::string_view config, const std::string& section) {
  if (environment("AWS_IGNORE_CONFIGURED_ENDPOINT_URLS") == "true") return {};
  const std::string given = first_set(environment, {"AWS_ENDPOINT_URL_S3", "AWS_ENDPOINT_URL"});
  if (!given.empty()) return given;
  const std::string services = ini_value(config, section, "services");
  const std::string own =
      services.empty() ? "" : ini_value_within(config, "services " + services, "s3", "endpoint_url");
  return own.empty() ? ini_value(config, section, "endpoint_url") : own;
}

}  // namespace

std::string aws_profile(const Environment& environment) {
  const std::string given = first_set(environment, {"AWS_PROFILE", "AWS_DEFAULT_PROFILE"});
  return given.empty() ? "default" : given;
}

S3Settings read_s3_settings(const Environment& environment) {
  const std::string home = environment("HOME");
  const auto file = [&](const char* variable, const char* usual) {
    const std::string path = environment(variable);
    return small_file(path.empty() ? home + usual : path);
  };
  const std::string credentials = file("AWS_SHARED_CREDENTIALS_FILE", "/.aws/credentials");
  const std::string config = file("AWS_CONFIG_FILE", "/.aws/config");
  const std::string profile = aws_profile(environment);
  const std::string section = profile == "default" ? profile : "profile " + profile;
  const auto or_config = [&](const std::string& value, const char* key) {
    return value.empty() ? ini_value(config, section, key) : value;
  };

  S3Settings settings;
  settings.access_key = environment("AWS_ACCESS_KEY_ID");
  settings.secret_key = environment("AWS_SECRET_ACCESS_KEY");
  settings.session_token = environment("AWS_SESSION_TOKEN");
  if (settings.access_key.empty() || settings.secret_key.empty()) {
    // A key pair is taken from one place: halves of two would sign nothing.
    settings.access_key = ini_value(credentials, profile, "aws_access_key_id");
    settings.secret_key = ini_value(credentials, profile, "aws_secret_access_key");
    settings.session_token = ini_value(credentials, profile, "aws_session_token");
  }
  if (settings.access_key.empty()) {
    settings.access_key = ini_value(config, section, "aws_access_key_id");
    settings.secret_key = ini_value(config, section, "aws_secret_access_key");
    settings.session_token = ini_value(config, section, "aws_session_token");
  }
  const std::string region = or_config(first_set(environment, {"AWS_REGION", "AWS_DEFAULT_REGION"}), "region");
  if (!region.empty()) settings.region = region;
  settings.endpoint = endpoint_of(environment, config, section);
  while (settings.endpoint.ends_with('/')) settings.endpoint.pop_back();
  settings.pays = environment("AWS_REQUEST_PAYER") == "requester";
  const std::string style = ini_value_within(config, section, "s3", "addressing_style");
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
