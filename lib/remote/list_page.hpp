// One answer of a store that is asked for the objects below a folder.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "lib/base/bytes.hpp"

namespace tare {

struct ListedObject {
  std::string key;
  std::uint64_t size = 0;
  std::string tag = {};  ///< its ETag without quotes; empty where the store tells none
};

struct ListPage {
  std::vector<ListedObject> objects;
  std::vector<std::string> folders;  ///< keys up to the delimiter, and with it
  std::string next;                  ///< what the next page is asked for with; empty where this is the last
  bool is_level = false;             ///< of the folder itself alone, whatever was asked for
};

/// Of S3's ListObjectsV2, its keys unescaped where it says that they are escaped. Nothing for an answer that is no
/// listing; throws `io`, which names `name`, for one that is broken.
std::optional<ListPage> parse_s3_page(const std::string& name, ByteView xml);
/// The same of Azure's List Blobs. Blobs that stand for a folder are left out.
std::optional<ListPage> parse_azure_page(const std::string& name, ByteView xml);

/// `key` without the prefix that was asked for. Throws `io`, which names `name`, where it has another.
std::string key_below(std::string_view key, const std::string& prefix, const std::string& name);

}  // namespace tare
