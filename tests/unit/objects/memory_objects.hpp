// A store in memory that keeps to conditions as S3 does, and stops where a test wants it to.
#pragma once

#include <functional>
#include <map>
#include <mutex>
#include <set>
#include <string>
#include <vector>

#include "lib/base/object_layer.hpp"

namespace tare::test {

/// The process ends here: nothing that it asks for later is done.
struct Stopped {};

enum class Moment { before, after };

class MemoryObjects final : public ObjectLayer, private WholeObjects {
 public:
  std::optional<ObjectSeen> look(const std::string& path) override;
  std::optional<std::uint64_t> unseen_labels(const std::string&) override { return unseen; }
  std::optional<ObjectSeen> start(const std::string& path, Bytes& begin) override;
  Bytes read(const std::string& path, const ObjectSeen& seen, Span span) override;
  std::vector<std::string> names(const std::string& folder) override;
  std::vector<std::string> names_below(const std::string& folder) override;
  std::optional<ObjectSeen> create(const std::string& path, ByteView bytes) override;
  std::optional<ObjectSeen> replace(const std::string& path, const ObjectSeen& seen, ByteView bytes) override;
  void remove(const std::string& path) override;
  std::string begin(const std::string& path, const ObjectSeen& seen) override;
  std::optional<ObjectSeen> compose(const std::string& path, const ObjectSeen& seen, const std::string& upload,
                                    const std::vector<ObjectPart>& parts, const NewBytes& bytes,
                                    const std::function<void()>& before_each) override;
  void give_up(const std::string& path, const std::string& upload) override;
  [[nodiscard]] ComposeRequests compose_requests() const override { return {"POST", "POST"}; }
  WholeObjects* whole_objects() override { return copies_wholes ? this : nullptr; }
  void forget() override {}
  [[nodiscard]] std::size_t most_at_once() const override { return 1; }

  // What a test does.
  void put(const std::string& path, Bytes bytes);
  [[nodiscard]] bool has(const std::string& path) const { return objects_.contains(path); }
  [[nodiscard]] const Bytes& bytes(const std::string& path) const { return objects_.at(path).bytes; }
  /// The next process: `number` is of the requests that change something, from 1 on.
  void stop_at(std::size_t number, Moment moment);
  void go_on() { stop_at(0, Moment::before); }
  /// The answer to the next write of an object at `path` says that the condition does not hold, though it is done.
  void lose_answer_of(const std::string& path) { lost_ = path; }
  /// Called before each request that changes something, with what it does ("replace s3://b/x").
  std::function<void(const std::string& request)> on_change = {};

  std::vector<std::string> changes;  ///< all that were made, in order
  std::set<std::string> uploads;
  std::int64_t now = 0;  ///< the store's clock, in seconds
  bool is_conditional = true;
  bool copies_wholes = false;               ///< as Google's does, which copies no parts
  std::uint64_t labels = 0;                 ///< of every object
  std::string lock;                         ///< likewise
  std::optional<std::uint64_t> unseen = 0;  ///< labels that look() does not tell of
  std::string forbidden;                    ///< a folder that may neither be listed nor read

 private:
  std::string place_of_copy(const std::string& path, const ObjectSeen& seen) override;
  bool copy(const std::string& path, const ObjectSeen& seen) override;
  std::optional<ObjectSeen> bring_back(const std::string& path, const ObjectSeen& seen,
                                       const std::string& kept) override;
  void remove_copy(const std::string& path, const std::string& kept) override;

  struct Stored {
    Bytes bytes;
    std::string tag;
    std::int64_t written = 0;
  };

  template <class Change>
  auto changed(const std::string& request, const Change& change);
  std::optional<ObjectSeen> answered(const std::string& path);
  [[nodiscard]] ObjectSeen seen(const Stored& stored) const;
  [[nodiscard]] bool is_as_seen(const std::string& path, const ObjectSeen& seen) const;

  std::map<std::string, Stored> objects_;
  std::size_t versions_ = 0;
  std::size_t requests_ = 0;
  std::size_t last_request_ = 0;
  Moment moment_ = Moment::before;
  std::string lost_;
};

}  // namespace tare::test
