#include "lib/remote/aws_keys.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <ctime>
#include <filesystem>
#include <string_view>
#include <system_error>

#include "lib/base/bytes.hpp"
#include "lib/base/error.hpp"
#include "lib/json/document.hpp"
#include "lib/remote/http_status.hpp"
#include "lib/remote/settings_text.hpp"
#include "lib/remote/spoken_by.hpp"
#include "lib/remote/url.hpp"

namespace tare {
namespace {

constexpr std::uint64_t most_key_bytes = std::uint64_t{64} << 10;
constexpr std::size_t most_tokens = 1000;
constexpr const char* vendor_file = "/sys/devices/virtual/dmi/id/sys_vendor";
constexpr const char* container_service = "http://169.254.170.2";
constexpr auto container_hosts = std::to_array<std::string_view>(
    {"169.254.170.2", "169.254.170.23", "[fd00:ec2::23]", "localhost", "127.0.0.1", "[::1]"});

/// Keys by the names that a source gives them.
struct KeyNames {
  const char *access, *secret, *token;
};
constexpr KeyNames of_services{"AccessKeyId", "SecretAccessKey", "Token"};
constexpr KeyNames of_processes{"AccessKeyId", "SecretAccessKey", "SessionToken"};
constexpr KeyNames of_sign_on{"accessKeyId", "secretAccessKey", "sessionToken"};

bool take_keys(const JsonValue& found, const KeyNames& names, S3Settings& settings) {
  const std::string_view access = found.find(names.access).text_or(""), secret = found.find(names.secret).text_or("");
  if (access.empty() || secret.empty()) return false;
  settings.access_key = access;
  settings.secret_key = secret;
  settings.session_token = found.find(names.token).text_or("");
  return true;
}

/// Does `text` hold keys? `inside`: the member that they stand in; empty: the document itself.
bool take_keys(ByteView text, const char* inside, const KeyNames& names, S3Settings& settings) {
  try {
    const JsonDocument document(text, "keys");
    const JsonValue root = document.root();
    return take_keys(*inside == '\0' ? root : root.find(inside), names, settings);
  } catch (const Error&) {
    return false;  // whose message may tell of a key
  }
}

/// The time in UTC, as the tokens' files have it, up to the seconds.
std::string time_now() {
  const std::time_t now = std::time(nullptr);
  std::tm at{};
  ::gmtime_r(&now, &at);
  return fmt::format("{:04}-{:02}-{:02}T{:02}:{:02}:{:02}", at.tm_year + 1900, at.tm_mon + 1, at.tm_mday, at.tm_hour,
                     at.tm_min, at.tm_sec);
}

/// Of a file that `aws sso login` left for that start URL; empty where it left none, or it is too old.
std::string token_in(const std::string& file, const std::string& start_url) {
  const std::string text = small_file(file);
  try {
    const JsonDocument document(as_bytes(text), file);
    const JsonValue root = document.root();
    const std::string_view expires = root.find("expiresAt").text_or("");
    const std::string now = time_now();
    const bool is_good = root.find("startUrl").text_or("") == start_url && expires.substr(0, now.size()) > now;
    return is_good ? std::string(root.find("accessToken").text_or("")) : std::string();
  } catch (const Error&) {
    return {};
  }
}

std::string sign_on_token(const AwsKeySources::SignOn& sign_on) {
  std::error_code error;
  std::size_t seen = 0;
  for (std::filesystem::directory_iterator at(sign_on.token_folder, error), end; !error && at != end;
       at.increment(error)) {
    if (++seen > most_tokens) break;
    if (at->path().extension() != ".json") continue;
    if (std::string token = token_in(at->path().string(), sign_on.start_url); !token.empty()) return token;
  }
  throw Error(Status::io, fmt::format("{}: nobody is signed on there, or not any more", sign_on.start_url),
              "aws sso login");
}

void ask_sign_on(const AwsKeySources::SignOn& sign_on, const HttpClient& client, S3Settings& settings) {
  HttpObject asked = asked_with("IAM Identity Center",
                                fmt::format("{}/federation/credentials?account_id={}&role_name={}", sign_on.portal,
                                            escaped_value(sign_on.account), escaped_value(sign_on.role)),
                                {"x-amz-sso_bearer_token: " + sign_on_token(sign_on)});
  const HttpAnswer answer = client.get_whole(asked, most_key_bytes);
  if (answer.status == http::ok && take_keys(answer.body, "roleCredentials", of_sign_on, settings)) return;
  throw Error(Status::io,
              fmt::format("{}: IAM Identity Center answers {}, and gives no "
                          "keys for the role {} of account {}",
                          sign_on.start_url, answer.status, sign_on.role, sign_on.account),
              "aws sso login; then see whether that role is yours");
}

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

std::string container_url(const Environment& environment) {
  const std::string path = environment("AWS_CONTAINER_CREDENTIALS_RELATIVE_URI");
  return path.empty() ? environment("AWS_CONTAINER_CREDENTIALS_FULL_URI") : container_service + path;
}

bool is_word(std::string_view text) {
  return !text.empty() &&
         std::ranges::all_of(text, [](char c) { return (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') || c == '-'; });
}

AwsKeySources::SignOn sign_on(const Environment& environment, std::string_view config, const std::string& section) {
  const std::string session = ini_value(config, section, "sso_session");
  const std::string of_url = session.empty() ? section : "sso-session " + session;
  AwsKeySources::SignOn found{ini_value(config, of_url, "sso_start_url"), ini_value(config, section, "sso_account_id"),
                              ini_value(config, section, "sso_role_name"), environment("AWS_ENDPOINT_URL_SSO"),
                              environment("HOME") + "/.aws/sso/cache"};
  const std::string region = ini_value(config, of_url, "sso_region");
  if (found.portal.empty() && is_word(region))
    found.portal = fmt::format("https://portal.sso.{}.amazonaws.com", region);
  if (found.portal.empty() || found.account.empty() || found.role.empty()) found.start_url.clear();
  return found;
}

}  // namespace

AwsKeySources read_aws_key_sources(const Environment& environment) {
  const std::string given = environment("AWS_CONFIG_FILE");
  const std::string config = small_file(given.empty() ? environment("HOME") + "/.aws/config" : given);
  const std::string profile = aws_profile(environment);
  const std::string section = profile == "default" ? profile : "profile " + profile;
  AwsKeySources sources;
  const std::string keys = environment("AWS_SHARED_CREDENTIALS_FILE");
  const bool is_there =
      has_section(config, section) ||
      has_section(small_file(keys.empty() ? environment("HOME") + "/.aws/credentials" : keys), profile);
  if (profile != "default" && !is_there) sources.absent_profile = profile;
  sources.role = read_aws_role(environment, config, section);
  sources.sign_on = sign_on(environment, config, section);
  sources.process = ini_value(config, section, "credential_process");
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
  if (!sources.process.empty()) return ask_process(sources.process, settings);
  if (!sources.container_url.empty() && ask_container(sources, client, settings)) return;
  if (!sources.metadata_url.empty()) ask_machine(sources.metadata_url, client, settings);
}

}  // namespace tare
