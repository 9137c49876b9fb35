// Repositories on the Hugging Face Hub: hf://OWNER/NAME, hf://datasets/OWNER/NAME, as its own library calls them.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "lib/remote/http_client.hpp"
#include "lib/remote/list_page.hpp"
#include "lib/remote/s3_settings.hpp"
#include "lib/remote/store_folders.hpp"

namespace tare {

struct HubSettings {
  std::string token;  ///< empty: requests are anonymous
  std::string endpoint = "https://huggingface.co";
};

/// HF_TOKEN or HUGGING_FACE_HUB_TOKEN; else what is in the file HF_TOKEN_PATH, or `token` in HF_HOME, or in huggingface
/// in XDG_CACHE_HOME, or ~/.cache; '~' is HOME. Without line ends. HF_ENDPOINT.
HubSettings read_hub_settings(const Environment& environment);

struct HubPath {
  std::string kind;  ///< "models", "datasets", "spaces"
  std::string repository;
  std::string revision = "main";
  std::string file;  ///< or folder; empty for the whole repository
};

/// hf://[KIND/]OWNER/NAME[@REVISION][/FILE]; of revisions with slashes refs/pr/N and refs/convert/NAME, others with
/// %2F. Throws `invalid_argument` for anything else.
HubPath parse_hub(std::string_view path);

HttpObject hub_object(const HubSettings& settings, const std::string& path);

/// One page of the tree of a repository, its keys from `folder` on; an empty one where the repository has no such
/// folder. Throws `io` where the server does not let us list, or lists what was not asked for, and what
/// HttpClient::get_whole throws.
std::optional<ListPage> list_hub(const HttpClient& client, const HubSettings& settings, const std::string& folder,
                                 ListDepth depth, const std::string& from);

}  // namespace tare
