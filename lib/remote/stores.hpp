// The kinds of object stores that have a scheme of their own, in one table.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "lib/remote/aws_keys.hpp"
#include "lib/remote/azure.hpp"
#include "lib/remote/google_keys.hpp"
#include "lib/remote/http_client.hpp"
#include "lib/remote/hub.hpp"
#include "lib/remote/s3_settings.hpp"
#include "lib/remote/store_folders.hpp"

namespace tare {

/// Who asks each of them, and where it is.
struct StoreSettings {
  S3Settings s3;
  AwsKeySources s3_keys;         ///< where variables have none
  S3Settings google;             ///< Google's Cloud Storage speaks S3's protocol, too
  GoogleKeySources google_keys;  ///< where `google` has none
  HubSettings hub;
  AzureSettings azure;
};

StoreSettings read_store_settings(const Environment& environment);

struct ObjectStore {
  std::string_view scheme;
  /// Finds out what takes requests, before the first of a command; null where nothing does.
  void (*prepare)(const HttpClient& client, StoreSettings& settings);
  /// What is asked for where `path` is wanted, with a query of the store's own, with '?', sorted and escaped, or
  /// without one. Throws `invalid_argument` where it is none of this store's.
  HttpObject (*object)(const StoreSettings& settings, const std::string& path, const std::string& query);
  /// Is that the whole of a bucket, or of a repository, which is no object?
  bool (*is_root)(const std::string& path);
  /// How much of `path` names that whole: what follows are names in it.
  std::size_t (*root_bytes)(std::string_view path);
  /// As ListsFolder.
  std::optional<ListPage> (*list)(const HttpClient& client, const StoreSettings& settings, const std::string& folder,
                                  ListDepth depth, const std::string& from);
  /// Does it copy no part of an object into another, so that a large one can only grow?
  bool copies_whole_objects = false;
};

/// Null for what has another scheme: a server of the web.
const ObjectStore* store_of(std::string_view path);

}  // namespace tare
