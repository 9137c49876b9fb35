// What a bucket of S3 says is in a folder.
#pragma once

#include <optional>
#include <string>

#include "lib/remote/http_client.hpp"
#include "lib/remote/list_page.hpp"
#include "lib/remote/store_folders.hpp"

namespace tare {

/// One page by ListObjectsV2, of `folder` (s3://BUCKET or s3://BUCKET/KEY), its keys from there on. Nothing where
/// whoever asks may not list the bucket, or the service cannot. Throws `io` where it lists what was not asked for, and
/// what HttpClient::get_whole throws.
std::optional<ListPage> list_s3(const HttpClient& client, const S3Settings& settings, const std::string& folder,
                                ListDepth depth, const std::string& from);

}  // namespace tare
