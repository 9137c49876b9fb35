#include "lib/remote/aws_sign_on.hpp"

#include <fmt/format.h>
#include <openssl/evp.h>

#include <algorithm>
#include <array>
#include <ctime>
#include <string_view>

#include "lib/base/bytes.hpp"
#include "lib/base/error.hpp"
#include "lib/json/document.hpp"
#include "lib/remote/aws_hosts.hpp"
#include "lib/remote/given_keys.hpp"
#include "lib/remote/http_status.hpp"
#include "lib/remote/settings_text.hpp"
#include "lib/remote/url.hpp"

namespace tare {
namespace {

constexpr std::uint64_t most_sign_on_bytes = std::uint64_t{64} << 10;
constexpr KeyNames of_sign_on{"accessKeyId", "secretAccessKey", "sessionToken"};

/// The time in UTC, as the tokens' files have it, up to the seconds.
std::string time_now() {
  const std::time_t now = std::time(nullptr);
  std::tm at{};
  ::gmtime_r(&now, &at);
  return fmt::format("{:04}-{:02}-{:02}T{:02}:{:02}:{:02}", at.tm_year + 1900, at.tm_mon + 1, at.tm_mday, at.tm_hour,
                     at.tm_min, at.tm_sec);
}

/// By which the aws command names the file of a token: no secret hangs on it.
std::string sha1_of(std::string_view text) {
  std::array<unsigned char, EVP_MAX_MD_SIZE> digest{};
  unsigned size = 0;
  if (EVP_Digest(text.data(), text.size(), digest.data(), &size, EVP_sha1(), nullptr) != 1) return {};
  std::string digits;
  for (unsigned i = 0; i < size; ++i) digits += fmt::format("{:02x}", digest[i]);
  return digits;
}

struct SignOnToken {
  std::string text, expires;
};

/// Empty for a file that is none.
SignOnToken token_in(const std::string& file) {
  const std::string text = small_file(file);
  try {
    const JsonDocument document(as_bytes(text), file);
    const JsonValue root = document.root();
    return {std::string(root.find("accessToken").text_or("")), std::string(root.find("expiresAt").text_or(""))};
  } catch (const Error&) {
    return {};  // whose message may tell of the token
  }
}

std::string good_token(const AwsSignOn& sign_on) {
  SignOnToken token = token_in(sign_on.token_file);
  if (token.text.empty()) {
    throw Error(Status::io, fmt::format("{}: nobody is signed on there", sign_on.start_url), "aws sso login");
  }
  const std::string now = time_now();
  if (token.expires.substr(0, now.size()) > now) return std::move(token.text);
  throw Error(
      Status::io,
      fmt::format("{}: whoever signed on there is signed on no more, since {}", sign_on.start_url, token.expires),
      "aws sso login; where the session can be prolonged, any other command of aws does that, too");
}

bool is_region(std::string_view text) {
  return !text.empty() &&
         std::ranges::all_of(text, [](char c) { return (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') || c == '-'; });
}

}  // namespace

AwsSignOn read_sign_on(const Environment& environment, const AwsProfile& profile) {
  const std::string session = profile.value("sso_session");
  const auto of_session = [&](const char* key) {
    return session.empty() ? profile.value(key) : ini_value(profile.config, "sso-session " + session, key);
  };
  AwsSignOn found{of_session("sso_start_url"), profile.value("sso_account_id"), profile.value("sso_role_name"),
                  environment("AWS_ENDPOINT_URL_SSO"), ""};
  found.token_file = fmt::format("{}/.aws/sso/cache/{}.json", environment("HOME"),
                                 sha1_of(session.empty() ? found.start_url : session));
  const std::string region = of_session("sso_region");
  if (found.portal.empty() && is_region(region)) {
    found.portal = aws_service(read_aws_hosts(environment, profile), "portal.sso", region);
  }
  if (found.portal.empty() || found.account.empty() || found.role.empty()) found.start_url.clear();
  return found;
}

void ask_sign_on(const AwsSignOn& sign_on, const HttpClient& client, S3Settings& settings) {
  HttpObject asked = asked_with("IAM Identity Center",
                                fmt::format("{}/federation/credentials?account_id={}&role_name={}", sign_on.portal,
                                            escaped_value(sign_on.account), escaped_value(sign_on.role)),
                                {"x-amz-sso_bearer_token: " + good_token(sign_on)});
  const HttpAnswer answer = client.get_whole(asked, most_sign_on_bytes);
  if (answer.status == http::ok && take_keys(answer.body, "roleCredentials", of_sign_on, settings)) return;
  throw Error(Status::io,
              fmt::format("{}: IAM Identity Center answers {}, and gives no "
                          "keys for the role {} of account {}",
                          sign_on.start_url, answer.status, sign_on.role, sign_on.account),
              "aws sso login; then see whether that role is yours");
}

}  // namespace tare
