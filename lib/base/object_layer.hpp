// The objects of a store, as whoever changes them sees them: an interface, so that a test can stop at any request.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "lib/base/bytes.hpp"

namespace tare {

/// An object as it is at one moment.
struct ObjectSeen {
  std::uint64_t size = 0;
  std::string tag;                      ///< its ETag: of other bytes it is another
  std::string kept;                     ///< what the bucket calls this version of it; empty where the bucket keeps none
  std::int64_t age = 0;                 ///< seconds since it was written, by the server's own clock
  std::vector<std::string> properties;  ///< what a new version is given again, as header lines: type, metadata, class
  std::uint64_t labels = 0;             ///< S3's "tags", which a new version would lose
  std::string lock;  ///< what keeps it from removal, in words, which a new version would lose; or empty
};

/// A part of the new version of an object.
struct ObjectPart {
  Span span;  ///< of the new version
  std::optional<std::uint64_t> copied_from =
      {};  ///< an offset in the present version, which the store copies; else it is sent
};

/// The methods of the requests that begin() and the end of compose() make; empty: it makes none. Parts are PUT.
struct ComposeRequests {
  const char* begin;
  const char* end;
};

/// The bytes of a run of the new version.
using NewBytes = std::function<Bytes(Span span)>;

/// What a store does in place of copying parts: its large objects grow by what comes behind their end, and come back
/// from a copy of what they were.
class WholeObjects {
 public:
  virtual ~WholeObjects() = default;

  /// Where the copy of an object is, or is to be; empty where its bucket keeps what it was in any case.
  virtual std::string place_of_copy(const std::string& path, const ObjectSeen& seen) = 0;
  /// Makes that copy, unless it is there. False where the object is no longer what was seen.
  virtual bool copy(const std::string& path, const ObjectSeen& seen) = 0;
  /// Makes an object what it was as `kept`, by a copy or by what the bucket keeps. Nothing where it is no longer what
  /// was seen; throws `refused` where neither is there.
  virtual std::optional<ObjectSeen> bring_back(const std::string& path, const ObjectSeen& seen,
                                               const std::string& kept) = 0;
  /// The copy is wanted no more.
  virtual void remove_copy(const std::string& path, const std::string& kept) = 0;
};

/// Every change is made by the store as a whole or not at all, and only where the object is still what was seen. Paths
/// are URLs of the store. Functions throw `io` where the store cannot be asked or does not allow it, and may be called
/// by several threads at once.
class ObjectLayer {
 public:
  virtual ~ObjectLayer() = default;

  /// Nothing where there is none.
  virtual std::optional<ObjectSeen> look(const std::string& path) = 0;
  /// How many labels has an object of which look() tells none, and would tell none to who may not see them? Nothing for
  /// who may not. One request at most.
  virtual std::optional<std::uint64_t> unseen_labels(const std::string&) { return 0; }
  /// As look(), without its properties, and its first bytes into `begin`, in one request.
  virtual std::optional<ObjectSeen> start(const std::string& path, Bytes& begin) = 0;
  /// Throws `refused` where it is no longer what was seen.
  virtual Bytes read(const std::string& path, const ObjectSeen& seen, Span span) = 0;
  /// The names of the objects in `folder` itself, from it on. Throws `refused` where the store does not list.
  virtual std::vector<std::string> names(const std::string& folder) = 0;
  /// The same of all objects that are below it, at any depth.
  virtual std::vector<std::string> names_below(const std::string& folder) = 0;

  /// Nothing where there is one already.
  virtual std::optional<ObjectSeen> create(const std::string& path, ByteView bytes) = 0;
  /// Nothing where it is no longer what was seen.
  virtual std::optional<ObjectSeen> replace(const std::string& path, const ObjectSeen& seen, ByteView bytes) = 0;
  virtual void remove(const std::string& path) = 0;

  /// The name of a new version that is made part by part, and shows only when it is whole.
  virtual std::string begin(const std::string& path, const ObjectSeen& seen) = 0;
  /// Makes it: parts but the last have `least_part_bytes` at least. `before_each` is called before each part. Nothing
  /// where the object is no longer what was seen.
  virtual std::optional<ObjectSeen> compose(const std::string& path, const ObjectSeen& seen, const std::string& upload,
                                            const std::vector<ObjectPart>& parts, const NewBytes& bytes,
                                            const std::function<void()>& before_each) = 0;
  /// Gives it up, so that nobody can make it whole any more. Nothing happens where there is none. The object may have
  /// another tag afterwards, and the same bytes. Only who has the claim may do it.
  virtual void give_up(const std::string& path, const std::string& upload) = 0;
  /// The same of one that nobody else knows, and that nobody will make whole.
  virtual void drop(const std::string& path, const std::string& upload) { give_up(path, upload); }
  [[nodiscard]] virtual ComposeRequests compose_requests() const = 0;
  /// Null where the store copies parts of objects.
  virtual WholeObjects* whole_objects() { return nullptr; }

  /// What is read of objects by other means is asked for anew: they may have changed.
  virtual void forget() = 0;
  [[nodiscard]] virtual std::size_t most_at_once() const = 0;
};

inline constexpr std::uint64_t least_part_bytes = std::uint64_t{5} << 20;
/// An object that is smaller is written whole, by one request.
inline constexpr std::uint64_t least_composed_bytes = std::uint64_t{8} << 20;

}  // namespace tare
