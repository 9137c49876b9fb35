#include "lib/remote/stores.hpp"

#include <algorithm>
#include <iterator>

#include "lib/remote/gcs_listing.hpp"
#include "lib/remote/s3_listing.hpp"
#include "lib/remote/url.hpp"

namespace tare {
namespace {

HttpObject bucket_object(const S3Settings& settings, const std::string& path, const std::string& query) {
  HttpObject object;
  object.name = path;
  object.s3 = parse_bucket(path);
  object.settings = settings;
  object.bearer = settings.token;
  object.query = query;
  object.url = s3_url(object.s3, settings) + query;
  object.hint = "it is not there, or these credentials (or none) may not read it";
  return object;
}

bool is_bucket(const std::string& path) {
  return parse_bucket(path).key.empty();
}

/// So many parts behind the scheme, as far as they are there.
std::size_t bytes_of_parts(std::string_view path, std::size_t parts) {
  std::size_t end = path.find("://") + 2;
  for (; parts > 0 && end != path.npos; --parts) end = path.find('/', end + 1);
  return std::min(end, path.size());
}

std::size_t bytes_of_bucket(std::string_view path) {
  return bytes_of_parts(path, 1);
}

constexpr ObjectStore stores[] = {
    {"s3://",
     [](const HttpClient& client, StoreSettings& settings) {
       if (settings.s3.access_key.empty()) find_aws_keys(settings.s3_keys, client, settings.s3);
     },
     [](const StoreSettings& settings, const std::string& path, const std::string& query) {
       return bucket_object(settings.s3, path, query);
     },
     is_bucket, bytes_of_bucket,
     [](const HttpClient& client, const StoreSettings& settings, const std::string& folder, ListDepth depth,
        const std::string& from) { return list_s3(client, settings.s3, folder, depth, from); }},
    {"gs://",
     [](const HttpClient& client, StoreSettings& settings) {
       const bool has_keys = !settings.google.token.empty() || !settings.google.access_key.empty();
       if (!has_keys) find_google_token(settings.google_keys, client, settings.google);
     },
     [](const StoreSettings& settings, const std::string& path, const std::string& query) {
       return bucket_object(settings.google, path, query);
     },
     is_bucket, bytes_of_bucket,
     [](const HttpClient& client, const StoreSettings& settings, const std::string& folder, ListDepth depth,
        const std::string& from) { return list_google(client, settings.google, folder, depth, from); },
     true},
    {"hf://", nullptr,
     [](const StoreSettings& settings, const std::string& path, const std::string&) {
       return hub_object(settings.hub, path);
     },
     [](const std::string& path) { return parse_hub(path).file.empty(); },
     [](std::string_view path) { return path.size() - parse_hub(path).file.size(); },
     [](const HttpClient& client, const StoreSettings& settings, const std::string& folder, ListDepth depth,
        const std::string& from) { return list_hub(client, settings.hub, folder, depth, from); }},
    {"az://", nullptr,
     [](const StoreSettings& settings, const std::string& path, const std::string& query) {
       return azure_object(settings.azure, path, query);
     },
     is_bucket, bytes_of_bucket,
     [](const HttpClient& client, const StoreSettings& settings, const std::string& folder, ListDepth depth,
        const std::string& from) { return list_azure(client, settings.azure, folder, depth, from); }},
};

}  // namespace

StoreSettings read_store_settings(const Environment& environment) {
  return {read_s3_settings(environment),        read_aws_key_sources(environment), read_google_settings(environment),
          read_google_key_sources(environment), read_hub_settings(environment),    read_azure_settings(environment)};
}

const ObjectStore* store_of(std::string_view path) {
  const auto* found = std::find_if(std::begin(stores), std::end(stores),
                                   [&](const ObjectStore& store) { return has_scheme(path, store.scheme); });
  return found == std::end(stores) ? nullptr : found;
}

}  // namespace tare
