#include "lib/objects/object_claim.hpp"

#include <algorithm>
#include <ctime>
#include <utility>

#include "lib/base/error.hpp"

namespace tare {
namespace {

constexpr auto renewal = std::chrono::seconds(claim_seconds / 4);

timespec now() {
  timespec moment{};
  ::clock_gettime(CLOCK_REALTIME, &moment);
  return moment;
}

[[noreturn]] void throw_lost(const ObjectHome& home) {
  throw Error(Status::busy, home.pending() + ": this edit took too long to answer, and somebody else rolled it back",
              "try again");
}

/// A request that must fail. Where it does not, conditions mean nothing there, and nobody would be safe.
void require_conditions(const ObjectHome& home, const ObjectSeen& seen, ByteView bytes) {
  ObjectSeen another = seen;
  another.tag = "\"tare-asks-for-what-is-not-there\"";
  another.kept.assign(1, '1');  // where generations count: one that no object ever had
  if (!home.objects().replace(home.pending(), another, bytes)) return;
  home.objects().remove(home.pending());
  throw Error(Status::refused,
              home.folder() +
                  ": this store writes objects also where If-Match says that it must not, so that two who "
                  "edit at the same time would not notice",
              "download the checkpoint, edit that, and upload the files that the edit names");
}

/// Ours, although the answer that said so was lost?
std::optional<ObjectSeen> written_all_the_same(const ObjectHome& home, ByteView bytes) {
  const auto seen = home.objects().look(home.pending());
  if (!seen || seen->size != bytes.size()) return std::nullopt;
  const Bytes there = home.objects().read(home.pending(), *seen, {0, seen->size});
  if (!std::equal(there.begin(), there.end(), bytes.begin(), bytes.end())) return std::nullopt;
  return seen;
}

}  // namespace

ObjectClaim::ObjectClaim(ObjectClaim&& other) noexcept
    : home_(std::move(other.home_)),
      journal_(std::move(other.journal_)),
      seen_(std::move(other.seen_)),
      renewed_(other.renewed_) {}

std::optional<ObjectClaim> ObjectClaim::create(const ObjectHome& home, Journal journal) {
  const Bytes bytes = home.encoded(journal);
  auto seen = home.objects().create(home.pending(), bytes);
  if (!seen) seen = written_all_the_same(home, bytes);
  if (!seen) return std::nullopt;
  require_conditions(home, *seen, bytes);
  return ObjectClaim(home, std::move(journal), *std::move(seen));
}

ObjectClaim ObjectClaim::take_over(const ObjectHome& home, const StoredJournal& left, Journal journal) {
  journal.when = now();
  const Bytes bytes = home.encoded(journal);
  auto seen = home.objects().replace(home.pending(), left.seen, bytes);
  if (!seen) seen = written_all_the_same(home, bytes);
  if (!seen) throw Error(Status::busy, home.pending() + ": somebody else is at work on it", "try again");
  return {home, std::move(journal), *std::move(seen)};
}

void ObjectClaim::keep() {
  const std::lock_guard lock(mutex_);
  if (Clock::now() - renewed_ >= renewal) renew();
}

void ObjectClaim::confirm() {
  const std::lock_guard lock(mutex_);
  renew();
}

/// With another moment, and so other bytes: whoever saw the claim as it was takes it for another one.
void ObjectClaim::renew() {
  const auto started = Clock::now();
  journal_.when = now();
  const Bytes bytes = home_.encoded(journal_);
  auto seen = home_.objects().replace(home_.pending(), seen_, bytes);
  if (!seen) seen = written_all_the_same(home_, bytes);
  if (!seen) throw_lost(home_);
  seen_ = *std::move(seen);
  renewed_ = started;
}

void ObjectClaim::withdraw() const {
  home_.objects().remove(home_.pending());
}

}  // namespace tare
