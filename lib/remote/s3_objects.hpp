// Objects of S3, changed: by conditional PUTs, and by parts that S3 itself copies.
#pragma once

#include <string>
#include <vector>

#include "lib/base/object_layer.hpp"
#include "lib/remote/remote_files.hpp"

namespace tare {

class S3Objects final : public ObjectLayer {
 public:
  /// Asks as `files` does, which outlives this and reads anew what is changed here.
  explicit S3Objects(const RemoteFiles& files) : files_(files) {}

  std::optional<ObjectSeen> look(const std::string& path) override;
  std::optional<ObjectSeen> start(const std::string& path, Bytes& begin) override;
  Bytes read(const std::string& path, const ObjectSeen& seen, Span span) override;
  std::vector<std::string> names(const std::string& folder) override { return listed(folder, ListDepth::level); }
  std::vector<std::string> names_below(const std::string& folder) override { return listed(folder, ListDepth::below); }
  std::optional<ObjectSeen> create(const std::string& path, ByteView bytes) override;
  std::optional<ObjectSeen> replace(const std::string& path, const ObjectSeen& seen, ByteView bytes) override;
  void remove(const std::string& path) override;
  std::string begin(const std::string& path, const ObjectSeen& seen) override;
  std::optional<ObjectSeen> compose(const std::string& path, const ObjectSeen& seen, const std::string& upload,
                                    const std::vector<ObjectPart>& parts, const NewBytes& bytes,
                                    const std::function<void()>& before_each) override;
  void give_up(const std::string& path, const std::string& upload) override;
  void forget() override { files_.forget(); }
  [[nodiscard]] std::size_t most_at_once() const override { return files_.most_at_once(); }

 private:
  [[nodiscard]] std::vector<std::string> listed(const std::string& folder, ListDepth depth) const;
  [[nodiscard]] HttpAnswer ask(const std::string& path, const std::string& query, const HttpRequest& request) const;
  [[nodiscard]] std::optional<ObjectSeen> put(const std::string& path, ByteView bytes,
                                              std::vector<std::string> lines) const;
  /// The ETag of part `number`; empty where the object is no longer what was seen, or the upload is gone.
  [[nodiscard]] std::string part(const std::string& path, const ObjectSeen& seen, const std::string& upload,
                                 std::size_t number, const ObjectPart& part, const NewBytes& bytes) const;

  const RemoteFiles& files_;
};

/// Is it in S3?
bool is_changeable(const std::string& path);

}  // namespace tare
