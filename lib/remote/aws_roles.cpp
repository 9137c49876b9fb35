#include "lib/remote/aws_roles.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <ctime>
#include <initializer_list>
#include <string>
#include <utility>

#include "lib/base/error.hpp"
#include "lib/remote/aws_hosts.hpp"
#include "lib/remote/aws_keys.hpp"
#include "lib/remote/http_status.hpp"
#include "lib/remote/settings_text.hpp"
#include "lib/remote/store_objects.hpp"
#include "lib/remote/url.hpp"

namespace tare {
namespace {

constexpr int most_roles = 5;  ///< that follow one another
constexpr std::uint64_t most_role_bytes = std::uint64_t{64} << 10;
constexpr auto key_variables =
    std::to_array<std::string_view>({"AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY", "AWS_SESSION_TOKEN", "AWS_ROLE_ARN",
                                     "AWS_WEB_IDENTITY_TOKEN_FILE", "AWS_PROFILE", "AWS_DEFAULT_PROFILE"});

/// Nothing is said of keys or profiles but that it is `profile`.
Environment of_profile(const Environment& environment, const std::string& profile) {
  return [environment, profile](const char* name) -> std::string {
    if (std::string_view(name) == "AWS_PROFILE") return profile;
    return std::ranges::find(key_variables, name) == key_variables.end() ? environment(name) : "";
  };
}

struct Form {
  std::string_view action;
  std::string body;
  void add(std::string_view name, const std::string& value) {
    if (!value.empty()) body += fmt::format("&{}={}", name, escaped_value(value));
  }
};

Form form_of(const AwsRole& role, std::string_view action) {
  Form form{action, fmt::format("Action={}&Version=2011-06-15", action)};
  form.add("RoleArn", role.arn);
  form.add("RoleSessionName", role.session);
  return form;
}

void ask(const AwsRole& role, const Form& form, const S3Settings& by, const HttpClient& client, S3Settings& settings) {
  HttpObject asked;
  asked.name = "Amazon's STS";
  asked.url = role.service + "/";
  asked.settings = by;
  const HttpAnswer answer =
      client.ask(asked, {.most_bytes = most_role_bytes, .method = "POST", .body = as_bytes(form.body)});
  const std::string response = fmt::format("{}Response", form.action), result = fmt::format("{}Result", form.action);
  const auto given = [&](std::string_view name) {
    return text_at(answer.body, {response, result, "Credentials", name});
  };
  const std::string access = given("AccessKeyId"), secret = given("SecretAccessKey");
  if (answer.status != http::ok || access.empty() || secret.empty()) {
    const std::string code = text_at(answer.body, {"ErrorResponse", "Error", "Code"});
    throw Error(Status::io,
                fmt::format("{}: STS answers {}{}{}, and gives no keys", role.arn, answer.status,
                            code.empty() ? "" : " ", code),
                "aws sts get-caller-identity shows who asks; see whether that may take the role");
  }
  settings.access_key = access;
  settings.secret_key = secret;
  settings.session_token = given("SessionToken");
}

/// Who takes the role.
S3Settings taker_of(const AwsRole& role, const HttpClient& client) {
  if (role.depth >= most_roles) {
    throw Error(Status::refused, fmt::format("{}: {} roles are to be taken one after the other", role.arn, role.depth),
                "see whether source_profile of a profile leads back to it");
  }
  AwsKeySources sources = read_aws_key_sources(role.environment);
  S3Settings taker;
  if (!role.source_profile.empty()) {
    taker = read_s3_settings(role.environment);
    // Whoever has keys of his own takes the next role with them, whatever role he could take himself.
    const bool has_keys = !sources.of_credentials_file.access.empty() || !sources.of_config_file.access.empty();
    if (has_keys && sources.role.token_file.empty()) sources.role = {};
    sources.role.depth = role.depth + 1;
  } else {
    const bool is_machine = role.credential_source == "Ec2InstanceMetadata";
    AwsKeySources named;
    (is_machine ? named.metadata_url : named.container_url) = is_machine ? sources.metadata_url : sources.container_url;
    named.container_token = sources.container_token;
    sources = std::move(named);
  }
  if (taker.access_key.empty()) find_aws_keys(sources, client, taker);
  if (!taker.access_key.empty()) return taker;
  throw Error(Status::io, fmt::format("{}: nobody is there to take that role", role.arn),
              "see source_profile or credential_source of the AWS profile");
}

void require_private(const std::string& service) {
  if (is_private_way(service)) return;
  throw Error(Status::refused, fmt::format("{}: roles are asked for by https, or at this machine", shown_url(service)),
              "see AWS_ENDPOINT_URL_STS and AWS_ENDPOINT_URL");
}

std::string service_of(const Environment& environment, const AwsProfile& profile, const std::string& region) {
  for (const char* name : {"AWS_ENDPOINT_URL_STS", "AWS_ENDPOINT_URL"}) {
    std::string given = environment(name);
    while (given.ends_with('/')) given.pop_back();
    if (!given.empty()) return given;
  }
  return aws_service(read_aws_hosts(environment, profile), "sts", region);
}

}  // namespace

AwsRole read_aws_role(const Environment& environment, const AwsProfile& profile) {
  if (!environment("AWS_ACCESS_KEY_ID").empty() && !environment("AWS_SECRET_ACCESS_KEY").empty()) return {};
  const auto or_profile = [&](const char* variable, const char* key) {
    const std::string given = environment(variable);
    return given.empty() ? profile.value(key) : given;
  };
  AwsRole role;
  role.arn = profile.value("role_arn");
  if (!role.arn.empty() && profile.value("web_identity_token_file").empty()) {
    role.session = profile.value("role_session_name");
    role.external_id = profile.value("external_id");
    role.source_profile = profile.value("source_profile");
    role.credential_source = profile.value("credential_source");
    role.wants_code = !profile.value("mfa_serial").empty();
  } else {
    role.arn = or_profile("AWS_ROLE_ARN", "role_arn");
    role.token_file = or_profile("AWS_WEB_IDENTITY_TOKEN_FILE", "web_identity_token_file");
    role.session = or_profile("AWS_ROLE_SESSION_NAME", "role_session_name");
    if (role.token_file.empty()) return {};
  }
  if (role.session.empty()) role.session = fmt::format("tare-{}", std::time(nullptr));
  role.region = read_s3_settings(environment).region;
  role.service = service_of(environment, profile, role.region);
  role.environment = of_profile(environment, role.source_profile);
  return role;
}

void take_role(const AwsRole& role, const HttpClient& client, S3Settings& settings) {
  require_private(role.service);
  if (role.wants_code) {
    throw Error(Status::refused, fmt::format("{}: the AWS profile wants a code of a device for that role", role.arn),
                "aws configure export-credentials --format env gives keys for some hours");
  }
  if (!role.token_file.empty()) {
    const std::string token(trimmed(small_file(role.token_file)));
    if (token.empty()) throw Error(Status::io, role.token_file + ": cannot be read, or is empty");
    Form form = form_of(role, "AssumeRoleWithWebIdentity");
    form.add("WebIdentityToken", token);
    return ask(role, form, {}, client, settings);
  }
  S3Settings taker = taker_of(role, client);
  taker.signature = S3Settings::Signature::amazon_tokens;
  taker.region = role.region;
  taker.pays = false;
  Form form = form_of(role, "AssumeRole");
  form.add("ExternalId", role.external_id);
  ask(role, form, taker, client, settings);
}

}  // namespace tare
