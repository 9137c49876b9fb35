#include "lib/remote/aws_keys.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <string_view>

#include "lib/base/bytes.hpp"
#include "lib/base/error.hpp"
#include "lib/remote/aws_profile.hpp"
#include "lib/remote/given_keys.hpp"
#include "lib/remote/http_status.hpp"
#include "lib/remote/settings_text.hpp"
#include "lib/remote/spoken_by.hpp"
#include "lib/remote/url.hpp"

namespace tare {
namespace {

constexpr std::uint64_t most_key_bytes = std::uint64_t{64} << 10;
constexpr const char* vendor_file = "/sys/devices/virtual/dmi/id/sys_vendor";
constexpr const char* container_service = "http://169.254.170.2";
constexpr auto container_hosts = std::to_array<std::string_view>(
    {"169.254.170.2", "169.254.170.23", "[fd00:ec2::23]", "localhost", "127.0.0.1", "[::1]"});

constexpr KeyNames of_services{"AccessKeyId", "SecretAccessKey", "Token"};
constexpr KeyNames of_processes{"AccessKeyId", "SecretAccessKey", "SessionToken"};

void ask_process(const std::string& command, S3Settings& settings) {
  const Bytes said = spoken_by(words_of_command(command), most_key_bytes);
  if (take_keys(said, "", of_processes, settings)) return;
  throw Error(Status::io, "credential_process of the AWS profile: it gives no keys", "run it, and see what it says");
}

/// Keys would go over the network for all to read, and the container's token with them.
void require_near(const std::string& url) {
  const bool is_near = std::ranges::find(container_hosts, host_of(url)) != container_hosts.end();
  if (is_https(url) || (is_http(url) && is_near)) return;
  throw Error(
      Status::refused,
      fmt::format("AWS_CONTAINER_CREDENTIALS_FULL_URI: {} is neither https nor of this machine", shown_url(url)),
      "unset it, or give keys in AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY");
}

bool ask_container(const AwsKeySources& sources, const HttpClient& client, S3Settings& settings) {
  require_near(sources.container_url);
  std::vector<std::string> lines;
  if (!sources.container_token.empty()) lines.push_back("Authorization: " + sources.container_token);
  HttpObject asked = asked_with("the keys of this container", sources.container_url, std::move(lines));
  const auto answer = client.ask_nearby(asked, {.most_bytes = most_key_bytes});
  if (answer && answer->status == http::ok && take_keys(answer->body, "", of_services, settings)) return true;
  throw Error(Status::io, fmt::format("{}: gives this container no keys", shown_url(sources.container_url)));
}

/// Of the role of this machine. Nothing happens where no such service answers, or the machine has no role.
void ask_machine(const std::string& service, const HttpClient& client, S3Settings& settings) {
  constexpr const char* name = "the metadata of this machine";
  HttpObject asked = asked_with(name, service + "/latest/api/token", {"x-aws-ec2-metadata-token-ttl-seconds: 300"});
  const auto token = client.ask_nearby(asked, {.most_bytes = most_key_bytes, .method = "PUT"});
  if (!token || token->status != http::ok) return;
  const std::vector<std::string> lines{fmt::format("x-aws-ec2-metadata-token: {}", trimmed(as_text(token->body)))};
  const std::string roles = service + "/latest/meta-data/iam/security-credentials/";
  asked = asked_with(name, roles, lines);
  const auto role = client.ask_nearby(asked, {.most_bytes = most_key_bytes});
  if (!role || role->status != http::ok) return;
  const std::string first(trimmed(as_text(role->body).substr(0, as_text(role->body).find('\n'))));
  asked = asked_with(name, roles + escaped_value(first), lines);
  const auto keys = client.ask_nearby(asked, {.most_bytes = most_key_bytes});
  if (keys && keys->status == http::ok) take_keys(keys->body, "", of_services, settings);
}

/// Both are of one place: halves of two would sign nothing.
template <typename ValueOf>
AwsKeySources::Pair pair_of(const ValueOf& value_of) {
  AwsKeySources::Pair pair{value_of("aws_access_key_id"), value_of("aws_secret_access_key"),
                           value_of("aws_session_token")};
  if (pair.token.empty()) pair.token = value_of("aws_security_token");
  return pair.access.empty() || pair.secret.empty() ? AwsKeySources::Pair() : pair;
}

void take(const AwsKeySources::Pair& pair, S3Settings& settings) {
  settings.access_key = pair.access;
  settings.secret_key = pair.secret;
  settings.session_token = pair.token;
}

std::string container_url(const Environment& environment) {
  const std::string path = environment("AWS_CONTAINER_CREDENTIALS_RELATIVE_URI");
  return path.empty() ? environment("AWS_CONTAINER_CREDENTIALS_FULL_URI") : container_service + path;
}

}  // namespace

AwsKeySources read_aws_key_sources(const Environment& environment) {
  const AwsProfile profile = read_aws_profile(environment);
  AwsKeySources sources;
  if (profile.name != "default" && !profile.is_there()) sources.absent_profile = profile.name;
  sources.role = read_aws_role(environment, profile);
  sources.sign_on = read_sign_on(environment, profile);
  const auto in_credentials = [&](const char* key) { return profile.in_credentials(key); };
  const auto in_config = [&](const char* key) { return profile.in_config(key); };
  sources.of_credentials_file = pair_of(in_credentials);
  sources.process = profile.value("credential_process");
  sources.of_config_file = pair_of(in_config);
  sources.container_url = container_url(environment);
  const std::string token_file = environment("AWS_CONTAINER_AUTHORIZATION_TOKEN_FILE");
  sources.container_token =
      trimmed(token_file.empty() ? environment("AWS_CONTAINER_AUTHORIZATION_TOKEN") : small_file(token_file));
  sources.metadata_url = environment("AWS_EC2_METADATA_SERVICE_ENDPOINT");
  if (sources.metadata_url.empty() && first_line(vendor_file).starts_with("Amazon EC2"))
    sources.metadata_url = "http://169.254.169.254";
  while (sources.metadata_url.ends_with('/')) sources.metadata_url.pop_back();
  if (environment("AWS_EC2_METADATA_DISABLED") == "true") sources.metadata_url.clear();
  return sources;
}

void find_aws_keys(const AwsKeySources& sources, const HttpClient& client, S3Settings& settings) {
  if (!sources.role.arn.empty()) return take_role(sources.role, client, settings);
  if (!sources.absent_profile.empty()) {
    throw Error(Status::io, fmt::format("there is no AWS profile \"{}\"", sources.absent_profile),
                "aws configure list-profiles shows which there are; see AWS_PROFILE, AWS_CONFIG_FILE and "
                "AWS_SHARED_CREDENTIALS_FILE");
  }
  if (!sources.sign_on.start_url.empty()) return ask_sign_on(sources.sign_on, client, settings);
  if (!sources.of_credentials_file.access.empty()) return take(sources.of_credentials_file, settings);
  if (!sources.process.empty()) return ask_process(sources.process, settings);
  if (!sources.of_config_file.access.empty()) return take(sources.of_config_file, settings);
  if (!sources.container_url.empty() && ask_container(sources, client, settings)) return;
  if (!sources.metadata_url.empty()) ask_machine(sources.metadata_url, client, settings);
}

}  // namespace tare
