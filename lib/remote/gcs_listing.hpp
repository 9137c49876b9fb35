// What a bucket of Google's says is in a folder.
#pragma once

#include <optional>
#include <string>

#include "lib/remote/http_client.hpp"
#include "lib/remote/list_page.hpp"
#include "lib/remote/store_folders.hpp"

namespace tare {

/// One page of `folder` (gs://BUCKET or gs://BUCKET/KEY), its keys from there on: by the JSON API, which emulators have
/// too; with an HMAC key, which that does not take, by the XML API, as list_s3() asks. Nothing where whoever asks may
/// not list the bucket. Throws as list_s3().
std::optional<ListPage> list_google(const HttpClient& client, const S3Settings& settings, const std::string& folder,
                                    ListDepth depth, const std::string& from);

/// The objects below `prefix` of an answer of the JSON API. Throws `io`, which names `name`, for what is none, and for
/// what is not below it.
ListPage parse_google_page(const std::string& name, const std::string& prefix, ByteView json);

}  // namespace tare
