// Objects of Google's Cloud Storage, changed: written whole, if they still have the generation that was seen.
#pragma once

#include <string>
#include <vector>

#include "lib/remote/store_objects.hpp"

namespace tare {

/// By the XML API, as S3's. It composes objects of whole objects alone, and copies no range of one: what is made by
/// parts elsewhere is refused here. `ObjectSeen::kept` is the generation, which each object has.
class GcsObjects final : public StoreObjects {
 public:
  using StoreObjects::StoreObjects;

  std::optional<ObjectSeen> create(const std::string& path, ByteView bytes) override;
  std::optional<ObjectSeen> replace(const std::string& path, const ObjectSeen& seen, ByteView bytes) override;
  void require_parts(const std::string& path, const ObjectSeen& seen) const override;
  /// Is never come to: require_parts() refuses.
  std::string begin(const std::string& path, const ObjectSeen& seen) override;
  std::optional<ObjectSeen> compose(const std::string& path, const ObjectSeen& seen, const std::string& upload,
                                    const std::vector<ObjectPart>& parts, const NewBytes& bytes,
                                    const std::function<void()>& before_each) override;
  void give_up(const std::string&, const std::string&) override {}
  [[nodiscard]] ComposeRequests compose_requests() const override { return {"", ""}; }

 private:
  [[nodiscard]] ObjectSeen seen_in(const HttpAnswer& answer) const override;
  [[nodiscard]] bool is_other_now(const HttpAnswer& answer) const override;
};

}  // namespace tare
