#include "lib/transaction/journal_key.hpp"

#include <fcntl.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <unistd.h>

#include <array>
#include <cerrno>

#include "lib/base/error.hpp"
#include "lib/transaction/folder.hpp"
#include "lib/transaction/user_list.hpp"

namespace tare {
namespace {

constexpr const char* key_name = "journal.key";
constexpr mode_t for_others = S_IRWXG | S_IRWXO;
constexpr mode_t writable_for_others = S_IWGRP | S_IWOTH;

[[noreturn]] void throw_not_private(const std::string& path, const char* problem) {
  throw Error(Status::refused, path + ": " + problem,
              "it tells your journals from those of others: remove it, and tare makes a new one (edits made before "
              "then need --trust-journal to be undone)");
}

/// It tells that user's journals from those of others: nothing of it is to be removed.
[[noreturn]] void throw_not_ours(const std::string& path, const char* problem) {
  throw Error(Status::refused, path + ": " + problem,
              "run tare as that user, or set XDG_STATE_HOME (or the state folder) to a folder of your own");
}

/// The folder that holds the key, if it is there. Its path is the user's own, so that links in it are followed.
std::optional<Folder> state_folder_at(const std::string& path) {
  FileLayer& files = system_files();
  std::string resolved;
  if (path.empty() || files.resolve(path, resolved) != 0) return std::nullopt;
  auto folder = Folder::find(files, resolved);
  if (!folder) return std::nullopt;
  const struct stat status = folder->status();
  if (status.st_uid != files.user()) throw_not_ours(resolved, "is a folder of another user");
  if ((status.st_mode & writable_for_others) != 0) {
    throw Error(Status::refused, resolved + ": others may write in it",
                "the key in it tells your journals from those of others: chmod go-w it");
  }
  return folder;
}

JournalKey key_in(const Folder& folder) {
  const int opened = folder.try_open(key_name, O_RDONLY);
  if (opened == -ENOENT) return {};
  const OpenFile file = adopt({folder, key_name}, opened);
  const struct stat status = file.status();
  if (!S_ISREG(status.st_mode)) throw_not_private(file.path(), "is no regular file");
  if (status.st_uid != folder.files().user()) throw_not_ours(file.path(), "is another user's");
  if ((status.st_mode & for_others) != 0) throw_not_private(file.path(), "others may read it");
  if (file.size() != JournalKey::size) throw_not_private(file.path(), "is no key of 32 bytes");
  return JournalKey(file.read({0, JournalKey::size}));
}

bool fill_with_noise(std::span<std::byte> bytes) {
  return ::getrandom(bytes.data(), bytes.size(), 0) == static_cast<ssize_t>(bytes.size());
}

/// Each missing folder of the path, for this user alone.
void make_folders(const std::string& path) {
  for (std::size_t at = path.find('/', 1); at != std::string::npos; at = path.find('/', at + 1)) {
    ::mkdir(path.substr(0, at).c_str(), S_IRWXU);
  }
  ::mkdir(path.c_str(), S_IRWXU);
}

/// Written under a name of its own and then linked, so that of several makers one wins, and nobody reads half a key.
void make_key(const Folder& folder) {
  std::array<std::byte, JournalKey::size> secret{};
  std::array<std::byte, 8> mark{};
  if (!fill_with_noise(secret) || !fill_with_noise(mark)) return;
  FileLayer& files = folder.files();
  const std::string name = std::string(key_name) + "." + std::to_string(load_le<std::uint64_t>(mark.data()));
  {
    const OpenFile file = folder.open(name, O_WRONLY | O_CREAT | O_EXCL, S_IRUSR | S_IWUSR);
    file.write(0, secret);
    file.sync();
  }
  const int linked = files.link_at(folder.descriptor(), name, folder.descriptor(), key_name);
  if (linked == -EPERM || linked == -EOPNOTSUPP || linked == -ENOSYS) rename({folder, name}, {folder, key_name});
  folder.remove_if_there(name);
  folder.sync();
}

}  // namespace

JournalKey journal_key(const std::string& state_folder) {
  const auto folder = state_folder_at(state_folder);
  return folder ? key_in(*folder) : JournalKey();
}

JournalKey made_journal_key(const std::string& state_folder) {
  if (state_folder.empty() || state_folder.front() != '/') return {};
  if (JournalKey key = journal_key(state_folder); key.exists()) return key;
  make_folders(state_folder);
  const auto folder = state_folder_at(state_folder);
  if (!folder) return {};
  try {
    make_key(*folder);
  } catch (const Error&) {
    return {};
  }
  return key_in(*folder);
}

std::string home_state_folder() {
  const auto user = user_of(::geteuid());
  if (!user || !user->home.starts_with('/') || user->home == "/") return {};
  return user->home + "/.local/state/tare";
}

}  // namespace tare
