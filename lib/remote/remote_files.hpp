// Checkpoints behind http(s) and in object stores. Stores list their objects to who may list them. Where nothing lists,
// a folder is what has one of the names that frameworks begin with, and its files are those that such names lead to.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <set>
#include <string>
#include <string_view>

#include "lib/base/distant_files.hpp"
#include "lib/remote/http_client.hpp"
#include "lib/remote/http_source.hpp"
#include "lib/remote/remote_limits.hpp"
#include "lib/remote/store_folders.hpp"
#include "lib/remote/stores.hpp"
#include "lib/remote/written_urls.hpp"

namespace tare {

class RemoteFiles final : public DistantFiles {
 public:
  explicit RemoteFiles(StoreSettings settings, const RemoteLimits& limits = {}, WrittenUrls urls = {});

  [[nodiscard]] FileType type(const std::string& path) const override;
  [[nodiscard]] std::vector<FileEntry> list(const std::string& folder) const override;
  [[nodiscard]] std::shared_ptr<const Source> open(const std::string& path) const override;
  [[nodiscard]] std::size_t most_at_once() const override { return client_->limits().at_once; }
  void expect_all_below(const std::string& folder) const override;
  [[nodiscard]] bool lists_all(const std::string& folder) const override {
    return store_of(folder) != nullptr && folders_.lists_all(folder);
  }

  [[nodiscard]] bool was_all_there_without(const std::string& folder, const std::string& absent,
                                           std::span<const FileVersion> files) const override;

  [[nodiscard]] const HttpClient& client() const { return *client_; }
  /// What is asked for where `path` is wanted, by whom; `query`: as of ObjectStore::object.
  [[nodiscard]] HttpObject object(const std::string& path, const std::string& query = {}) const;
  [[nodiscard]] const AzureSettings& azure() const { return settings_.azure; }
  /// What is in `folder` now, as ListsFolder.
  [[nodiscard]] std::optional<ListPage> list_now(const std::string& folder, ListDepth depth,
                                                 const std::string& from) const;
  /// Objects are asked for anew when they are opened next: they may have changed.
  void forget() const;

 private:
  /// Was such an object found?
  bool has_found(const std::string& path) const;
  /// Asked for once, as long as there is room for what it tells.
  [[nodiscard]] std::shared_ptr<const ObjectStart> start(const std::string& path) const;
  /// Has the server such an object? No, where it does not say.
  bool has(const std::string& path) const;
  /// Prepared for that store.
  const StoreSettings& settings(const ObjectStore& store) const;
  /// Throws `unsupported` for a server that has whatever it is asked for.
  void require_choosy(const std::string& folder) const;
  [[nodiscard]] bool is_folder(const std::string& path) const;
  /// What a server of the web is asked for where `path` is wanted: as the user wrote it, and, from where it is a name
  /// that the server listed, with that name escaped.
  [[nodiscard]] HttpObject web_object(const std::string& path) const;
  /// Of a server of the web: its page, and what that leaves out.
  [[nodiscard]] std::optional<ListPage> list_of_web(const std::string& folder) const;
  [[nodiscard]] std::vector<FileEntry> list_by_names(const std::string& folder) const;

  mutable StoreSettings settings_;
  WrittenUrls urls_;
  mutable std::mutex preparing_;
  mutable std::set<std::string_view> prepared_;  ///< schemes
  std::shared_ptr<const HttpClient> client_;
  StoreFolders folders_;
  mutable std::mutex mutex_;
  mutable std::map<std::string, std::shared_ptr<const ObjectStart>> known_;  ///< null: not there
  mutable std::uint64_t known_bytes_ = 0;
};

}  // namespace tare
