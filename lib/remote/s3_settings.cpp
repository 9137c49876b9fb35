#include "lib/remote/s3_settings.hpp"

#include <algorithm>
#include <initializer_list>

#include "lib/base/error.hpp"
#include "lib/base/limits.hpp"
#include "lib/base/source.hpp"

namespace tare {
namespace {

std::string_view trimmed(std::string_view text) {
  constexpr std::string_view blank = " \t\r";
  text.remove_prefix(std::min(text.find_first_not_of(blank), text.size()));
  return text.substr(0, text.find_last_not_of(blank) + 1);
}

/// Empty for a file that is not there: most machines have none.
std::string small_file(const std::string& path) {
  try {
    const FileSource source(path);
    if (source.size() > limits::max_small_text_bytes) return {};
    return std::string(as_text(source.read({0, source.size()})));
  } catch (const Error&) {
    return {};
  }
}

std::string first_set(const Environment& environment, std::initializer_list<const char*> names) {
  for (const char* name : names) {
    if (std::string value = environment(name); !value.empty()) return value;
  }
  return {};
}

}  // namespace

std::string ini_value(std::string_view text, std::string_view section, std::string_view key) {
  bool is_inside = false;
  while (!text.empty()) {
    const std::size_t end = std::min(text.find('\n'), text.size());
    const std::string_view line = trimmed(text.substr(0, end));
    text.remove_prefix(std::min(end + 1, text.size()));
    if (line.starts_with('[') && line.ends_with(']')) is_inside = trimmed(line.substr(1, line.size() - 2)) == section;
    const std::size_t equals = line.find('=');
    if (!is_inside || equals == line.npos || trimmed(line.substr(0, equals)) != key) continue;
    return std::string(trimmed(line.substr(equals + 1)));
  }
  return {};
}

S3Settings read_s3_settings(const Environment& environment) {
  const std::string home = environment("HOME");
  const auto file = [&](const char* variable, const char* usual) {
    const std::string path = environment(variable);
    return small_file(path.empty() ? home + usual : path);
  };
  const std::string credentials = file("AWS_SHARED_CREDENTIALS_FILE", "/.aws/credentials");
  const std::string config = file("AWS_CONFIG_FILE", "/.aws/config");
  std::string profile = environment("AWS_PROFILE");
  if (profile.empty()) profile = "default";
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
  const std::string region = or_config(first_set(environment, {"AWS_REGION", "AWS_DEFAULT_REGION"}), "region");
  if (!region.empty()) settings.region = region;
  settings.endpoint = or_config(first_set(environment, {"AWS_ENDPOINT_URL_S3", "AWS_ENDPOINT_URL"}), "endpoint_url");
  while (settings.endpoint.ends_with('/')) settings.endpoint.pop_back();
  settings.pays = environment("AWS_REQUEST_PAYER") == "requester";
  const std::string style = ini_value(config, section, "addressing_style");
  if (style == "path") settings.style = S3Settings::Style::path;
  if (style == "virtual") settings.style = S3Settings::Style::virtual_host;
  return settings;
}

}  // namespace tare
