#include "lib/remote/google_keys.hpp"

#include <fmt/format.h>
#include <openssl/bio.h>
#include <openssl/evp.h>
#include <openssl/pem.h>

#include <algorithm>
#include <ctime>
#include <memory>
#include <nlohmann/json.hpp>
#include <string_view>

#include "lib/base/error.hpp"
#include "lib/base/text.hpp"
#include "lib/json/document.hpp"
#include "lib/remote/http_status.hpp"
#include "lib/remote/settings_text.hpp"
#include "lib/remote/url.hpp"

namespace tare {
namespace {

constexpr std::uint64_t most_token_bytes = std::uint64_t{64} << 10;
constexpr std::time_t token_seconds = 3600;  // the most that Google gives
constexpr const char* storage_scope = "https://www.googleapis.com/auth/devstorage.read_write";
constexpr const char* product_file = "/sys/devices/virtual/dmi/id/product_name";
constexpr const char* usual_token_uri = "https://oauth2.googleapis.com/token";
constexpr const char* other_way = "gcloud auth print-access-token gives a token for GOOGLE_OAUTH_ACCESS_TOKEN";

template <auto Free>
struct Freed {
  template <class T>
  void operator()(T* owned) const {
    Free(owned);
  }
};
using Bio = std::unique_ptr<BIO, Freed<BIO_free_all>>;
using Key = std::unique_ptr<EVP_PKEY, Freed<EVP_PKEY_free>>;
using Json = nlohmann::ordered_json;
using Signing = std::unique_ptr<EVP_MD_CTX, Freed<EVP_MD_CTX_free>>;

/// Of RFC 7515: other letters than base64's for two, and nothing at the end.
std::string base64_of_urls(std::string_view bytes) {
  std::string text = base64(bytes);
  text.erase(text.find_last_not_of('=') + 1);
  std::ranges::replace(text, '+', '-');
  std::ranges::replace(text, '/', '_');
  return text;
}

/// RSASSA-PKCS1-v1_5 with SHA-256; empty where `pem` is no key that signs so.
std::string signature_of(const std::string& text, const std::string& pem) {
  const Bio memory(BIO_new_mem_buf(pem.data(), static_cast<int>(pem.size())));
  const Key key(PEM_read_bio_PrivateKey(memory.get(), nullptr, nullptr, nullptr));
  if (key == nullptr || EVP_PKEY_get_base_id(key.get()) != EVP_PKEY_RSA) return {};
  const Signing signing(EVP_MD_CTX_new());
  const auto* bytes = reinterpret_cast<const unsigned char*>(text.data());
  std::size_t size = 0;
  if (EVP_DigestSignInit(signing.get(), nullptr, EVP_sha256(), nullptr, key.get()) != 1 ||
      EVP_DigestSign(signing.get(), nullptr, &size, bytes, text.size()) != 1) {
    return {};
  }
  std::string signature(size, '\0');
  auto* const to = reinterpret_cast<unsigned char*>(signature.data());
  if (EVP_DigestSign(signing.get(), to, &size, bytes, text.size()) != 1) return {};
  signature.resize(size);
  return signature;
}

std::string text_of(const JsonValue& root, const char* name) {
  return std::string(root.find(name).text_or(""));
}

/// What the file's owner says, signed (RFC 7523).
std::string assertion_of(const JsonValue& account, const std::string& token_uri, const std::string& file) {
  const std::time_t now = std::time(nullptr);
  const Json head{{"alg", "RS256"}, {"typ", "JWT"}, {"kid", text_of(account, "private_key_id")}};
  const Json claims{{"iss", text_of(account, "client_email")},
                    {"scope", storage_scope},
                    {"aud", token_uri},
                    {"iat", now},
                    {"exp", now + token_seconds}};
  const std::string text = base64_of_urls(head.dump()) + '.' + base64_of_urls(claims.dump());
  const std::string signature = signature_of(text, text_of(account, "private_key"));
  if (signature.empty()) throw Error(Status::io, file + ": its private_key is no RSA key", other_way);
  return text + '.' + base64_of_urls(signature);
}

/// The form that asks for a token.
std::string form_of(const JsonValue& found, const std::string& token_uri, const std::string& file) {
  const std::string kind = text_of(found, "type");
  if (kind == "service_account") {
    return "grant_type=urn%3Aietf%3Aparams%3Aoauth%3Agrant-type%3Ajwt-bearer&assertion=" +
           assertion_of(found, token_uri, file);
  }
  if (kind == "authorized_user") {
    return fmt::format("grant_type=refresh_token&client_id={}&client_secret={}&refresh_token={}",
                       escaped_value(text_of(found, "client_id")), escaped_value(text_of(found, "client_secret")),
                       escaped_value(text_of(found, "refresh_token")));
  }
  throw Error(Status::io, fmt::format("{}: credentials of the kind \"{}\" are not known", file, kind), other_way);
}

/// A key would go over the network for all to read.
void require_private(const std::string& token_uri, const std::string& file) {
  if (is_private_way(token_uri)) return;
  throw Error(Status::refused,
              fmt::format("{}: its token_uri {} is neither https nor of this machine", file, shown_url(token_uri)),
              other_way);
}

std::string token_in(const HttpAnswer& answer) {
  try {
    const JsonDocument document(answer.body, "a token");
    return text_of(document.root(), "access_token");
  } catch (const Error&) {
    return {};  // whose message may tell of a token
  }
}

std::string token_by_file(const std::string& file, const HttpClient& client) {
  const std::string text = small_file(file);
  if (text.empty()) throw Error(Status::io, file + ": cannot be read, or is empty", other_way);
  std::string token_uri, form;
  try {
    const JsonDocument document(as_bytes(text), file);
    token_uri = text_of(document.root(), "token_uri");
    if (token_uri.empty()) token_uri = usual_token_uri;
    require_private(token_uri, file);
    form = form_of(document.root(), token_uri, file);
  } catch (const Error& error) {
    if (error.status == Status::io || error.status == Status::refused) throw;
    throw Error(Status::io, file + ": is no JSON of credentials", other_way);  // without a word of what is in it
  }
  HttpObject asked = asked_with("Google's tokens", token_uri, {"content-type: application/x-www-form-urlencoded"});
  const HttpAnswer answer =
      client.ask(asked, {.most_bytes = most_token_bytes, .method = "POST", .body = as_bytes(form)});
  std::string token = answer.status == http::ok ? token_in(answer) : "";
  if (!token.empty()) return token;
  throw Error(Status::io,
              fmt::format("{}: {} answers {}, and gives no token", file, shown_url(token_uri), answer.status),
              "see whether that account is there still, and its key with it");
}

/// Of the account that this machine has; empty where no such service answers, or it has none.
std::string token_of_machine(const std::string& service, const HttpClient& client) {
  const HttpObject asked =
      asked_with("the metadata of this machine",
                 service + "/computeMetadata/v1/instance/service-accounts/default/token", {"Metadata-Flavor: Google"});
  const auto answer = client.ask_nearby(asked, {.most_bytes = most_token_bytes});
  return answer && answer->status == http::ok ? token_in(*answer) : "";
}

std::string usual_file(const Environment& environment) {
  const std::string folder = environment("CLOUDSDK_CONFIG");
  const std::string file =
      (folder.empty() ? environment("HOME") + "/.config/gcloud" : folder) + "/application_default_credentials.json";
  return small_file(file).empty() ? "" : file;
}

}  // namespace

GoogleKeySources read_google_key_sources(const Environment& environment) {
  GoogleKeySources sources;
  const bool has_emulator = !environment("STORAGE_EMULATOR_HOST").empty();
  sources.file = environment("GOOGLE_APPLICATION_CREDENTIALS");
  if (sources.file.empty() && !has_emulator) sources.file = usual_file(environment);
  const std::string host = environment("GCE_METADATA_HOST");
  if (!host.empty()) {
    sources.metadata_url = "http://" + host;
  } else if (!has_emulator && environment("NO_GCE_CHECK") != "true" && first_line(product_file).starts_with("Google")) {
    sources.metadata_url = "http://169.254.169.254";
  }
  return sources;
}

void find_google_token(const GoogleKeySources& sources, const HttpClient& client, S3Settings& settings) {
  if (!sources.file.empty()) {
    settings.token = token_by_file(sources.file, client);
  } else if (!sources.metadata_url.empty()) {
    settings.token = token_of_machine(sources.metadata_url, client);
  }
}

}  // namespace tare
