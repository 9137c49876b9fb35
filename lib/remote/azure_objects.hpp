// Azure's block blobs, changed: small ones by a conditional Put Blob, large ones by blocks, of which Azure copies those
// that do not change from the blob itself.
#pragma once

#include <string>
#include <vector>

#include "lib/remote/store_objects.hpp"

namespace tare {

/// An "upload" is what the names of its blocks begin with: Azure keeps blocks that nobody commits for a week, whosever
/// they are. To give one up, so that its maker commits nothing any more, the blob gets another ETag.
class AzureObjects final : public StoreObjects {
 public:
  using StoreObjects::StoreObjects;

  std::optional<ObjectSeen> create(const std::string& path, ByteView bytes) override;
  std::optional<ObjectSeen> replace(const std::string& path, const ObjectSeen& seen, ByteView bytes) override;
  std::string begin(const std::string& path, const ObjectSeen& seen) override;
  std::optional<ObjectSeen> compose(const std::string& path, const ObjectSeen& seen, const std::string& upload,
                                    const std::vector<ObjectPart>& parts, const NewBytes& bytes,
                                    const std::function<void()>& before_each) override;
  void give_up(const std::string& path, const std::string& upload) override;
  void drop(const std::string&, const std::string&) override {}
  [[nodiscard]] ComposeRequests compose_requests() const override { return {"", "PUT"}; }

 private:
  [[nodiscard]] ObjectSeen seen_in(const HttpAnswer& answer) const override;
  [[nodiscard]] bool is_other_now(const HttpAnswer& answer) const override;
  /// False where the blob is no longer what was seen.
  [[nodiscard]] bool put_block(const std::string& path, const ObjectSeen& seen, const std::string& block,
                               const ObjectPart& part, const NewBytes& bytes) const;
};

}  // namespace tare
