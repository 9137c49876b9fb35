// Azure's Blob Storage: az://CONTAINER/KEY, in the account that the settings name, as the az command's variables say.
#pragma once

#include <optional>
#include <string>

#include "lib/remote/http_client.hpp"
#include "lib/remote/list_page.hpp"
#include "lib/remote/s3_settings.hpp"
#include "lib/remote/store_folders.hpp"

namespace tare {

/// Of a key, a shared access signature and a token the first that is there is used; requests are anonymous without one.
struct AzureSettings {
  std::string account = {};
  std::string key = {};       ///< in base64, as Azure shows it
  std::string sas = {};       ///< without the question mark
  std::string token = {};     ///< of Entra ID
  std::string endpoint = {};  ///< of the account; without a slash at its end
};

/// AZURE_STORAGE_ACCOUNT, AZURE_STORAGE_KEY, AZURE_STORAGE_SAS_TOKEN, AZURE_STORAGE_ACCESS_TOKEN, and
/// AZURE_STORAGE_SERVICE_ENDPOINT; what these do not say is taken from AZURE_STORAGE_CONNECTION_STRING, unless that is
/// of another account.
AzureSettings read_azure_settings(const Environment& environment);

/// What is asked for with that query, with '?', sorted and escaped, or without one. Throws `invalid_argument` where
/// nobody says in which account.
HttpObject azure_object(const AzureSettings& settings, const std::string& path, const std::string& query = {});

/// The header lines by which a request names the blob at `path` as what is copied, and proves that it may be read: a
/// signature of an hour, the one that is shared, or the token.
std::vector<std::string> azure_copy_lines(const AzureSettings& settings, const std::string& path);

/// One page by List Blobs, of `folder`, its keys from there on. Nothing where whoever asks may not list the container.
/// Throws `io` where it lists what was not asked for, and what HttpClient::get_whole throws.
std::optional<ListPage> list_azure(const HttpClient& client, const AzureSettings& settings, const std::string& folder,
                                   ListDepth depth, const std::string& from);

/// What a Shared Key signature signs, `query` without '?' and escaped, `date` as x-ms-date has it.
std::string azure_text_to_sign(const AzureSettings& settings, const std::string& url_path, const std::string& query,
                               const HttpRequest& request, const std::string& date);

/// What the signature of a shared access signature for reading one blob signs, until `expiry` ("2015-06-26T23:39:12Z").
std::string azure_access_to_sign(const AzureSettings& settings, const S3Object& blob, const std::string& expiry);

}  // namespace tare
