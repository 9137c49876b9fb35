#include "lib/transaction/claim.hpp"

#include <cerrno>

#include "lib/base/error.hpp"

namespace tare {
namespace {

constexpr int attempts = 16;  // each one lost to another process that finished in between

[[noreturn]] void throw_busy(const Store& store) {
  throw Error(Status::busy, store.folder() + ": another tare is editing here", "wait until it is done");
}

bool has_no_locks(int result) {
  return result == -ENOSYS || result == -ENOLCK || result == -EOPNOTSUPP || result == -EINVAL;
}

/// Does the path still name the file that was opened?
bool is_current(const OpenFile& file) {
  const auto named = status_of(file.files(), file.path());
  return named && named->st_ino == file.status().st_ino;
}

void make_folder(const Store& store) {
  const int result = store.files().mkdir(store.inside(), 0777);
  if (result != -EEXIST) {
    checked(result, store.inside());
  } else if (status_of(store.files(), store.inside()) && !store.exists()) {
    throw Error(Status::refused, store.inside() + ": is not a folder of yours, or not a folder",
                "remove it, or edit a copy elsewhere");
  }
}

}  // namespace

std::optional<Claim> Claim::create(const Store& store, mode_t mode) {
  for (int attempt = 0; attempt < attempts; ++attempt) {
    make_folder(store);
    const int opened =
        store.files().open(store.pending_path(), O_RDWR | O_CREAT | O_EXCL | O_NOFOLLOW | O_NONBLOCK, mode);
    if (opened == -ENOENT) continue;  // the last one out removed the folder
    if (opened == -EEXIST) return std::nullopt;
    if (opened < 0) store.remove_if_empty();
    OpenFile file = OpenFile::adopt(store.files(), store.pending_path(), opened);
    const int locked = store.files().try_lock(file.descriptor());
    // Without locks the exclusive creation alone keeps others out; they cannot tell that we are alive, and refuse.
    if (locked == -EAGAIN) throw_busy(store);
    if (!has_no_locks(locked)) checked(locked, file.path());
    if (is_current(file)) return Claim(store, std::move(file));
  }
  throw_busy(store);
}

std::optional<Claim> Claim::adopt(const Store& store, bool assume_abandoned) {
  if (!store.exists()) return std::nullopt;
  for (int attempt = 0; attempt < attempts; ++attempt) {
    const int opened = store.files().open(store.pending_path(), O_RDWR | O_NOFOLLOW | O_NONBLOCK, 0);
    if (opened == -ENOENT) return std::nullopt;
    OpenFile file = OpenFile::adopt(store.files(), store.pending_path(), opened);
    const int locked = store.files().try_lock(file.descriptor());
    if (locked == -EAGAIN) throw_busy(store);
    if (has_no_locks(locked) && !assume_abandoned) {
      throw Error(Status::busy,
                  store.pending_path() +
                      ": an edit is in progress, or was interrupted: without file locks here nobody can tell",
                  "end every other tare that edits here, then force the recovery");
    }
    if (!has_no_locks(locked)) checked(locked, file.path());
    if (is_current(file)) return Claim(store, std::move(file));
  }
  throw_busy(store);
}

void Claim::write(ByteView journal) const {
  file_.write(0, journal);
  file_.sync();
  sync_folder(store_.files(), store_.inside());
  sync_folder(store_.files(), store_.folder());
}

void Claim::commit_as(StoredRecord record) const {
  checked(store_.files().rename(file_.path(), store_.record_path(record)), file_.path());
}

void Claim::drop() const {
  checked(store_.files().unlink(file_.path()), file_.path());
}

void Claim::withdraw() const {
  drop();
  settle();
  store_.remove_if_empty();
}

}  // namespace tare
