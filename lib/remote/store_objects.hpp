// What is asked of every object store alike: heads, ranges, names. What writes is each store's own.
#pragma once

#include <initializer_list>
#include <string>
#include <string_view>
#include <vector>

#include "lib/base/object_layer.hpp"
#include "lib/remote/remote_files.hpp"

namespace tare {

class StoreObjects : public ObjectLayer {
 public:
  /// Asks as `files` does, which outlives this and reads anew what is changed here.
  explicit StoreObjects(const RemoteFiles& files) : files_(files) {}

  std::optional<ObjectSeen> look(const std::string& path) override;
  std::optional<ObjectSeen> start(const std::string& path, Bytes& begin) override;
  Bytes read(const std::string& path, const ObjectSeen& seen, Span span) override;
  std::vector<std::string> names(const std::string& folder) override { return listed(folder, ListDepth::level); }
  std::vector<std::string> names_below(const std::string& folder) override { return listed(folder, ListDepth::below); }
  void remove(const std::string& path) override;
  void forget() override { files_.forget(); }
  [[nodiscard]] std::size_t most_at_once() const override { return files_.most_at_once(); }

 protected:
  /// What an answer tells of an object.
  [[nodiscard]] virtual ObjectSeen seen_in(const HttpAnswer& answer) const = 0;
  /// Is it that the object is no longer what was seen, or what was to be made of it no longer there?
  [[nodiscard]] virtual bool is_other_now(const HttpAnswer& answer) const = 0;
  /// Writes an object on the conditions that the lines have; what it is then, or nothing where it is another now.
  [[nodiscard]] std::optional<ObjectSeen> put(const std::string& path, const std::string& query, ByteView bytes,
                                              std::vector<std::string> lines) const;
  /// `query`: with '?', sorted and escaped; may be empty.
  [[nodiscard]] HttpAnswer ask(const std::string& path, const std::string& query, const HttpRequest& request) const;
  [[nodiscard]] const RemoteFiles& files() const { return files_; }

 private:
  [[nodiscard]] std::vector<std::string> listed(const std::string& folder, ListDepth depth) const;

  const RemoteFiles& files_;
};

/// Without what is in an object: a list of parts is the longest.
inline constexpr std::uint64_t most_answer_bytes = std::uint64_t{4} << 20;
/// Parts that are sent are in memory meanwhile.
inline constexpr std::size_t most_parts_at_once = 8;

/// "Name: value" of a header: the name in small letters, and the value.
std::string name_of_line(std::string_view line);
std::string value_of_line(std::string_view line);
/// 0 where it is none.
std::uint64_t number_of_line(std::string_view line);

/// The text of the first such element; empty where there is none.
std::string text_at(ByteView xml, std::initializer_list<std::string_view> names);
/// What a store calls what went wrong; S3 says so also in an answer that began as a success.
std::string error_code(const HttpAnswer& answer);
bool is_success(const HttpAnswer& answer);
/// "400 ExpiredToken"; the number alone where the answer says no more.
std::string status_and_code(const HttpAnswer& answer);
/// Does it refuse for want of rights, and not for what is the matter with the object, the keys or the clock?
bool is_forbidden(const HttpAnswer& answer);
/// What to do about it; empty where nothing is known.
const char* hint_of(const HttpAnswer& answer);
/// Throws `io` for an answer to a request that was `what` ("write an object").
[[noreturn]] void fail(const std::string& path, const HttpAnswer& answer, std::string_view what);

/// The size aside: its tag, its version by the header line `kept`, and its age by the server's clock.
ObjectSeen tagged(const HttpAnswer& answer);

/// Where a store gives none: one that nobody else has.
std::string new_upload_name();

/// libcurl would give one of its own.
std::vector<std::string> with_content_type(std::vector<std::string> lines);

}  // namespace tare
