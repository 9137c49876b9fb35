#include "lib/transaction/claim.hpp"

#include <cerrno>

#include "lib/base/error.hpp"
#include "lib/transaction/journal_file.hpp"

namespace tare {
namespace {

[[noreturn]] void throw_busy(const std::string& folder) {
  throw Error(Status::busy, folder + ": another tare is editing here", "wait until it is done");
}

bool has_no_locks(int result) {
  return result == -ENOSYS || result == -ENOLCK || result == -EOPNOTSUPP || result == -EINVAL;
}

}  // namespace

std::optional<Claim> Claim::create(const Folder& home, const JournalKey& key, mode_t mode) {
  for (int attempt = 0; attempt < claim_attempts; ++attempt) {
    const Store store = Store::make(home, key);
    const Place place = store.pending();
    const int opened = place.folder.try_open(place.name, O_RDWR | O_CREAT | O_EXCL, mode);
    if (opened == -ENOENT) continue;  // the last one out removed the folder
    if (opened == -EEXIST) return std::nullopt;
    if (opened < 0) store.remove_if_empty();
    OpenFile file = tare::adopt(place, opened);
    const int locked = store.files().try_lock(file.descriptor());
    // Without locks the exclusive creation alone keeps others out; they cannot tell that we are alive, and refuse.
    if (locked == -EAGAIN) throw_busy(home.path());
    if (!has_no_locks(locked)) checked(locked, file.path());
    if (stands_for(place, file)) return Claim(store, std::move(file));
  }
  throw_busy(home.path());
}

std::optional<Claim> Claim::adopt(const Store& store, bool assume_abandoned) {
  const Place place = store.pending();
  for (int attempt = 0; attempt < claim_attempts; ++attempt) {
    const auto regular = is_regular(place);
    if (!regular) return std::nullopt;
    if (!*regular) throw Error(Status::refused, place.path() + ": is no regular file", "remove it");
    const int opened = place.folder.try_open(place.name, O_RDWR);
    if (opened == -ENOENT) return std::nullopt;
    OpenFile file = tare::adopt(place, opened);
    const int locked = store.files().try_lock(file.descriptor());
    if (locked == -EAGAIN) throw_busy(store.folder());
    if (has_no_locks(locked) && !assume_abandoned) {
      throw Error(
          Status::busy,
          place.path() + ": an edit is in progress, or was interrupted: without file locks here nobody can tell",
          "end every other tare that edits here, then force the recovery");
    }
    if (!has_no_locks(locked)) checked(locked, file.path());
    if (stands_for(place, file)) return Claim(store, std::move(file));
  }
  throw_busy(store.folder());
}

std::optional<Journal> Claim::read() const {
  return read_journal(file_, store_.key());
}

mode_t Claim::readers_of(const OpenFile& file, const struct stat& status) const {
  if (file.files().has_access_list(file.descriptor())) return 0;
  if (group_ == status.st_gid) return status.st_mode;
  // Whoever is in the file's group is anybody to the journal.
  constexpr mode_t group_above_others = 3;
  return status.st_mode & (status.st_mode >> group_above_others) & S_IRWXO;
}

void Claim::restrict_to(mode_t readers) const {
  const mode_t mode = file_.status().st_mode & 0777, left = mode & (readers | S_IRUSR | S_IWUSR);
  if (left != mode) checked(store_.files().fchmod(file_.descriptor(), left), file_.path());
}

void Claim::write(const Journal& journal) const {
  constexpr std::size_t piece_bytes = std::size_t{256} << 10;
  std::uint64_t written = 0;
  Bytes piece;
  const auto flush = [&] {
    file_.write(written, piece);
    written += piece.size();
    piece.clear();
  };
  write_journal(journal, store_.key(), [&](ByteView bytes) {
    if (piece.size() + bytes.size() > piece_bytes) flush();
    if (bytes.size() <= piece_bytes) {
      piece.insert(piece.end(), bytes.begin(), bytes.end());
    } else {
      file_.write(written, bytes);
      written += bytes.size();
    }
  });
  flush();
  file_.sync();
  store_.inside().sync();
  store_.home().sync();
}

void Claim::commit_as(StoredRecord record) const {
  rename(store_.pending(), store_.record_place(record));
}

void Claim::drop() const {
  const Place place = store_.pending();
  checked(store_.files().unlink_at(place.folder.descriptor(), place.name), [&] { return place.path(); });
}

void Claim::withdraw() const {
  drop();
  try {
    settle();
    store_.remove_if_empty();
  } catch (const Error&) {
    return;  // a journal that comes back finds its files old, or rolls them back again
  }
}

}  // namespace tare
