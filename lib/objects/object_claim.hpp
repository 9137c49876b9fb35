// The right to edit in a folder of a store: its `.tare/pending`, which only one can create. A store has no locks, so
// that whoever has the claim renews it, and one that was not renewed for a minute is nobody's.
#pragma once

#include <chrono>
#include <mutex>
#include <optional>

#include "lib/objects/object_home.hpp"

namespace tare {

/// So old may a claim be before it is taken for one that a crash left.
inline constexpr std::int64_t claim_seconds = 60;

class ObjectClaim {
 public:
  /// Writes the journal as the pending one. Nothing where there is one already. Throws `refused` for a store that
  /// makes changes although what they depend on does not hold.
  static std::optional<ObjectClaim> create(const ObjectHome& home, Journal journal);
  /// Takes over what `left` says, with another journal for it. Throws `busy` where somebody else does so, or goes on.
  static ObjectClaim take_over(const ObjectHome& home, const StoredJournal& left, Journal journal);
  ObjectClaim(ObjectClaim&& other) noexcept;
  ObjectClaim& operator=(ObjectClaim&&) = delete;
  ~ObjectClaim() = default;

  [[nodiscard]] const ObjectHome& home() const { return home_; }
  [[nodiscard]] const Journal& journal() const { return journal_; }
  /// Is called before each step that cannot be taken back: renews the claim where that is due. Throws `busy` where it
  /// is somebody else's by now, who rolls back what was done. May be called by several threads at once.
  void keep();
  /// Renews it whether it is due or not: it is held now.
  void confirm();
  /// Leaves nothing: before anything was changed, after all was changed back, or once the record is there.
  void withdraw() const;

 private:
  ObjectClaim(const ObjectHome& home, Journal journal, ObjectSeen seen)
      : home_(home), journal_(std::move(journal)), seen_(std::move(seen)) {}
  void renew();

  using Clock = std::chrono::steady_clock;

  ObjectHome home_;
  Journal journal_;
  ObjectSeen seen_;  ///< the pending journal as it was written last
  Clock::time_point renewed_ = Clock::now();
  std::mutex mutex_;
};

}  // namespace tare
