// Objects of S3, changed: by conditional PUTs, and by parts that S3 itself copies.
#pragma once

#include <string>
#include <vector>

#include "lib/remote/store_objects.hpp"

namespace tare {

class S3Objects final : public StoreObjects {
 public:
  using StoreObjects::StoreObjects;

  std::optional<std::uint64_t> unseen_labels(const std::string& path) override;
  std::optional<ObjectSeen> create(const std::string& path, ByteView bytes) override;
  std::optional<ObjectSeen> replace(const std::string& path, const ObjectSeen& seen, ByteView bytes) override;
  std::string begin(const std::string& path, const ObjectSeen& seen) override;
  std::optional<ObjectSeen> compose(const std::string& path, const ObjectSeen& seen, const std::string& upload,
                                    const std::vector<ObjectPart>& parts, const NewBytes& bytes,
                                    const std::function<void()>& before_each) override;
  void give_up(const std::string& path, const std::string& upload) override;
  [[nodiscard]] ComposeRequests compose_requests() const override { return {"POST", "POST"}; }

 private:
  [[nodiscard]] ObjectSeen seen_in(const HttpAnswer& answer) const override;
  [[nodiscard]] bool is_other_now(const HttpAnswer& answer) const override;
  /// The ETag of part `number`; empty where the object is no longer what was seen, or the upload is gone.
  [[nodiscard]] std::string part(const std::string& path, const ObjectSeen& seen, const std::string& upload,
                                 std::size_t number, const ObjectPart& part, const NewBytes& bytes) const;
};

}  // namespace tare
