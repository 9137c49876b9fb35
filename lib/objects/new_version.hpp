// What an object becomes by a record: its bytes, and the parts of which a store makes it.
#pragma once

#include <optional>
#include <vector>

#include "lib/base/object_layer.hpp"
#include "lib/transaction/record.hpp"

namespace tare {

class NewVersion {
 public:
  /// Borrows the record.
  explicit NewVersion(const FileRecord& record);

  [[nodiscard]] std::uint64_t size() const;
  /// A run of it; `old` reads the present version.
  [[nodiscard]] Bytes read(Span span, const NewBytes& old) const;
  /// One behind the other, all of it: what changes is sent, with as much around it as a part must have, all else is
  /// copied. Throws `unsupported` where they would be more than a store takes.
  [[nodiscard]] std::vector<ObjectPart> parts() const;
  /// The same for a store that copies no parts: what is there first, as a whole, if all of it stays, then pieces that
  /// are sent.
  [[nodiscard]] std::vector<ObjectPart> whole_and_pieces() const;

 private:
  struct Run {
    Span span;
    std::optional<std::uint64_t> copied_from;
    ByteView sent;
  };

  void add_copied(std::uint64_t from, std::uint64_t end);
  void add_sent(ByteView bytes);

  std::uint64_t old_size_;
  std::vector<Run> runs_;
};

}  // namespace tare
