// Objects of Google's Cloud Storage, changed: small ones written whole, if they still have the generation that was
// seen, large ones composed of themselves and of what comes behind their end.
#pragma once

#include <map>
#include <mutex>
#include <string>
#include <vector>

#include "lib/remote/store_objects.hpp"

namespace tare {

/// By the XML API, as S3's. `ObjectSeen::kept` is the generation, which each object has.
///
/// No request of Google's copies a range of an object: a part of a multipart upload is sent (x-goog-copy-source is no
/// header of it), and copies and compose take whole objects, compose 32 at most, of one storage class. Sources:
/// docs.cloud.google.com/storage/docs/xml-api, put-object-multipart, put-object-copy, put-object-compose and
/// reference-headers, as of 2026.
class GcsObjects final : public StoreObjects, private WholeObjects {
 public:
  using StoreObjects::StoreObjects;

  std::optional<ObjectSeen> create(const std::string& path, ByteView bytes) override;
  std::optional<ObjectSeen> replace(const std::string& path, const ObjectSeen& seen, ByteView bytes) override;
  /// What the names of its pieces begin with, in the `.tare` folder beside the object.
  std::string begin(const std::string& path, const ObjectSeen& seen) override;
  /// A first part that is copied is the object itself, all of it; all others are pieces that are sent.
  std::optional<ObjectSeen> compose(const std::string& path, const ObjectSeen& seen, const std::string& upload,
                                    const std::vector<ObjectPart>& parts, const NewBytes& bytes,
                                    const std::function<void()>& before_each) override;
  /// Removes the pieces, without which nothing is composed of them.
  void give_up(const std::string& path, const std::string& upload) override;
  void drop(const std::string&, const std::string&) override {}
  [[nodiscard]] ComposeRequests compose_requests() const override { return {"", "PUT"}; }
  WholeObjects* whole_objects() override { return this; }

 private:
  std::string place_of_copy(const std::string& path, const ObjectSeen& seen) override;
  bool copy(const std::string& path, const ObjectSeen& seen) override;
  std::optional<ObjectSeen> bring_back(const std::string& path, const ObjectSeen& seen,
                                       const std::string& kept) override;
  void remove_copy(const std::string& path, const std::string& kept) override;

  [[nodiscard]] ObjectSeen seen_in(const HttpAnswer& answer) const override;
  [[nodiscard]] bool is_other_now(const HttpAnswer& answer) const override;
  /// Of the bucket that `path` is in; not where that may not be asked.
  bool keeps_versions(const std::string& path);
  /// A component of a composed object.
  struct Whole {
    std::string path;
    std::string generation;
  };
  [[nodiscard]] std::optional<ObjectSeen> composed(const std::string& path, const std::vector<Whole>& wholes,
                                                   std::vector<std::string> lines) const;
  /// Composes what there are too many of into pieces, until there are few enough for one object.
  [[nodiscard]] bool join(const std::string& path, const ObjectSeen& seen, const std::string& upload,
                          std::vector<Whole>& wholes, const std::function<void()>& before_each) const;

  std::mutex mutex_;
  std::map<std::string, bool> keeps_versions_;  ///< by bucket
};

}  // namespace tare
